//! Sockets that carry whole frames of one interface.
#![expect(unsafe_code, reason = "the libraries bind to no address of the link layer that has a protocol")]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

use super::options::{get, set};

/// What a host may have under way before its frames are lost.
const QUEUED_BYTES: usize = 8 << 20;

/// A socket for all frames of an interface of this thread's network namespace, in both directions.
pub(crate) fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    // With no protocol, nothing is received before the socket is bound to its interface.
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
    setsockopt(&socket, sockopt::RcvBufForce, &QUEUED_BYTES)?;
    setsockopt(&socket, sockopt::SndBufForce, &QUEUED_BYTES)?;
    // What is sent here does not come back, and skips the interface's queues.
    set_flag(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING)?;
    set_flag(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS)?;
    // The kernel takes VLAN tags out of frames. This tells which.
    set_flag(&socket, libc::SOL_PACKET, libc::PACKET_AUXDATA)?;
    // Also, when they came.
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    // SAFETY: zero is a value of all fields.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as i32;
    // SAFETY: the address is of the type and length that is said.
    let bound = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), mem::size_of_val(&address) as u32)
    };
    if bound == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// As long as this socket lives, these interfaces of this thread's network namespace take in frames for others, too.
pub(crate) fn promiscuous(interfaces: &[u32]) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
    for &interface in interfaces {
        let membership = libc::packet_mreq {
            mr_ifindex: interface as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
    }
    Ok(socket)
}

/// Frames that a packet socket had no room for, since this was last asked.
pub(crate) fn overrun(socket: &impl AsFd) -> io::Result<u32> {
    // `struct tpacket_stats` of linux/if_packet.h: packets, and of these those that were dropped.
    let mut counts = [0u32; 2];
    get(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts)?;
    Ok(counts[1])
}

/// Lets a UDP socket leave checksums out, which IPv4 allows.
pub(crate) fn without_checksums(socket: &impl AsFd) -> io::Result<()> {
    set_flag(socket, libc::SOL_SOCKET, libc::SO_NO_CHECK)
}

fn set_flag(socket: &impl AsFd, level: i32, option: i32) -> io::Result<()> {
    let on: libc::c_int = 1;
    set(socket, level, option, &on)
}
