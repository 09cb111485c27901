//! Where a part of a network ends: links that lead out of it, and what is on its way to other parts.
//!
//! A link that leads out has its port here and its far end in another part. There the port stands for the link: it holds
//! what is on it, and is woken when its head arrives. Here nothing wakes it. As often as the part's clock is to advance, those
//! ports catch up that have sent something, or where a packet may wait whose turn has come, and what they have begun to send
//! by then is handed over. That is before the others read the clock, and so before they go on to where it arrives: a
//! look-ahead beyond the clock that they have read before.

use std::sync::Arc;

use tailrace_core::{Bytes, Header, HostId, Packet, PortPolicy, Time};
use tailrace_fabric::PortId;
use tailrace_switch::Holder;

use super::Network;
use crate::cut::Cut;
use crate::letter::{Edict, Letter};
use crate::port::Port;

/// The border of a part.
pub(crate) struct Border {
    cut: Arc<Cut>,
    own: usize,
    /// Of each port, the part that its link leads to, if it leads out of this one.
    leads_to: Vec<Option<u8>>,
    /// Ports that lead out and where packets may wait, and when they are done with what they send: none leaves before.
    waiting: Vec<(Time, PortId)>,
    /// For each part, ports that may have something to hand over to it.
    due: Vec<Vec<PortId>>,
    /// Whether a port is among these or those.
    is_known: Vec<bool>,
    /// For each part, what else it is to be told.
    edicts: Vec<Vec<Edict>>,
    /// Before then all has happened, and is handed over.
    end: Time,
}

impl Border {
    fn new(cut: Arc<Cut>, own: usize) -> Self {
        let leads_to = |port| {
            let (from, to) = cut.ends(port);
            (from == own && to != own).then_some(to as u8)
        };
        Border {
            leads_to: (0..cut.ports() as PortId).map(leads_to).collect(),
            waiting: Vec::new(),
            due: vec![Vec::new(); cut.parts()],
            is_known: vec![false; cut.ports()],
            edicts: vec![Vec::new(); cut.parts()],
            end: Time::ZERO,
            cut,
            own,
        }
    }

    /// A port that leads out has something to hand over, or may have.
    #[inline]
    fn make_due(&mut self, port: PortId) {
        if let Some(to) = self.leads_to[port as usize] {
            self.due[usize::from(to)].push(port);
        }
    }

    /// Letters are to be written of what has left before `end`, and of `news`.
    fn prepare_letters(&mut self, end: Time, news: &mut Vec<Edict>) {
        self.end = end;
        let mut place = 0;
        while let Some(&(until, port)) = self.waiting.get(place) {
            if until < end {
                self.waiting.swap_remove(place);
                self.make_due(port);
            } else {
                place += 1;
            }
        }
        for edict in news.drain(..) {
            let others = self.edicts.iter_mut().enumerate().filter(|(part, _)| *part != self.own);
            others.for_each(|(_, edicts)| edicts.push(edict));
        }
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

    /// A packet that was not sent through comes to a port that leads out.
    #[inline(never)]
    pub(super) fn take_in_out(&mut self, port: PortId, packet: &mut Packet<H>, room: Bytes) {
        self.take_in(port, packet, room);
        self.note_out(port);
    }

    /// A port that leads out may have sent something, or packets may wait there.
    #[inline(never)]
    pub(super) fn note_out(&mut self, number: PortId) {
        let Some(border) = &mut self.border else { return };
        if !std::mem::replace(&mut border.is_known[number as usize], true) {
            let port = &self.ports[number as usize];
            match port.has_flights() {
                true => border.make_due(number),
                false => border.waiting.push((port.egress.free_at(), number)),
            }
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
            |border: &Border| !border.waiting.is_empty() || border.due.iter().any(|due| !due.is_empty());
        if self.border.as_ref().is_some_and(busy) { Some(self.now) } else { self.next_event() }
    }

    /// Letters are to be written: `news`, and what has left for other parts before `end`. All that happens before it must have
    /// happened.
    pub(crate) fn prepare_letters(&mut self, end: Time, news: &mut Vec<Edict>) {
        if let Some(border) = &mut self.border {
            border.prepare_letters(end, news);
        }
    }

    /// Whether there may be letters to a part.
    pub(crate) fn has_letters(&self, part: usize) -> bool {
        self.border
            .as_ref()
            .is_some_and(|border| !border.due[part].is_empty() || !border.edicts[part].is_empty())
    }

    /// The next letter to a part.
    #[inline]
    pub(crate) fn next_letter(&mut self, part: usize) -> Option<Letter<H>> {
        let border = self.border.as_mut()?;
        while let Some(&number) = border.due[part].last() {
            let port = &mut self.ports[number as usize];
            // At `end` itself, packets may arrive before the port looks what to send.
            port.catch_up(border.end.saturating_sub(Time::from_ps(1)));
            if let Some((at, packet)) = port.take_flight() {
                return Some(Letter::Packet { at, port: number, packet });
            }
            border.due[part].pop();
            let waits = port.egress.policy().backlog_packets() > 0;
            border.is_known[number as usize] = waits;
            if waits {
                border.waiting.push((port.egress.free_at(), number));
            }
        }
        border.edicts[part].pop().map(Letter::Edict)
    }

    /// A packet comes over the link of a port of another part.
    pub(crate) fn import(&mut self, at: Time, port: PortId, packet: Packet<H>) {
        if self.ports[port as usize].put_flight(at, packet) {
            self.agenda.wake(port, at.as_ps());
        }
    }
}
