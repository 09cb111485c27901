//! Sockets that share their frames' memory with the kernel.
#![expect(unsafe_code, reason = "AF_XDP has no wrapper in libc")]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use nix::sys::socket::{getsockopt, sockopt};

use super::memory::Memory;
use super::options::{Plain, get, set};
use super::ring::{Consumer, Producer, RingLayout};

/// Entries of each ring: a power of two, and more than a pair of interfaces holds.
pub(crate) const RING: u32 = 1024;
/// Where the kernel puts a frame in its chunk.
pub(crate) const HEADROOM: usize = 256;
/// Calls that tell the kernel to send, in a row. One sends 32 frames at most.
const MAX_KICKS: u32 = RING / 32 + 1;

/// A socket for what comes in over an interface, and for what goes out.
pub(crate) struct XdpSocket {
    fd: OwnedFd,
    chunk_bytes: u64,
    /// Frames that have come in.
    received: Consumer<libc::xdp_desc>,
    /// Chunks for frames that will come in.
    fill: Producer<u64>,
    /// Frames to be sent.
    transmit: Producer<libc::xdp_desc>,
    /// Chunks of frames that have been sent.
    completed: Consumer<u64>,
}

impl XdpSocket {
    /// A socket for an interface of this thread's network namespace, whose frames are in `memory`; it is shared with
    /// `first`, if that has it already.
    pub(crate) fn open(interface: u32, memory: &Memory, first: Option<&XdpSocket>) -> io::Result<Self> {
        // SAFETY: takes integers.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor, which is nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        if first.is_none() {
            share(&fd, memory)?;
        }
        let rings =
            [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING];
        rings.into_iter().try_for_each(|ring| set(&fd, libc::SOL_XDP, ring, &RING))?;
        // SAFETY: zero is a value of all fields.
        let mut at: libc::xdp_mmap_offsets = unsafe { mem::zeroed() };
        get_whole(&fd, libc::XDP_MMAP_OFFSETS, &mut at)?;
        let place = |page_offset, offsets| RingLayout { page_offset, offsets };
        let socket = XdpSocket {
            chunk_bytes: memory.chunk_bytes() as u64,
            received: Consumer::map(fd.as_fd(), place(libc::XDP_PGOFF_RX_RING, at.rx), RING)?,
            transmit: Producer::map(fd.as_fd(), place(libc::XDP_PGOFF_TX_RING, at.tx), RING)?,
            fill: Producer::map(fd.as_fd(), place(libc::XDP_UMEM_PGOFF_FILL_RING as _, at.fr), RING)?,
            completed: Consumer::map(
                fd.as_fd(),
                place(libc::XDP_UMEM_PGOFF_COMPLETION_RING as _, at.cr),
                RING,
            )?,
            fd,
        };
        socket.bind(interface, first)?;
        Ok(socket)
    }

    fn bind(&self, interface: u32, first: Option<&XdpSocket>) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            // What shares memory has the other flags from the first one.
            sxdp_flags: match first {
                Some(_) => libc::XDP_SHARED_UMEM,
                None => libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP,
            },
            sxdp_ifindex: interface,
            sxdp_queue_id: 0,
            sxdp_shared_umem_fd: first.map_or(0, |first| first.fd.as_raw_fd() as u32),
        };
        let bytes = mem::size_of_val(&address) as u32;
        // SAFETY: the address is of the type and length that is said.
        let bound = unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), bytes) };
        if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Chunks that the kernel would take for frames to come.
    pub(crate) fn wants(&mut self) -> u32 {
        self.fill.room()
    }

    /// Gives the kernel chunks for frames to come, [`Self::wants`] of them at most.
    pub(crate) fn give(&mut self, chunks: impl Iterator<Item = u32>) {
        let bytes = self.chunk_bytes;
        chunks.for_each(|chunk| self.fill.push(u64::from(chunk) * bytes));
        self.fill.publish();
    }

    /// A frame that has come in: its chunk, where in that it begins, and how long it is.
    #[inline]
    pub(crate) fn receive(&mut self) -> Option<(u32, usize, usize)> {
        let frame = self.received.pop()?;
        let (chunk, at) = (frame.addr / self.chunk_bytes, frame.addr % self.chunk_bytes);
        Some((chunk as u32, at as usize, frame.len as usize))
    }

    /// To be called after frames were received.
    pub(crate) fn has_received(&self) {
        self.received.release();
    }

    /// Frames that would be taken now, to be sent.
    pub(crate) fn room(&mut self) -> u32 {
        self.transmit.room()
    }

    /// Puts in a frame to be sent with the next [`Self::kick`]. There must be [`Self::room`].
    #[inline]
    pub(crate) fn send(&mut self, chunk: u32, at: usize, length: usize) {
        let addr = u64::from(chunk) * self.chunk_bytes + at as u64;
        self.transmit.push(libc::xdp_desc { addr, len: length as u32, options: 0 });
    }

    /// Has the kernel send what it was given, as far as it can now.
    pub(crate) fn kick(&self) -> io::Result<()> {
        self.transmit.publish();
        for _ in 0..MAX_KICKS {
            if !(self.transmit.needs_wakeup() && self.transmit.is_pending()) {
                break;
            }
            // SAFETY: no memory is pointed to.
            let sent = unsafe {
                libc::sendto(self.fd.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0)
            };
            if sent >= 0 {
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                // There is more to send than one call does.
                Some(libc::EAGAIN) => {}
                Some(libc::EBUSY | libc::ENOBUFS) => break,
                _ => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes back what the kernel has not sent, the last one first.
    pub(crate) fn withdraw(&mut self, mut take: impl FnMut(u32)) {
        while let Some(frame) = self.transmit.take_back() {
            take((frame.addr / self.chunk_bytes) as u32);
        }
        self.transmit.publish();
    }

    /// Whether frames wait for another [`Self::kick`].
    pub(crate) fn is_behind(&self) -> bool {
        self.transmit.is_pending()
    }

    /// The chunk of a frame that has been sent.
    #[inline]
    pub(crate) fn completed(&mut self) -> Option<u32> {
        self.completed.pop().map(|address| (address / self.chunk_bytes) as u32)
    }

    /// To be called after completed chunks were taken back.
    pub(crate) fn has_completed(&self) {
        self.completed.release();
    }

    /// What is wrong with the socket, if something is; told once.
    pub(crate) fn failure(&self) -> io::Result<()> {
        match getsockopt(&self.fd, sockopt::SocketError)? {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Frames that the kernel has dropped at this socket since the start: too long, or more than there was room for.
    pub(crate) fn lost(&self) -> io::Result<u64> {
        // SAFETY: zero is a value of all fields.
        let mut counts: libc::xdp_statistics = unsafe { mem::zeroed() };
        get_whole(&self.fd, libc::XDP_STATISTICS, &mut counts)?;
        Ok(counts.rx_dropped + counts.rx_ring_full)
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Tells the kernel where frames are.
fn share(socket: &OwnedFd, memory: &Memory) -> io::Result<()> {
    let area = libc::xdp_umem_reg {
        addr: memory.start() as u64,
        len: memory.bytes() as u64,
        chunk_size: memory.chunk_bytes() as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    set(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &area)
}

/// Asks for an option whose form has changed once.
fn get_whole<T: Plain>(socket: &OwnedFd, option: libc::c_int, value: &mut T) -> io::Result<()> {
    match get(socket, libc::SOL_XDP, option, value)? {
        bytes if bytes == size_of::<T>() => Ok(()),
        _ => Err(io::Error::other("this kernel's AF_XDP is of another form")),
    }
}
