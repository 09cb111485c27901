//! A connection that never waits: what its other end does not take now is kept.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::PollFlags;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

pub(crate) struct Stream {
    tcp: TcpStream,
    out: Vec<u8>,
    /// Bytes at the beginning of `out` that have been written.
    written: usize,
}

impl Stream {
    pub(crate) fn new(tcp: TcpStream) -> io::Result<Self> {
        tcp.set_nonblocking(true)?;
        tcp.set_nodelay(true)?;
        Ok(Stream { tcp, out: Vec::new(), written: 0 })
    }

    /// Adds what there is to `into`, up to a chunk; returns whether the other end may send more.
    pub(crate) fn read(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let before = into.len();
        into.resize(before + CHUNK, 0);
        let read = self.tcp.read(&mut into[before..]);
        into.truncate(before + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(read) => Ok(read > 0),
            Err(error) if is_only_busy(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// To be written with the next [`Self::flush`].
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.out.extend(bytes);
    }

    /// Writes what the other end takes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.tcp.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written,
                Err(error) if is_only_busy(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.out.shrink_to(CHUNK);
        self.written = 0;
        Ok(())
    }

    /// Nothing more will be written.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.tcp.shutdown(Shutdown::Write)
    }

    /// Bytes that the other end has not taken.
    pub(crate) fn behind(&self) -> usize {
        self.out.len() - self.written
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.tcp.as_fd()
    }

    /// What it is to be woken for, if it may read or not.
    pub(crate) fn waits_for(&self, reads: bool) -> PollFlags {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLIN, reads);
        flags.set(PollFlags::POLLOUT, self.behind() > 0);
        flags
    }
}

fn is_only_busy(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
