//! Datagrams of Tailrace's transport on their way into a socket, and such sockets.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;

use nix::sys::socket::{setsockopt, sockopt};
use tailrace_core::{Header, HostId, Packet};

use crate::frame::{ipv4_of, wire};
use crate::link::is_full;
use crate::sys::{Datagram, send_datagrams, without_checksums};

/// What a host may have received before it looks.
const QUEUED_BYTES: usize = 8 << 20;

/// A socket for the transport of the host that has this address, in this thread's network namespace.
pub(crate) fn transport_socket(address: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddrV4::new(address, wire::PORT))?;
    socket.set_nonblocking(true)?;
    setsockopt(&socket, sockopt::IpRecvTos, &true)?;
    setsockopt(&socket, sockopt::RcvBufForce, &QUEUED_BYTES)?;
    setsockopt(&socket, sockopt::SndBufForce, &QUEUED_BYTES)?;
    // The fabric writes into schemes' headers.
    without_checksums(&socket)?;
    Ok(socket)
}

struct Outgoing {
    to: HostId,
    tos: u8,
    bytes: Box<[u8]>,
    length: usize,
}

/// What waits for a socket to take it.
pub(crate) struct Outbox {
    queue: VecDeque<Outgoing>,
    /// Buffers of datagrams that have been sent.
    spare: Vec<Box<[u8]>>,
    size: usize,
}

impl Outbox {
    /// For IP packets of up to `mtu` bytes.
    pub(crate) fn new(mtu: usize) -> Self {
        Outbox { queue: VecDeque::new(), spare: Vec::new(), size: mtu }
    }

    /// A packet is to be sent with the next [`Self::flush`]. Returns its datagram, whose payload is still to be written.
    pub(crate) fn push<H: Header>(&mut self, packet: &Packet<H>) -> &mut [u8] {
        let length = wire::datagram_bytes(packet);
        let spare = self.spare.pop().filter(|spare| spare.len() >= length);
        let bytes = spare.unwrap_or_else(|| vec![0; self.size.max(length)].into());
        self.queue.push_back(Outgoing { to: packet.dst.into(), tos: wire::tos(packet), bytes, length });
        let last = self.queue.len() - 1;
        let datagram = &mut self.queue[last].bytes[..length];
        wire::encode(packet, datagram);
        datagram
    }

    /// Gives the socket what waits, `most` datagrams at most; returns how many it took. What it does not take now, waits on.
    pub(crate) fn flush(&mut self, socket: &UdpSocket, most: usize) -> io::Result<usize> {
        let mut taken = 0;
        while !self.queue.is_empty() && taken < most {
            let datagrams = self.queue.iter().take(most - taken).map(|outgoing| Datagram {
                to: SocketAddrV4::new(ipv4_of(outgoing.to), wire::PORT),
                tos: outgoing.tos,
                bytes: &outgoing.bytes[..outgoing.length],
            });
            match send_datagrams(socket.as_fd(), datagrams) {
                Ok(sent) => {
                    taken += sent;
                    self.spare.extend(self.queue.drain(..sent).map(|outgoing| outgoing.bytes));
                }
                Err(error) if is_full(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Whether something waits.
    pub(crate) fn is_behind(&self) -> bool {
        !self.queue.is_empty()
    }
}
