//! Socket options that the libraries do not know.
#![expect(unsafe_code, reason = "getsockopt and setsockopt take pointers")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// What an option's value may be.
///
/// # Safety
///
/// Any bytes must be a value, and all of a value's bytes may be read.
pub(super) unsafe trait Plain {}

// SAFETY: integers, and structures of the kernel that have no other fields; none has padding that was never written.
unsafe impl Plain for libc::c_int {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl<const LENGTH: usize> Plain for [u8; LENGTH] {}
// SAFETY: as above.
unsafe impl<const LENGTH: usize> Plain for [u32; LENGTH] {}
// SAFETY: as above.
unsafe impl Plain for libc::packet_mreq {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_umem_reg {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_mmap_offsets {}

/// Sets an option.
pub(super) fn set<T: Plain>(
    socket: &impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let (socket, bytes) = (socket.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value is there, of the length that is said. Memory that it points to is the kernel's to check.
    let set = unsafe { libc::setsockopt(socket, level, option, (&raw const *value).cast(), bytes) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks for an option; returns how many bytes of the value the kernel has written.
pub(super) fn get<T: Plain>(
    socket: &impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &mut T,
) -> io::Result<usize> {
    let (socket, mut bytes) = (socket.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel writes at most as many bytes as the value has, and any bytes are one.
    let got = unsafe { libc::getsockopt(socket, level, option, (&raw mut *value).cast(), &raw mut bytes) };
    if got == 0 { Ok(bytes as usize) } else { Err(io::Error::last_os_error()) }
}

/// Says what is known of a TCP socket's flow (its size in bytes, nanoseconds to its deadline, its task; its slice) by the option that
/// the host agent hears: `struct tailrace_flow` of the agent's tailrace.h.
pub(crate) fn tell_agent(socket: &impl AsFd, numbers: [u64; 3], slice: u32) -> io::Result<()> {
    const TAILRACE_SOCKET: libc::c_int = 0xF10;
    const TAILRACE_FLOW: libc::c_int = 1;
    let mut flow = [0; 32];
    let words = numbers.into_iter().flat_map(u64::to_ne_bytes).chain(slice.to_ne_bytes());
    flow.iter_mut().zip(words).for_each(|(byte, word)| *byte = word);
    set(socket, TAILRACE_SOCKET, TAILRACE_FLOW, &flow)
}
