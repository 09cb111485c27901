//! Links that are watched: those that are tapped, and those that fail. Most runs have none, so that their ports lead to a
//! number of their own, and all else is out of the way.

use tailrace_core::{Header, Packet, PortPolicy, Time};
use tailrace_fabric::PortId;

use super::Network;
use crate::port::Port;
use crate::tap::Tapped;

impl<P: PortPolicy<H>, H: Header> Network<P, H> {
    /// Has itself woken when other routes are to count.
    pub(super) fn arm_reroute(&mut self) {
        if let Some(failing) = &self.failing
            && let Some(at) = failing.next_reroute()
        {
            self.agenda.wake(failing.entity, at.as_ps());
        }
    }

    /// Other routes count from now on.
    pub(super) fn reroute(&mut self) {
        if let Some(reroute) = self.failing.as_mut().and_then(|failing| failing.rerouted(self.now)) {
            self.switching.reroute(reroute);
        }
        self.arm_reroute();
    }

    /// Notes from now on what a port sends, for [`Self::take_tapped`].
    pub fn tap(&mut self, port: PortId) {
        debug_assert!(self.border.is_none(), "a run with taps is not cut");
        let to = std::mem::replace(&mut self.ports[port as usize].to, Port::<P, H>::WATCHED);
        self.tapped.push(Tapped::new(port, to));
    }

    /// A packet has come over the link of a watched port: notes it if that is tapped, and tells where it leads; `None` if the
    /// packet is lost on it.
    #[cold]
    pub(super) fn pass_watched(&mut self, port: PortId, packet: &mut Packet<H>) -> Option<u32> {
        let start = self.ports[port as usize].started(self.now, packet);
        if let Some(tapped) = self.tapped.iter_mut().find(|tapped| tapped.port == port) {
            tapped.note(start, packet.plain());
        }
        if self.failing.as_ref().is_some_and(|failing| failing.loses(port, start, self.now)) {
            self.ports[port as usize].egress.count_lost(packet.bytes);
            self.lose(*packet);
            return None;
        }
        if P::REVERSE && packet.is_ack() {
            self.reverse(port, packet);
        }
        Some(self.target(port))
    }

    /// The packets that have come over the link of the port that was tapped as this one, counted from 0, since the last call, and
    /// when each was sent. At the end of a run those that are still on the link are among them.
    pub fn take_tapped(&mut self, number: usize, at_end: bool) -> Vec<(Time, Packet)> {
        let Some(tapped) = self.tapped.get_mut(number) else { return Vec::new() };
        let port = &self.ports[tapped.port as usize];
        if at_end {
            port.under_way().for_each(|(at, packet)| tapped.note(port.started(at, packet), packet.plain()));
        }
        tapped.take()
    }

    /// Where a port's link leads.
    pub(super) fn target(&self, port: PortId) -> u32 {
        let tapped = self.tapped.iter().find(|tapped| tapped.port == port);
        let to = tapped.map_or(self.ports[port as usize].to, |tapped| tapped.to);
        match &self.failing {
            Some(failing) if to == Port::<P, H>::WATCHED => failing.to(port),
            _ => to,
        }
    }
}
