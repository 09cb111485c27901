//! Where a part of a network ends: links that lead out of it, and what is on its way to other parts.
//!
//! A link that leads out has its port here and its far end in another part. There the port stands for the link: it holds
//! what is on it, and is woken when its head arrives. Here nothing wakes it. What it sends at once is handed over at once. As
//! often as the part's clock is to advance, those ports catch up where a packet waits whose turn may have come, and what they
//! have begun to send by then is handed over, too. All of it is sent before the others read the clock, and so before they go
//! on to where it arrives: a look-ahead beyond the clock that they have read before.

use std::sync::Arc;

use tailrace_core::{Bytes, Header, HostId, Packet, PortPolicy, Time};
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
    /// Of each port, the part that its link leads to, or this one.
    leads_to: Vec<u8>,
    /// Ports that lead out and where packets wait, or have waited, and when they are done with what they send: none leaves before,
    /// and what has left since lies on their links.
    waiting: Vec<(Time, PortId)>,
    is_waiting: Vec<bool>,
    /// What has left for each part and is not sent yet.
    out: Vec<Vec<Letter<H>>>,
}

impl<H: Header> Border<H> {
    fn new(cut: Arc<Cut>, own: usize) -> Self {
        let leads_to = |port| match cut.ends(port) {
            (from, to) if from == own => to as u8,
            _ => own as u8,
        };
        Border {
            leads_to: (0..cut.ports() as PortId).map(leads_to).collect(),
            waiting: Vec::new(),
            is_waiting: vec![false; cut.ports()],
            out: (0..cut.parts()).map(|_| Vec::new()).collect(),
            cut,
            own,
        }
    }

    fn leads_out(&self, port: PortId) -> bool {
        usize::from(self.leads_to[port as usize]) != self.own
    }

    /// What is on a port's link goes to the part that this leads to.
    #[inline]
    fn hand_over<P: PortPolicy<H>>(&mut self, number: PortId, port: &mut Port<P, H>) {
        let out = &mut self.out[usize::from(self.leads_to[number as usize])];
        while let Some((at, packet)) = port.take_flight() {
            out.push(Letter::Packet { at, port: number, packet });
        }
    }
}

impl<P: PortPolicy<H>, H: Header> Network<P, H> {
    /// Makes this a part of a network that is cut.
    pub(crate) fn confine(&mut self, cut: Arc<Cut>, own: usize) {
        let border = Border::new(cut, own);
        for (port, _) in self.ports.iter_mut().zip(0..).filter(|&(_, port)| border.leads_out(port)) {
            port.to = Port::<P, H>::OUT;
        }
        self.agenda.break_ties_by(border.cut.order_of(own));
        self.border = Some(border);
    }

    /// A packet comes to a port that leads out.
    #[inline(never)]
    pub(super) fn forward_out(&mut self, number: PortId, packet: &mut Packet<H>, room: Bytes) {
        let port = &mut self.ports[number as usize];
        if !port.send_through(self.now, packet, room) {
            return self.take_in_out(number, packet, room);
        }
        let Some(border) = &mut self.border else { return };
        if let Some(at) = port.take_alone() {
            let out = &mut border.out[usize::from(border.leads_to[number as usize])];
            out.push(Letter::Packet { at, port: number, packet: *packet });
        } else {
            debug_assert!(border.is_waiting[number as usize], "what is before it on the link has waited");
        }
    }

    /// A packet that was not sent through comes to a port that leads out.
    fn take_in_out(&mut self, number: PortId, packet: &mut Packet<H>, room: Bytes) {
        self.take_in(number, packet, room);
        let (Some(border), port) = (&mut self.border, &self.ports[number as usize]) else { return };
        if port.egress.is_backlogged() && !std::mem::replace(&mut border.is_waiting[number as usize], true) {
            border.waiting.push((port.egress.free_at(), number));
        }
    }

    /// A port that leads out may have sent something.
    #[inline(never)]
    pub(super) fn hand_over(&mut self, number: PortId) {
        if let Some(border) = &mut self.border {
            border.hand_over(number, &mut self.ports[number as usize]);
        }
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
        let busy =
            |border: &Border<H>| !border.waiting.is_empty() || border.out.iter().any(|out| !out.is_empty());
        if self.border.as_ref().is_some_and(busy) { Some(self.now) } else { self.next_event() }
    }

    /// What other parts are to be told, by part: `news`, and what has left for them before `end`. All that happens before it
    /// must have happened.
    pub(crate) fn letters(&mut self, end: Time, news: &mut Vec<Edict>) -> &mut [Vec<Letter<H>>] {
        let Some(border) = &mut self.border else { return &mut [] };
        let mut place = 0;
        while let Some(&(until, number)) = border.waiting.get(place) {
            if until >= end {
                place += 1;
                continue;
            }
            let port = &mut self.ports[number as usize];
            // What happens at `end` itself is yet to come.
            port.catch_up(end.saturating_sub(Time::from_ps(1)));
            border.hand_over(number, port);
            if port.egress.is_backlogged() {
                border.waiting[place].0 = port.egress.free_at();
                place += 1;
            } else {
                border.is_waiting[number as usize] = false;
                border.waiting.swap_remove(place);
            }
        }
        for edict in news.drain(..) {
            let others = border.out.iter_mut().enumerate().filter(|(part, _)| *part != border.own);
            others.for_each(|(_, out)| out.push(Letter::Edict(edict)));
        }
        &mut border.out
    }

    /// A packet comes over the link of a port of another part.
    pub(crate) fn import(&mut self, at: Time, port: PortId, packet: &Packet<H>) {
        if self.ports[port as usize].put_flight(at, packet) {
            self.agenda.wake(port, at.as_ps());
        }
    }
}
