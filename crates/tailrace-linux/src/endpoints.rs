//! The hosts' ends of Tailrace's transport: a UDP socket in each host's namespace.

use std::io;
use std::marker::PhantomData;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use tailrace_core::{Header, HostId, LiveError, Packet};

use crate::frame::{ipv4_of, wire};
use crate::hosts::Hosts;
use crate::outbox::{Outbox, transport_socket};
use crate::sys::{BATCH, receive};

/// The transports' sockets, one a host.
pub(crate) struct Endpoints<H> {
    sockets: Vec<UdpSocket>,
    outgoing: Vec<Outbox>,
    /// The host that sends first.
    turn: usize,
    buffers: Vec<Box<[u8]>>,
    lengths: [(usize, u8); BATCH],
    /// Datagrams of this transport that hosts have sent, and received.
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
            let what = format!("opening a socket in host {host}");
            let bind = || transport_socket(ipv4_of(host));
            hosts.namespace(host).inside(bind).map_err(LiveError::refused(what))
        };
        let sockets = (0..hosts.len() as HostId).map(open).collect::<Result<Vec<_>, _>>()?;
        let buffer = || vec![0; hosts.mtu()].into();
        Ok(Endpoints {
            outgoing: sockets.iter().map(|_| Outbox::new(hosts.mtu())).collect(),
            turn: 0,
            sockets,
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
        self.outgoing[host as usize].push(packet);
    }

    /// Gives the sockets a batch of what waits: after it, something may be due in the fabric. The rest waits for the
    /// next turn, and so does what a socket does not take.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let hosts = self.sockets.len();
        let mut left = BATCH;
        for place in 0..hosts {
            let host = (self.turn + place) % hosts;
            let taken = self.outgoing[host].flush(&self.sockets[host], left)?;
            left -= taken;
            self.sent += taken as u64;
            if left == 0 {
                self.turn = host;
                break;
            }
        }
        Ok(())
    }

    /// Whether something waits for a socket to take it.
    pub(crate) fn is_behind(&self) -> bool {
        self.outgoing.iter().any(Outbox::is_behind)
    }

    /// Receives what has come to `host`, up to a batch; returns how many datagrams that were.
    pub(crate) fn receive(
        &mut self,
        host: HostId,
        mut take: impl FnMut(HostId, Packet<H>),
    ) -> io::Result<usize> {
        let socket = self.sockets[host as usize].as_fd();
        let count = receive(socket, &mut self.buffers, &mut self.lengths)?;
        for (buffer, &(length, tos)) in self.buffers.iter().zip(&self.lengths).take(count) {
            match wire::decode(&buffer[..length.min(buffer.len())], tos) {
                Some(packet) => {
                    self.received += 1;
                    take(host, packet);
                }
                None => self.strange += 1,
            }
        }
        Ok(count)
    }
}
