//! Calls of libbpf that have no safe wrapper.
#![expect(unsafe_code, reason = "libbpf")]

use std::io;
use std::ptr::{NonNull, null};

use libbpf_rs::{AsRawLibbpf, Link, ProgramMut, libbpf_sys};

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
