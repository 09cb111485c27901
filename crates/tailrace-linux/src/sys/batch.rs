//! Many packets with one call. (Nix' wrapper of `sendmmsg` gives all packets the same control messages; here each has
//! its own.)
#![expect(unsafe_code, reason = "recvmmsg and sendmmsg take arrays of pointers")]

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::memory::Memory;

/// Packets that one call takes at most.
pub(crate) const BATCH: usize = 16;

/// Room for the control messages of a packet, aligned as `cmsghdr` has to be.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

const CONTROL: usize = 96;
const NO_CONTROL: Control = Control([0; CONTROL]);

/// What one call carries: headers, and what these point to.
struct Arrays {
    messages: [libc::mmsghdr; BATCH],
    vectors: [libc::iovec; BATCH],
    controls: [Control; BATCH],
    addresses: [libc::sockaddr_in; BATCH],
}

impl Arrays {
    fn zeroed() -> MaybeUninit<Arrays> {
        MaybeUninit::zeroed()
    }
}

/// `struct tpacket_auxdata` of linux/if_packet.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct Auxiliary {
    status: u32,
    length: u32,
    taken: u32,
    mac_at: u16,
    network_at: u16,
    tag: u16,
    tag_kind: u16,
}

const TAG_IS_VALID: u32 = 1 << 4;
const TAG_KIND_IS_VALID: u32 = 1 << 6;
/// The kind of a tag of which the kernel says nothing (IEEE 802.1Q).
const PLAIN_TAG: u16 = 0x8100;

/// A datagram to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub(crate) to: SocketAddrV4,
    /// DSCP and ECN of the IP header.
    pub(crate) tos: u8,
    pub(crate) bytes: &'a [u8],
}

/// Receives as many datagrams as there are, `buffers` at most, without waiting. For each, `lengths` is told how long it
/// is, or would have been if its buffer were large enough, and the IP header's DSCP and ECN.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffers: &mut [Box<[u8]>],
    lengths: &mut [(usize, u8); BATCH],
) -> io::Result<usize> {
    let vectors = buffers
        .iter_mut()
        .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() });
    // SAFETY: the buffers are borrowed until the call is over.
    unsafe { receive_into(socket, vectors, |i, length, header| lengths[i] = (length, tos_of(header))) }
}

/// What is known of a frame that has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) length: usize,
    /// The VLAN tag that the kernel has taken out.
    pub(crate) tag: Option<[u8; 4]>,
    /// When it came, on the clock that tells what day it is, in nanoseconds.
    pub(crate) at_ns: Option<u64>,
}

/// The same for frames, each into a chunk of `memory`, `at` its beginning and up to `room` bytes. `note` is told the
/// frame's place among the chunks.
pub(crate) fn receive_frames(
    socket: BorrowedFd<'_>,
    memory: &mut Memory,
    chunks: &[u32],
    (at, room): (usize, usize),
    mut note: impl FnMut(usize, Arrived),
) -> io::Result<usize> {
    let vectors = chunks
        .iter()
        .map(|&chunk| libc::iovec { iov_base: memory.pointer(chunk, at, room).cast(), iov_len: room });
    // SAFETY: the memory is borrowed until the call is over.
    unsafe {
        receive_into(socket, vectors, |i, length, header| {
            note(i, Arrived { length, tag: tag_of(header), at_ns: time_of(header) });
        })
    }
}

