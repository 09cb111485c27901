//! Where a part of a network ends: links that lead out of it, and what is on its way to other parts.
//!
//! A link that leads out has its port here and its far end in another part. There the port stands for the link: it holds
//! what is on it, and is woken when its head arrives. Here nothing wakes it. As often as the part's clock advances it catches
//! up, and what it has begun to send by then is handed over: that is less than a look-ahead later, and so before it arrives.

use std::sync::Arc;

use tailrace_core::{Count, Header, HostId, Packet, PortPolicy, Time};
use tailrace_fabric::PortId;
use tailrace_switch::Holder;

use super::Network;
use crate::cut::Cut;
use crate::letter::{Edict, Letter};
use crate::port::Port;

/// The border of a part.
pub(crate) struct Border<H> {
    cut: Arc<Cut>,
    own: usize,
    /// Of each port, the part that its link leads to, if it leads out of this one.
    leads_to: Vec<Option<u8>>,
    /// Ports that lead out and have something to send, or to hand over; each has nothing new to hand over until then.
    busy: Vec<(Time, PortId)>,
    is_busy: Vec<bool>,
    /// What has left for each part and was not sent.
    out: Vec<Vec<Letter<H>>>,
}

impl<H: Header> Border<H> {
    fn new(cut: Arc<Cut>, own: usize) -> Self {
        let leads_to = |port| {
            let (from, to) = cut.ends(port);
            (from == own && to != own).then_some(to as u8)
        };
        Border {
            leads_to: (0..cut.ports() as PortId).map(leads_to).collect(),
            busy: Vec::new(),
            is_busy: vec![false; cut.ports()],
            out: (0..cut.parts()).map(|_| Vec::new()).collect(),
            cut,
            own,
        }
    }

    /// A port that leads out may have something to hand over.
    #[inline]
    pub(crate) fn note(&mut self, port: PortId) {
        if !std::mem::replace(&mut self.is_busy[port as usize], true) {
            self.busy.push((Time::ZERO, port));
        }
    }

    /// What is on its way out.
    pub(crate) fn in_flight(&self) -> Count {
        let mut count = Count::default();
        for letter in self.out.iter().flatten() {
            if let Letter::Packet { packet, .. } = letter {
                count.count(packet.bytes);
            }
        }
        count
    }
}

impl<P: PortPolicy<H>, H: Header> Network<P, H> {
    /// Makes this a part of a network that is cut.
    pub(crate) fn confine(&mut self, cut: Arc<Cut>, own: usize) {
        let border = Border::new(cut, own);
        for (port, _) in self.ports.iter_mut().zip(&border.leads_to).filter(|(_, to)| to.is_some()) {
            port.to = Port::<P, H>::OUT;
        }
        self.agenda.break_ties_by(border.cut.order_of(own));
        self.border = Some(border);
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

    /// When the next event is, or now if ports have something for other parts without one.
    pub(crate) fn next_concern(&self) -> Option<Time> {
        let busy = self.border.as_ref().is_some_and(|border| !border.busy.is_empty());
        if busy { Some(self.now) } else { self.next_event() }
    }

    /// What other parts are to be told, by part: `news`, and what has left for them before `end`. All that happens before it
    /// must have happened.
    pub(crate) fn letters(&mut self, end: Time, news: &mut Vec<Edict>) -> &mut [Vec<Letter<H>>] {
        let Some(border) = &mut self.border else { return &mut [] };
        let (ports, out) = (&mut self.ports, &mut border.out);
        // At `end` itself, packets may arrive before the port looks what to send.
        let last = end.saturating_sub(Time::from_ps(1));
        border.busy.retain_mut(|&mut (ref mut until, number)| {
            if *until > last {
                return true;
            }
            let port = &mut ports[number as usize];
            port.catch_up(last);
            if let Some(to) = border.leads_to[number as usize] {
                let out = &mut out[usize::from(to)];
                port.take_flights(|at, packet| out.push(Letter::Packet { at, port: number, packet }));
            }
            *until = port.egress.free_at();
            let stays = *until > last || port.egress.policy().backlog_packets() > 0;
            border.is_busy[number as usize] = stays;
            stays
        });
        for edict in news.drain(..) {
            let others = out.iter_mut().enumerate().filter(|(part, _)| *part != border.own);
            others.for_each(|(_, out)| out.push(Letter::Edict(edict)));
        }
        out
    }

    /// A packet comes over the link of a port of another part.
    pub(crate) fn import(&mut self, at: Time, port: PortId, packet: Packet<H>) {
        if self.ports[port as usize].put_flight(at, packet) {
            self.agenda.wake(port, at.as_ps());
        }
    }
}
