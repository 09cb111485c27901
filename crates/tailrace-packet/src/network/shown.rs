//! What a network shows of itself.

use tailrace_core::{FlowId, Header, HostId, Ledger, MAX_PRIORITIES, Packet, PortCounts, PortPolicy};
use tailrace_fabric::{PortId, SwitchId};

use super::Network;
use crate::port::Port;

impl<P: PortPolicy<H>, H: Header> Network<P, H> {
    /// Bytes and packets that wait at a port now, and the bytes in each of its queues.
    pub fn sample(&mut self, port: PortId) -> (u64, usize, [u64; MAX_PRIORITIES]) {
        self.settle(port);
        let policy = self.ports[port as usize].egress.policy();
        let by_queue = std::array::from_fn(|queue| policy.backlog_of(queue as u8).get());
        (policy.backlog().get(), policy.backlog_packets(), by_queue)
    }

    /// What a port has sent, dropped and marked.
    pub fn counts_of(&self, port: PortId) -> PortCounts {
        self.ports[port as usize].egress.counts()
    }

    /// What each port sent, dropped and marked, in order of port number.
    pub fn port_counts(&self) -> impl Iterator<Item = PortCounts> {
        self.ports.iter().map(|port| port.egress.counts())
    }

    /// Packets sent over a link so far.
    pub fn packet_hops(&self) -> u64 {
        self.port_counts().map(|port| port.sent.packets).sum()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.agenda.given_out() - self.uncounted
    }

    /// Digest of all events so far.
    pub fn digest(&self) -> u64 {
        self.digest.value()
    }

    /// Bytes of a priority in the longest of its queues at the switches between two hosts, and of all priorities in
    /// the longest of the ports, where a flow's way is fixed; otherwise at the last switch only.
    pub fn longest_queue(&mut self, src: HostId, dst: HostId, flow: FlowId, priority: u8) -> (u64, u64) {
        let [from, to] = [src, dst].map(Packet::address);
        let packet = Packet::<H> { flow, src: from, dst: to, ..Packet::EMPTY };
        let longer = |(queue, whole): (u64, u64), (port, _, queues): (u64, usize, [u64; MAX_PRIORITIES])| {
            (queue.max(queues[usize::from(priority)]), whole.max(port))
        };
        let (mut port, mut longest) = (PortId::from(src), (0, 0));
        if !self.switching.is_fixed() {
            port = self.switching.port_to(dst);
            longest = longer(longest, self.sample(port));
        }
        loop {
            let to = self.target(port);
            if to & Port::<P, H>::SWITCH == 0 {
                return longest;
            }
            let switch = (to & !Port::<P, H>::SWITCH) as SwitchId;
            let Some(next) = self.switching.route(self.now, switch, &packet) else { return longest };
            port = next;
            longest = longer(longest, self.sample(port));
        }
    }

    /// Where every packet is.
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger { injected: self.injected, delivered: self.delivered, ..self.ledger };
        for port in &self.ports {
            ledger.queued += port.egress.queued();
            ledger.in_flight += port.in_flight();
        }
        ledger
    }
}
