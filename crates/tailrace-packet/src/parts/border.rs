//! Where a part of a network ends: links that lead out of it, and what is on its way to other parts.
//!
//! A link that leads out has its port here and its far end in another part. There the port stands for the link: it holds
//! what is on it, and is woken when its head arrives. Here the port is woken when it has sent a packet, so that the next
//! one is known, and handed over, when its transmission starts: no later than that, and so a link's delay before it arrives.

use std::sync::Arc;

use tailrace_core::{Count, Header, HostId, Packet, PortPolicy, Time};
use tailrace_engine::Entity;
use tailrace_fabric::PortId;

use super::Cut;
use crate::Network;

/// A packet on a link between two parts.
#[derive(Clone, Copy)]
pub(crate) struct Crossing<H> {
    /// When it arrives.
    pub(crate) at: Time,
    /// The port that has sent it.
    port: PortId,
    packet: Packet<H>,
}

/// The border of a part.
pub(crate) struct Border<H> {
    cut: Arc<Cut>,
    own: usize,
    /// Of each port, the part that its link leads to, if it leads out of this one.
    leads_to: Vec<Option<u8>>,
    /// What has left for each part and was not fetched.
    pub(crate) out: Vec<Vec<Crossing<H>>>,
}

impl<H: Header> Border<H> {
    fn new(cut: Arc<Cut>, own: usize) -> Self {
        let leads_to = |port| {
            let (from, to) = cut.ends(port);
            (from == own && to != own).then_some(to as u8)
        };
        Border {
            leads_to: (0..cut.ports() as PortId).map(leads_to).collect(),
            out: (0..cut.parts()).map(|_| Vec::new()).collect(),
            cut,
            own,
        }
    }

    /// Whether an entity is a port here whose link leads out.
    #[inline]
    pub(crate) fn leads_out(&self, entity: Entity) -> bool {
        self.leads_to.get(entity as usize).is_some_and(Option::is_some)
    }

    /// What is on its way out.
    pub(crate) fn in_flight(&self) -> Count {
        let mut count = Count::default();
        self.out.iter().flatten().for_each(|crossing| count.count(crossing.packet.bytes));
        count
    }
}

impl<P: PortPolicy<H>, H: Header> Network<P, H> {
    /// Makes this a part of a network that is cut.
    pub(crate) fn confine(&mut self, cut: Arc<Cut>, own: usize) {
        self.border = Some(Border::new(cut, own));
    }

    /// Whether a host is of this part.
    #[inline]
    pub(crate) fn has_host(&self, host: HostId) -> bool {
        self.border.as_ref().is_none_or(|border| border.cut.of_host(host) == border.own)
    }

    /// Whether a port is of this part.
    pub(crate) fn has_port(&self, port: PortId) -> bool {
        self.border.as_ref().is_none_or(|border| border.cut.ends(port).0 == border.own)
    }

    /// Whether this is a part only.
    pub(crate) fn is_part(&self) -> bool {
        self.border.is_some()
    }

    /// Whether what every part is woken for counts here: it counts once.
    pub(crate) fn counts_for_all(&self) -> bool {
        self.border.as_ref().is_none_or(|border| border.own == 0)
    }

    /// A port whose link leads out has sent its packet, or has something to send.
    pub(crate) fn depart(&mut self, port: PortId) {
        self.ports[port as usize].look(self.now);
        self.export(port);
    }

    /// Hands over what a port has begun to send, and has itself woken when it has sent that.
    pub(crate) fn export(&mut self, port: PortId) {
        let Some(border) = &mut self.border else { return };
        let Some(to) = border.leads_to[port as usize] else { return };
        let from = &mut self.ports[port as usize];
        let out = &mut border.out[usize::from(to)];
        from.take_flights(|at, packet| out.push(Crossing { at, port, packet }));
        if let Some(next) = from.next_departure(self.now) {
            self.agenda.wake(port, next.as_ps());
        }
    }

    /// Takes in what has left other parts for this one.
    pub(crate) fn import(&mut self, crossings: impl Iterator<Item = Crossing<H>>) {
        for Crossing { at, port, packet } in crossings {
            assert!(at > self.now, "a packet arrives at {at} in a part that is at {}", self.now);
            if self.ports[port as usize].put_flight(at, packet) {
                self.agenda.wake(port, at.as_ps());
            }
        }
    }

    /// What has left for each part and was not fetched.
    pub(crate) fn exports(&mut self) -> &mut [Vec<Crossing<H>>] {
        self.border.as_mut().map_or(&mut [], |border| &mut border.out)
    }

    /// Runs until something before `end` concerns the edge; `None` when nothing before it is pending.
    #[inline(always)]
    pub(crate) fn next_before(&mut self, end: Time) -> Option<crate::Step<H>> {
        self.step(|agenda| agenda.next_before(end.as_ps()))
    }
}
