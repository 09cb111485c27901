//! What is told across the fabric without a packet: that a flow's sender is done, in what priority its receiver is to
//! acknowledge, and what senders know to have arrived. It counts a while later, as if somebody had carried it: as long as
//! the slowest link takes for a full packet. So it is known in every part of a run that is cut, before it counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_core::{Directive, FlowId, Scheme, Time};
use tailrace_engine::Entity;
use tailrace_fabric::Fabric;

use super::{SPECIAL, World};
use crate::cut::edict_delay;
use crate::letter::{Edict, Letter, What};

/// What is on its way.
#[derive(Debug)]
pub(super) struct Edicts {
    pending: BinaryHeap<Reverse<Edict>>,
    /// What other parts must be told.
    news: Vec<Edict>,
    delay: Time,
    stop: bool,
}

impl Edicts {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Edicts { pending: BinaryHeap::new(), news: Vec::new(), delay: edict_delay(fabric), stop: false }
    }

    /// Whether the run is to stop.
    pub(super) fn are_to_stop(&self) -> bool {
        self.stop
    }
}

impl<S: Scheme> World<S> {
    /// The place of edicts among those that are woken, after the driver's clock.
    pub(super) fn edicts_entity(&self) -> Entity {
        (self.hosts.len() + SPECIAL + self.watched_port.len() + 2) as Entity
    }

    /// The flow's sender is done.
    pub(super) fn decree_end(&mut self, flow: FlowId) {
        self.flows.end(flow);
        self.decree(flow, What::Done);
    }

    /// So many bytes have arrived.
    pub(super) fn decree_arrived(&mut self, bytes: u64) {
        self.decree(0, What::Arrived(bytes));
    }

    /// The run is to stop, in all parts at the same time. Nobody has gone more than a look-ahead beyond `done`, though nothing may
    /// have happened for long.
    pub(crate) fn decree_stop(&mut self, done: Time) {
        self.tell(Edict { at: done + self.edicts.delay, flow: 0, what: What::Stop });
    }

    /// The flow in `slot` obeys a new directive: its sender at once, its receiver as soon as it knows.
    pub(super) fn direct(&mut self, slot: usize, directive: &Directive) {
        let sender = &mut self.senders[slot];
        let (flow, before) = (sender.info().id, sender.directive().acks);
        sender.direct(directive);
        if directive.acks != before {
            self.decree(flow, What::Acks(directive.acks));
        }
    }

    fn decree(&mut self, flow: FlowId, what: What) {
        self.tell(Edict { at: self.network.now() + self.edicts.delay, flow, what });
    }

    fn tell(&mut self, edict: Edict) {
        self.expect(edict);
        if self.network.is_part() {
            self.edicts.news.push(edict);
        }
    }

    fn expect(&mut self, edict: Edict) {
        self.edicts.pending.push(Reverse(edict));
        self.network.wake(self.edicts_entity(), edict.at);
    }

    /// Until when nothing concerns anybody, unless others write; never, if nothing does.
    pub(crate) fn rests_until(&self) -> Time {
        if self.edicts.news.is_empty() {
            self.network.next_concern().unwrap_or(Time::MAX)
        } else {
            self.network.now()
        }
    }

    /// What concerns other parts of what has happened before `end`, by part.
    pub(crate) fn letters(&mut self, end: Time) -> &mut [Vec<Letter<S::Header>>] {
        self.network.letters(end, &mut self.edicts.news)
    }

    /// Hears from another part. This one is done up to `done`.
    ///
    /// # Panics
    ///
    /// If it concerns what was before that.
    pub(crate) fn read(&mut self, letter: &Letter<S::Header>, done: Time) {
        let &(Letter::Packet { at, .. } | Letter::Edict(Edict { at, .. })) = letter;
        assert!(at >= done, "something of {at} is heard of in a part that is done up to {done}");
        match *letter {
            Letter::Packet { at, port, ref packet } => self.network.import(at, port, packet),
            Letter::Edict(edict) => self.expect(edict),
        }
    }

    /// Lets what is due count.
    pub(super) fn wake_edicts(&mut self) {
        let now = self.network.now();
        let mut arrived = None;
        while let Some(&Reverse(edict)) = self.edicts.pending.peek()
            && edict.at <= now
        {
            self.edicts.pending.pop();
            match edict.what {
                What::Acks(priority) => {
                    if let Some(slot) = self.flows.slot_of_receiver(edict.flow) {
                        self.receivers[slot].acknowledge_in(priority);
                    }
                }
                What::Done => {
                    let slot = self.flows.free(edict.flow);
                    self.armed[slot] = super::UNARMED;
                }
                What::Stop => self.edicts.stop = true,
                What::Arrived(bytes) => arrived = Some(arrived.unwrap_or(0) + bytes),
            }
        }
        if let Some(bytes) = arrived {
            self.judge(bytes);
        }
        if let Some(&Reverse(edict)) = self.edicts.pending.peek() {
            self.network.wake(self.edicts_entity(), edict.at);
        }
    }
}
