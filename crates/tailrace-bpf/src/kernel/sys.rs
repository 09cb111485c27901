//! Calls of libbpf that have no safe wrapper.
#![expect(unsafe_code, reason = "libbpf")]

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null};

use libbpf_rs::{AsRawLibbpf, Link, ProgramMut, libbpf_sys};
use nix::libc;

/// Attaches a program to an interface of this thread's network namespace, beside those that are there. It is detached as
/// the link goes, or the process, however that ends.
pub(super) fn attach_tcx(program: &ProgramMut<'_>, interface: u32) -> io::Result<Link> {
    let interface = i32::try_from(interface).map_err(io::Error::other)?;
    // SAFETY: the program lives as long as the call; without options, libbpf takes its defaults.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), interface, null())
    };
    // libbpf leaves its error in errno.
    let link = NonNull::new(link).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: libbpf has just made the link, and nobody else has it.
    Ok(unsafe { Link::from_ptr(link) })
}

/// `SO_NETNS_COOKIE` of Linux' asm-generic/socket.h.
const SO_NETNS_COOKIE: libc::c_int = 71;

/// The number by which programs know this thread's network namespace.
pub(super) fn network_cookie() -> io::Result<u64> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let (mut cookie, mut length) = (0u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: both numbers outlive the call, and the length is that of the first.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if failed == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}

/// The numbers of the programs at the way out of an interface of this thread's network namespace.
pub(super) fn tcx_programs(interface: u32) -> io::Result<Vec<u32>> {
    // The kernel takes 64 programs at most at a place.
    let mut numbers = vec![0; 64];
    let mut options = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as _,
        prog_ids: numbers.as_mut_ptr(),
        ..Default::default()
    };
    options.__bindgen_anon_1.prog_cnt = numbers.len() as u32;
    let interface = i32::try_from(interface).map_err(io::Error::other)?;
    // SAFETY: the numbers and the options outlive the call, and there is room for as many as it is told.
    let failed =
        unsafe { libbpf_sys::bpf_prog_query_opts(interface, libbpf_sys::BPF_TCX_EGRESS, &mut options) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has written how many there are, in whatever variant.
    numbers.truncate(unsafe { options.__bindgen_anon_1.prog_cnt } as usize);
    Ok(numbers)
}
