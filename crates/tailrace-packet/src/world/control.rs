//! The scheme's controller, and its updates on their way to the hosts.

use std::collections::VecDeque;

use tailrace_core::{Bytes, Controller, Directive, Scheme, Time, WeightUpdate};
use tailrace_engine::Entity;

use super::{SPECIAL, World};

/// A controller, with what it has sent out.
pub(super) struct Control {
    controller: Box<dyn Controller>,
    /// Updates by when they arrive; all take equally long, so they are in order.
    on_their_way: VecDeque<(Time, WeightUpdate)>,
    fresh: Vec<WeightUpdate>,
    /// Updates that have reached a flow in progress.
    heard: u64,
}

impl Control {
    pub(super) fn new(controller: Box<dyn Controller>) -> Self {
        Control { controller, on_their_way: VecDeque::new(), fresh: Vec::new(), heard: 0 }
    }

    pub(super) fn controller(&mut self) -> &mut dyn Controller {
        &mut *self.controller
    }

    pub(super) fn heard(&self) -> u64 {
        self.heard
    }

    fn next_wake(&self) -> Time {
        let arrival = self.on_their_way.front().map_or(Time::MAX, |(at, _)| *at);
        arrival.min(self.controller.next_wake())
    }
}

impl<S: Scheme> World<S> {
    /// The controller's place among those that are woken.
    pub(super) fn control_entity(&self) -> Entity {
        (self.hosts.len() + SPECIAL + self.watched_port.len()) as Entity
    }

    pub(super) fn arm_control(&mut self) {
        let due = self.control.as_ref().map_or(Time::MAX, Control::next_wake);
        if due < Time::MAX {
            self.network.wake(self.control_entity(), due.max(self.network.now()));
        }
    }

    pub(super) fn wake_control(&mut self) {
        let now = self.network.now();
        let Some(mut control) = self.control.take() else { return };
        while let Some(&(at, update)) = control.on_their_way.front()
            && at <= now
        {
            control.on_their_way.pop_front();
            control.heard += u64::from(self.give_weight(update));
        }
        if control.controller.next_wake() <= now {
            let (flows, senders) = (&self.flows, &self.senders);
            let delivered =
                |flow| flows.slot(flow).map_or(Bytes::ZERO, |slot| senders[slot].view().delivered);
            control.controller.on_wake(now, &delivered, &mut control.fresh);
            let arrival = now + control.controller.delay();
            control.on_their_way.extend(control.fresh.drain(..).map(|update| (arrival, update)));
        }
        self.control = Some(control);
        self.arm_control();
    }

    /// Whether the flow was still in progress.
    fn give_weight(&mut self, update: WeightUpdate) -> bool {
        let Some(slot) = self.flows.slot(update.flow) else { return false };
        let directive = Directive { weight: update.weight, ..*self.senders[slot].directive() };
        self.senders[slot].direct(&directive);
        self.pump(self.flows.record(update.flow).src, slot);
        true
    }
}
