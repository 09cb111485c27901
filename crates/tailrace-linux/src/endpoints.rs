//! The hosts' ends of Tailrace's transport: a UDP socket in each host's namespace.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{setsockopt, sockopt};
use tailrace_core::{Header, HostId, Packet};

use crate::error::LiveError;
use crate::frame::{ipv4_of, wire};
use crate::hosts::Hosts;
use crate::link::is_full;
use crate::sys::{BATCH, Datagram, receive, send_datagrams, without_checksums};

/// What a host may have received before it looks.
const QUEUED_BYTES: usize = 8 << 20;

/// A datagram on its way into a socket.
struct Outgoing {
    to: HostId,
    tos: u8,
    bytes: Box<[u8]>,
    length: usize,
}

/// The transports' sockets, one a host.
pub(crate) struct Endpoints<H> {
    sockets: Vec<UdpSocket>,
    outgoing: Vec<VecDeque<Outgoing>>,
    /// The host that sends first.
    turn: usize,
    /// Buffers of datagrams that have been sent.
    spare: Vec<Box<[u8]>>,
    buffers: Vec<Box<[u8]>>,
    lengths: [(usize, u8); BATCH],
    /// Datagrams that hosts have sent, and received.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Datagrams that were none of this transport.
    pub(crate) strange: u64,
    header: PhantomData<H>,
}

impl<H: Header> Endpoints<H> {
    /// Opens a socket in each host.
    pub(crate) fn new(hosts: &Hosts) -> Result<Self, LiveError> {
        let open = |host: HostId| {
            let bind = || {
                let socket = UdpSocket::bind(SocketAddrV4::new(ipv4_of(host), wire::PORT))?;
                socket.set_nonblocking(true)?;
                setsockopt(&socket, sockopt::IpRecvTos, &true)?;
                setsockopt(&socket, sockopt::RcvBufForce, &QUEUED_BYTES)?;
                setsockopt(&socket, sockopt::SndBufForce, &QUEUED_BYTES)?;
                // The fabric writes into schemes' headers.
                without_checksums(&socket)?;
                Ok(socket)
            };
            let what = format!("opening a socket in host {host}");
            hosts.namespace(host).inside(bind).map_err(LiveError::refused(what))
        };
        let sockets = (0..hosts.len() as HostId).map(open).collect::<Result<Vec<_>, _>>()?;
        let buffer = || vec![0; hosts.mtu()].into();
        Ok(Endpoints {
            outgoing: sockets.iter().map(|_| VecDeque::new()).collect(),
            turn: 0,
            sockets,
            spare: Vec::new(),
            buffers: (0..BATCH).map(|_| buffer()).collect(),
            lengths: [(0, 0); BATCH],
            sent: 0,
            received: 0,
            strange: 0,
            header: PhantomData,
        })
    }

    pub(crate) fn socket(&self, host: usize) -> BorrowedFd<'_> {
        self.sockets[host].as_fd()
    }

    /// A packet of `host`, to be sent with the next [`Self::flush`].
    pub(crate) fn push(&mut self, host: HostId, packet: &Packet<H>) {
        let length = wire::datagram_bytes(packet);
        let mut bytes = self.spare.pop().filter(|spare| spare.len() >= length);
        let bytes = bytes.take().unwrap_or_else(|| vec![0; self.buffers[0].len().max(length)].into());
        let mut outgoing = Outgoing { to: packet.dst, tos: wire::tos(packet), bytes, length };
        wire::encode(packet, &mut outgoing.bytes);
        self.outgoing[usize::from(host)].push_back(outgoing);
    }

    /// Gives the sockets a batch of what waits: after it, something may be due in the fabric. The rest waits for the
    /// next turn, and so does what a socket does not take.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let hosts = self.sockets.len();
        let mut left = BATCH;
        for place in 0..hosts {
            let host = (self.turn + place) % hosts;
            let (socket, queue) = (&self.sockets[host], &mut self.outgoing[host]);
            while !queue.is_empty() {
                if left == 0 {
                    self.turn = host;
                    return Ok(());
                }
                let datagrams = queue.iter().take(left).map(|outgoing| Datagram {
                    to: SocketAddrV4::new(ipv4_of(outgoing.to), wire::PORT),
                    tos: outgoing.tos,
                    bytes: &outgoing.bytes[..outgoing.length],
                });
                match send_datagrams(socket.as_fd(), datagrams) {
                    Ok(sent) => {
                        left -= sent;
                        self.sent += sent as u64;
                        self.spare.extend(queue.drain(..sent).map(|outgoing| outgoing.bytes));
                    }
                    Err(error) if is_full(&error) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Whether something waits for a socket to take it.
    pub(crate) fn is_behind(&self) -> bool {
        self.outgoing.iter().any(|queue| !queue.is_empty())
    }

    /// Receives what has come to `host`, up to a batch; returns how many datagrams that were.
    pub(crate) fn receive(
        &mut self,
        host: HostId,
        mut take: impl FnMut(HostId, Packet<H>),
    ) -> io::Result<usize> {
        let socket = self.sockets[usize::from(host)].as_fd();
        let count = receive(socket, &mut self.buffers, &mut self.lengths)?;
        for (buffer, &(length, tos)) in self.buffers.iter().zip(&self.lengths).take(count) {
            self.received += 1;
            match wire::decode(&buffer[..length.min(buffer.len())], tos) {
                Some(packet) => take(host, packet),
                None => self.strange += 1,
            }
        }
        Ok(count)
    }
}
