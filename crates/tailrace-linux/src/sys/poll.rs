//! Waiting for any of many sockets, with a timeout in nanoseconds: libraries know milliseconds only.
#![expect(unsafe_code, reason = "epoll_pwait2")]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use tailrace_core::Time;

/// Sockets that one wait tells of at most; others are told of by the next.
const TOLD: usize = 64;

/// Sockets that are waited for, each with a number.
pub(crate) struct Poll {
    epoll: Epoll,
    ready: [libc::epoll_event; TOLD],
    count: usize,
}

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let nothing = libc::epoll_event { events: 0, u64: 0 };
        Ok(Poll { epoll, ready: [nothing; TOLD], count: 0 })
    }

    /// For these sockets, numbered in their order, to have something to be read.
    pub(crate) fn of<'a>(sockets: impl Iterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        let poll = Self::new()?;
        (0..).zip(sockets).try_for_each(|(number, socket)| poll.add(socket, number))?;
        Ok(poll)
    }

    /// Waits for `socket`, too, to have something to be read.
    pub(crate) fn add(&self, socket: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        self.watch(socket, EpollFlags::EPOLLIN, number)
    }

    /// Waits for `socket`, too, to be what `interest` says, or broken.
    pub(crate) fn watch(&self, socket: impl AsFd, interest: EpollFlags, number: u64) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(interest, number))?)
    }

    /// Tells of a watched socket again, where only changes are told.
    pub(crate) fn tell_again(&self, socket: impl AsFd, interest: EpollFlags, number: u64) -> io::Result<()> {
        Ok(self.epoll.modify(socket, &mut EpollEvent::new(interest, number))?)
    }

    /// Waits up to `span` until a socket has something; returns whether any has.
    pub(crate) fn wait(&mut self, span: Time) -> io::Result<bool> {
        let ns = span.as_ns();
        // SAFETY: zero is a value of all fields; some platforms pad them.
        let mut timeout: libc::timespec = unsafe { mem::zeroed() };
        (timeout.tv_sec, timeout.tv_nsec) = ((ns / 1_000_000_000) as _, (ns % 1_000_000_000) as _);
        // SAFETY: the events and the timeout live until the call is over, and there are as many as is said.
        let count = unsafe {
            libc::epoll_pwait2(
                self.epoll.0.as_raw_fd(),
                self.ready.as_mut_ptr(),
                TOLD as i32,
                &raw const timeout,
                ptr::null(),
            )
        };
        self.count = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        Ok(self.count > 0)
    }

    /// How many sockets the last wait found, and the number of each.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn number(&self, place: usize) -> u64 {
        self.ready[place].u64
    }

    /// Whether something is wrong with one of these sockets.
    pub(crate) fn has_failed(&self, place: usize) -> bool {
        self.ready[place].events & libc::EPOLLERR as u32 != 0
    }
}
