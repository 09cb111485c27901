//! A TCP connection as the kernel tells of it.

use std::net::IpAddr;

#[cfg(feature = "programs")]
use crate::shared::FlowKey;
use crate::shared::{ACTIVE, BEFORE, ENDED, EVENT_BYTES, Event, STARTED, STILL_OPEN, address};

/// The number of the loopback interface, in every network namespace.
const LOOPBACK: u32 = 1;

/// What is said of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has started.
    Started,
    /// It has ended.
    Ended,
    /// It has not ended when the capture does.
    StillOpen,
}

/// A TCP connection with one end on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// What is said of it.
    pub kind: Kind,
    /// When it started, on the clock CLOCK_MONOTONIC in nanoseconds; `None` if it was open before the capture.
    pub start: Option<u64>,
    /// When this is said, on the same clock.
    pub at: u64,
    /// Payload bytes that were acknowledged during the capture.
    pub sent: u64,
    /// Payload bytes that came in order during the capture.
    pub received: u64,
    /// Address and port of this end.
    pub local: (IpAddr, u16),
    /// Address and port of the other one.
    pub remote: (IpAddr, u16),
    /// Whether this end asked for it.
    pub active: bool,
    /// The number of its socket's cgroup; 0 if not known.
    pub cgroup: u64,
    /// The interface that leads to the other end; 0 if not known.
    pub interface: u32,
}

impl Connection {
    /// Reads what a program in the kernel has written; `None` if that is no such thing.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let event = Event::read(bytes)?;
        let kind = match event.kind {
            STARTED => Kind::Started,
            ENDED => Kind::Ended,
            STILL_OPEN => Kind::StillOpen,
            _ => return None,
        };
        Some(Connection {
            kind,
            start: (event.flags & BEFORE == 0).then_some(event.start_ns),
            at: event.at_ns,
            sent: event.sent,
            received: event.received,
            local: (address(event.local), event.local_port),
            remote: (address(event.remote), event.remote_port),
            active: event.flags & ACTIVE != 0,
            cgroup: event.cgroup,
            interface: event.ifindex,
        })
    }

    /// Reads several, one after another.
    pub fn read_all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.chunks_exact(EVENT_BYTES).filter_map(Self::read)
    }

    /// When it started, if it began and ended during the capture.
    pub fn whole(&self) -> Option<u64> {
        self.start.filter(|_| self.kind == Kind::Ended)
    }

    /// Whether both ends are on this machine. Then each is told of by itself.
    pub fn within(&self) -> bool {
        self.interface == LOOPBACK
    }

    /// Bytes away from this machine and towards it. What stays on it counts where it is sent.
    pub fn carried(&self) -> [u64; 2] {
        [self.sent, if self.within() { 0 } else { self.received }]
    }

    /// By which the programs for packets know the flow that this end sends: `struct tr_flow_key`.
    #[cfg(feature = "programs")]
    pub(crate) fn flow_key(&self) -> FlowKey {
        let octets = |address| match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        FlowKey {
            source: octets(self.local.0),
            destination: octets(self.remote.0),
            source_port: self.local.1,
            destination_port: self.remote.1,
        }
    }

    /// The port of the end that was asked, by which services are known. Who asked is not known of what was open before the
    /// capture: there it is the lower one, for ports of those who ask are drawn from high ones.
    pub fn service(&self) -> u16 {
        match self.start {
            None => self.local.1.min(self.remote.1),
            Some(_) if self.active => self.remote.1,
            Some(_) => self.local.1,
        }
    }
}