/// Receives into the memory that `vectors` point to.
///
/// # Safety
///
/// That memory must live, and be nobody else's, until the call is over.
unsafe fn receive_into(
    socket: BorrowedFd<'_>,
    vectors: impl Iterator<Item = libc::iovec>,
    mut note: impl FnMut(usize, usize, &libc::msghdr),
) -> io::Result<usize> {
    let mut arrays = Arrays::zeroed();
    // SAFETY: all fields are plain data for which zero is a value.
    let arrays = unsafe { arrays.assume_init_mut() };
    let mut count = 0;
    for (i, vector) in vectors.take(BATCH).enumerate() {
        arrays.vectors[i] = vector;
        let header = &mut arrays.messages[i].msg_hdr;
        header.msg_iov = &raw mut arrays.vectors[i];
        header.msg_iovlen = 1;
        header.msg_control = arrays.controls[i].0.as_mut_ptr().cast();
        header.msg_controllen = CONTROL as _;
        count = i + 1;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: the first `count` headers point to arrays that live, and are not touched, until the call is over.
    let received = unsafe {
        libc::recvmmsg(socket.as_raw_fd(), arrays.messages.as_mut_ptr(), count as u32, flags, ptr::null_mut())
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    for (i, message) in arrays.messages.iter().take(received).enumerate() {
        note(i, message.msg_len as usize, &message.msg_hdr);
    }
    Ok(received)
}

/// DSCP and ECN among a message's control messages; 0 if they are not there.
fn tos_of(header: &libc::msghdr) -> u8 {
    control_of(header, libc::IPPROTO_IP, libc::IP_TOS).unwrap_or(0)
}

/// The VLAN tag among a frame's control messages, as it was in the frame.
fn tag_of(header: &libc::msghdr) -> Option<[u8; 4]> {
    let auxiliary: Auxiliary = control_of(header, libc::SOL_PACKET, libc::PACKET_AUXDATA)?;
    if auxiliary.status & TAG_IS_VALID == 0 {
        return None;
    }
    let kind = if auxiliary.status & TAG_KIND_IS_VALID == 0 { PLAIN_TAG } else { auxiliary.tag_kind };
    let ([a, b], [c, d]) = (kind.to_be_bytes(), auxiliary.tag.to_be_bytes());
    Some([a, b, c, d])
}

/// The time at which a frame came, among its control messages.
fn time_of(header: &libc::msghdr) -> Option<u64> {
    let time: libc::timespec = control_of(header, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS)?;
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// What a control message carries.
fn control_of<T: Copy>(header: &libc::msghdr, level: libc::c_int, kind: libc::c_int) -> Option<T> {
    // SAFETY: the kernel has filled in the control messages of this header and their length.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !control.is_null() {
        // SAFETY: not null, so it points to a whole control message within the buffer.
        let (message, data) = unsafe { (*control, libc::CMSG_DATA(control)) };
        // SAFETY: computes a length.
        let whole = message.cmsg_len >= unsafe { libc::CMSG_LEN(size_of::<T>() as u32) } as _;
        if message.cmsg_level == level && message.cmsg_type == kind && whole {
            // SAFETY: the message has that much data.
            return Some(unsafe { ptr::read_unaligned(data.cast()) });
        }
        // SAFETY: as for the first one.
        control = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    None
}

/// Sends whole frames; returns how many the socket took.
pub(crate) fn send_frames<'a>(
    socket: BorrowedFd<'_>,
    frames: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    let mut arrays = Arrays::zeroed();
    // SAFETY: all fields are plain data for which zero is a value.
    let arrays = unsafe { arrays.assume_init_mut() };
    let mut count = 0;
    for (i, frame) in frames.take(BATCH).enumerate() {
        attach(arrays, i, frame);
        count = i + 1;
    }
    send(socket, arrays, count)
}

/// Sends datagrams; returns how many the socket took.
pub(crate) fn send_datagrams<'a>(
    socket: BorrowedFd<'_>,
    datagrams: impl Iterator<Item = Datagram<'a>>,
) -> io::Result<usize> {
    let mut arrays = Arrays::zeroed();
    // SAFETY: all fields are plain data for which zero is a value.
    let arrays = unsafe { arrays.assume_init_mut() };
    let mut count = 0;
    for (i, datagram) in datagrams.take(BATCH).enumerate() {
        attach(arrays, i, datagram.bytes);
        arrays.addresses[i] = libc::sockaddr_in {
            sin_family: libc::AF_INET as u16,
            sin_port: datagram.to.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(datagram.to.ip().octets()) },
            sin_zero: [0; 8],
        };
        arrays.controls[i] = NO_CONTROL;
        let header = &mut arrays.messages[i].msg_hdr;
        header.msg_name = (&raw mut arrays.addresses[i]).cast();
        header.msg_namelen = mem::size_of::<libc::sockaddr_in>() as u32;
        header.msg_control = arrays.controls[i].0.as_mut_ptr().cast();
        let tos = libc::c_int::from(datagram.tos);
        // SAFETY: the buffer is aligned and long enough for one control message with an integer.
        unsafe {
            header.msg_controllen = libc::CMSG_SPACE(mem::size_of::<libc::c_int>() as u32) as _;
            let control = libc::CMSG_FIRSTHDR(header);
            (*control).cmsg_level = libc::IPPROTO_IP;
            (*control).cmsg_type = libc::IP_TOS;
            (*control).cmsg_len = libc::CMSG_LEN(mem::size_of::<libc::c_int>() as u32) as _;
            ptr::write_unaligned(libc::CMSG_DATA(control).cast(), tos);
        }
        count = i + 1;
    }
    send(socket, arrays, count)
}

/// Lets message `i` carry these bytes.
fn attach(arrays: &mut Arrays, i: usize, bytes: &[u8]) {
    // What is sent is only read, though the field's type does not say so.
    arrays.vectors[i] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    arrays.messages[i].msg_hdr.msg_iov = &raw mut arrays.vectors[i];
    arrays.messages[i].msg_hdr.msg_iovlen = 1;
}

fn send(socket: BorrowedFd<'_>, arrays: &mut Arrays, count: usize) -> io::Result<usize> {
    if count == 0 {
        return Ok(0);
    }
    // SAFETY: the first `count` headers point to memory that lives, and is not changed, until the call is over.
    let sent = unsafe {
        libc::sendmmsg(socket.as_raw_fd(), arrays.messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    use nix::sys::socket::{setsockopt, sockopt};

    use super::*;

    #[test]
    fn each_datagram_has_its_own_tos_and_long_ones_say_so() {
        let [a, b] = [0, 1].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        setsockopt(&b, sockopt::IpRecvTos, &true).unwrap();
        let std::net::SocketAddr::V4(to) = b.local_addr().unwrap() else { panic!("not IPv4") };
        let bytes = [[1u8; 10].as_slice(), &[2; 20], &[3; 99]];
        let datagrams = (0..).zip(bytes).map(|(i, bytes)| Datagram { to, tos: i << 2 | 2, bytes });
        assert_eq!(send_datagrams(a.as_fd(), datagrams).unwrap(), 3);
        let mut buffers: Vec<Box<[u8]>> = (0..8).map(|_| vec![0; 30].into()).collect();
        let mut lengths = [(0, 0); BATCH];
        let mut received = 0;
        while received < 3 {
            received = receive(b.as_fd(), &mut buffers, &mut lengths).unwrap();
        }
        assert_eq!(lengths[..3], [(10, 2), (20, 6), (99, 10)]);
        assert_eq!(buffers[1][..21], [[2; 20].as_slice(), &[0]].concat());
        let nothing = receive(b.as_fd(), &mut buffers, &mut lengths).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    }
}
