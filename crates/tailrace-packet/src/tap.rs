//! A tapped port: what it sends is told to whoever wants a capture. Packets are noticed where their link ends, so
//! ports that are not tapped pay nothing for it.

use std::mem;

use tailrace_core::{HostId, Packet, PortId, Time};

/// Told of every packet that a port sends, in order: when its transmission started, the packet without its scheme's
/// header, and the host that it comes from.
pub type Tap = Box<dyn FnMut(Time, &Packet, HostId)>;

/// The tapped port of a network.
pub(crate) struct Tapped {
    pub(crate) port: PortId,
    /// Where the port's link leads.
    pub(crate) to: u32,
    /// Packets that have arrived over it and were not yet told of.
    sent: Vec<(Time, Packet)>,
}

impl Tapped {
    pub(crate) fn new(port: PortId, to: u32) -> Self {
        Tapped { port, to, sent: Vec::new() }
    }

    /// Notes a packet whose transmission started at `start`.
    pub(crate) fn note(&mut self, start: Time, packet: Packet) {
        self.sent.push((start, packet));
    }

    /// What was noted since the last call.
    pub(crate) fn take(&mut self) -> Vec<(Time, Packet)> {
        mem::take(&mut self.sent)
    }
}
