//! Global events: a flow's sender is done, its receiver acknowledges in another priority, senders count what has arrived, and
//! the run stops. No packet carries them. They happen as long after they are announced as the slowest link takes for a full packet, on one
//! thread as well. That is no less than any look-ahead, so that every logical process has got the message in time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_core::{Directive, FlowId, Scheme, Time};
use tailrace_engine::Entity;
use tailrace_fabric::Fabric;

use super::{SPECIAL, World};
use crate::message::{GlobalEvent, GlobalEventKind, Message};
use crate::partition::global_event_delay;

/// Global events that have not happened yet.
#[derive(Debug)]
pub(super) struct GlobalEvents {
    pending: BinaryHeap<Reverse<GlobalEvent>>,
    /// Those that are still to be sent to the other logical processes.
    unsent: Vec<GlobalEvent>,
    delay: Time,
    stop: bool,
}

impl GlobalEvents {
    pub(super) fn new(fabric: &Fabric) -> Self {
        GlobalEvents {
            pending: BinaryHeap::new(),
            unsent: Vec::new(),
            delay: global_event_delay(fabric),
            stop: false,
        }
    }

    /// Whether the run stops now.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop
    }
}

impl<S: Scheme> World<S> {
    /// The place of global events among the entities that are woken, after the driver's clock.
    pub(super) fn global_events_entity(&self) -> Entity {
        (self.hosts.len() + SPECIAL + self.watched_port.len() + 2) as Entity
    }

    /// The flow's sender is done.
    pub(super) fn announce_end(&mut self, flow: FlowId) {
        self.flows.end(flow);
        self.announce(flow, GlobalEventKind::Done);
    }

    /// So many bytes have arrived.
    pub(super) fn announce_arrived(&mut self, bytes: u64) {
        self.announce(0, GlobalEventKind::Arrived(bytes));
    }

    /// Stops all logical processes at the same time. None of them has gone more than a look-ahead beyond `done`, though nothing may
    /// have happened for long.
    pub(crate) fn announce_stop(&mut self, done: Time) {
        self.broadcast(GlobalEvent {
            at: done + self.global_events.delay,
            flow: 0,
            kind: GlobalEventKind::Stop,
        });
    }

    /// The flow in `slot` obeys a new directive: its sender at once, its receiver as soon as it knows.
    pub(super) fn direct(&mut self, slot: usize, directive: &Directive) {
        let sender = &mut self.senders[slot];
        let (flow, before) = (sender.info().id, sender.directive().acks);
        sender.direct(directive);
        if directive.acks != before {
            self.announce(flow, GlobalEventKind::Acks(directive.acks));
        }
    }

    fn announce(&mut self, flow: FlowId, kind: GlobalEventKind) {
        self.broadcast(GlobalEvent { at: self.network.now() + self.global_events.delay, flow, kind });
    }

    /// Schedules an event in this logical process and sends it to all others.
    fn broadcast(&mut self, event: GlobalEvent) {
        self.schedule(event);
        if self.network.is_logical_process() {
            self.global_events.unsent.push(event);
        }
    }

    fn schedule(&mut self, event: GlobalEvent) {
        self.global_events.pending.push(Reverse(event));
        self.network.wake(self.global_events_entity(), event.at);
    }

    /// Until when this logical process has nothing to do and nothing to send, unless it gets messages; [`Time::MAX`] is for ever.
    pub(crate) fn idle_until(&self) -> Time {
        if self.global_events.unsent.is_empty() {
            self.network.next_event_or_message().unwrap_or(Time::MAX)
        } else {
            self.network.now()
        }
    }

    /// Messages about what has happened before `end`, by the logical process that they are for.
    pub(crate) fn messages(&mut self, end: Time) -> &mut [Vec<Message<S::Header>>] {
        self.network.messages(end, &mut self.global_events.unsent)
    }

    /// Takes in a message of another logical process. This one has simulated all before `done`.
    ///
    /// # Panics
    ///
    /// If the message counts from before that.
    pub(crate) fn receive(&mut self, message: &Message<S::Header>, done: Time) {
        let &(Message::Packet { at, .. } | Message::GlobalEvent(GlobalEvent { at, .. })) = message;
        assert!(at >= done, "something of {at} is heard of in a part that is done up to {done}");
        match *message {
            Message::Packet { at, port, ref packet } => self.network.import(at, port, packet),
            Message::GlobalEvent(event) => self.schedule(event),
        }
    }

    /// Lets the events happen that are due.
    pub(super) fn wake_global_events(&mut self) {
        let now = self.network.now();
        let mut arrived = None;
        while let Some(&Reverse(event)) = self.global_events.pending.peek()
            && event.at <= now
        {
            self.global_events.pending.pop();
            match event.kind {
                GlobalEventKind::Acks(priority) => {
                    if let Some(slot) = self.flows.slot_of_receiver(event.flow) {
                        self.receivers[slot].acknowledge_in(priority);
                    }
                }
                GlobalEventKind::Done => {
                    let slot = self.flows.free(event.flow);
                    self.armed[slot] = super::UNARMED;
                }
                GlobalEventKind::Stop => self.global_events.stop = true,
                GlobalEventKind::Arrived(bytes) => arrived = Some(arrived.unwrap_or(0) + bytes),
            }
        }
        if let Some(bytes) = arrived {
            self.judge(bytes);
        }
        if let Some(&Reverse(event)) = self.global_events.pending.peek() {
            self.network.wake(self.global_events_entity(), event.at);
        }
    }
}
