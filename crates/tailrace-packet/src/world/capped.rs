//! Flows that share a rate of their host: they send in turn.

use tailrace_core::{Cap, HostId, HostPolicy, Scheme, Time};
use tailrace_engine::Entity;

use super::World;
use crate::timers::Timer;

impl<S: Scheme> World<S> {
    /// The cap of the flow in `slot`, if its host's policy may give any.
    #[inline]
    pub(super) fn cap(&self, slot: usize) -> Option<Cap> {
        if S::Host::CAPS { self.senders[slot].directive().cap } else { None }
    }

    /// The flow in `slot` may have something to send, under a cap.
    pub(super) fn pump_capped(&mut self, host: HostId, slot: usize, cap: Cap) {
        if !self.waits[slot] {
            self.waits[slot] = true;
            self.hosts[host as usize].caps.ask(cap, self.senders[slot].info().id);
        }
        self.take_turns(host);
        self.arm_sender(host, slot);
    }

    /// Lets those send whose turn it is.
    pub(super) fn take_turns(&mut self, host: HostId) {
        let now = self.network.now();
        while let Some((group, flow)) = self.hosts[host as usize].caps.turn(now) {
            let slot = self.flows.slot(flow);
            let is_of_group = slot.is_some_and(|slot| self.cap(slot).is_some_and(|cap| cap.group == group));
            let packet = slot.filter(|_| is_of_group).and_then(|slot| self.senders[slot].poll_send(now));
            let caps = &mut self.hosts[host as usize].caps;
            match &packet {
                Some(packet) => caps.sent(group, now, packet.bytes),
                None => caps.passed(group),
            }
            let Some(slot) = slot else { continue };
            self.waits[slot] = packet.is_some();
            match packet {
                Some(packet) => self.network.inject(host, packet),
                None if !is_of_group => self.pump(host, slot),
                None => {}
            }
            self.arm_sender(host, slot);
        }
        let next = self.hosts[host as usize].caps.next_turn();
        if next < Time::MAX {
            self.network.wake(Entity::from(host), next);
        }
    }

    /// Sees to the timer of the flow in `slot`. While it waits for its turn, only that of its retransmission counts.
    fn arm_sender(&mut self, host: HostId, slot: usize) {
        let sender = &self.senders[slot];
        let due = if self.waits[slot] { sender.retransmit_at() } else { sender.next_wake() };
        let timers = &mut self.hosts[host as usize].timers;
        if timers.arm(Timer::Sender(slot as u32), due, &mut self.armed[slot].sender) {
            self.network.wake(Entity::from(host), due);
        }
    }
}
