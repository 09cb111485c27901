//! The life of a flow: start, timeouts, loss of its deadline, end.

use tailrace_core::transport::FctEnd;
use tailrace_core::{
    Bytes, CongestionLaw, Directive, FlowInfo, FlowRecord, Header, HostId, HostPolicy, Scheme, Time,
};
use tailrace_transport::{Receiver, Sender};
use tailrace_workload::FlowSpec;

use super::{Host, UNARMED, World};

impl<S: Scheme> World<S> {
    pub(super) fn start_flows(&mut self) {
        let now = self.network.now();
        while self.feed.peek().is_some_and(|start| start <= now)
            && let Some(spec) = self.feed.pop()
        {
            self.start(spec);
        }
        self.arm_source();
    }

    fn start(&mut self, mut spec: FlowSpec) {
        let id = self.flows.len() as u32;
        if let Some(gamma) = self.gamma.as_mut().filter(|_| spec.controlled) {
            let (flows, senders) = (&self.flows, &self.senders);
            let remaining = |flow| match flows.slot(flow) {
                Some(slot) => left(flows.record(flow).size, &senders[slot]),
                None => Bytes::ZERO,
            };
            gamma.assign(&mut spec, id, remaining);
        }
        let known = FlowInfo {
            id,
            src: spec.src,
            dst: spec.dst,
            size: Some(spec.size),
            start: self.network.now(),
            deadline: spec.deadline,
            slice: spec.slice,
            task: spec.task,
        };
        let info = S::KNOWS.filter(if self.oracle { known } else { spec.reveals.filter(known) });
        let slot = self.flows.start(spec.record(id)) as usize;
        let directive = self.hosts[spec.src as usize].policy.directive(&info);
        let law = self.scheme.law(&info);
        let ecn = self.scheme.ecn();
        let sender = Sender::new(law, info, spec.size, ecn, directive, &self.transport);
        let receiver = Receiver::new(spec.src, directive.acks, &self.transport);
        self.occupy(slot, sender, receiver, spec.ticket);
        if let Some(control) = &mut self.control {
            control.controller().on_flow_start(spec.start, &info);
            self.arm_control();
        }
        if self.network.has_host(spec.src) {
            self.go_on(spec.src, slot);
        }
    }

    /// Puts both ends of a flow into a slot, with the memory of its last occupant.
    fn occupy(
        &mut self,
        slot: usize,
        sender: Sender<S::Law, S::Header>,
        receiver: Receiver<S::Header>,
        ticket: u32,
    ) {
        if slot == self.senders.len() {
            self.tickets.push(ticket);
            self.senders.push(sender);
            self.receivers.push(receiver.reordering(self.cell));
            self.armed.push(UNARMED);
            self.waits.push(false);
        } else {
            let finished = std::mem::replace(&mut self.senders[slot], sender);
            self.senders[slot].reuse(finished);
            let finished = std::mem::replace(&mut self.receivers[slot], receiver);
            self.receivers[slot].reuse(finished);
            self.armed[slot] = UNARMED;
            self.waits[slot] = false;
            self.tickets[slot] = ticket;
        }
    }

    /// Gives all flows of a host the directives that its policy now has for them.
    pub(super) fn redirect(&mut self, host: HostId) {
        let own = self.flows.in_progress().filter(|(flow, _)| self.flows.record(*flow).src == host);
        let slots: Vec<usize> = own.map(|(_, slot)| slot).collect();
        for slot in slots {
            let Host { policy, caps, .. } = &mut self.hosts[host as usize];
            let fresh = policy.directive(self.senders[slot].info());
            let directive = renewed(self.control.is_some(), self.senders[slot].directive(), fresh);
            if S::Host::CAPS
                && let Some(cap) = directive.cap
            {
                caps.set(cap);
            }
            self.direct(slot, &directive);
        }
    }

    /// The retransmission timer of the flow in `slot` has expired.
    pub(super) fn on_timeout(&mut self, host: HostId, slot: usize) {
        let policy = &self.hosts[host as usize].policy;
        let sender = &mut self.senders[slot];
        let (view, timeouts) = (sender.view(), sender.consecutive_timeouts());
        if let Some(directive) = policy.on_timeout(sender.info(), &view, timeouts, sender.directive()) {
            self.direct(slot, &directive);
        }
    }

    /// The flow in `slot` goes on as one without deadline that has just its remaining bytes to send.
    pub(super) fn demote(&mut self, host: HostId, slot: usize) {
        let sender = &mut self.senders[slot];
        let info = *sender.info();
        let rest = left(self.flows.record(info.id).size, sender);
        let without = FlowInfo { deadline: None, size: info.size.map(|_| rest), ..info };
        sender.demote(without);
        let fresh = self.hosts[host as usize].policy.directive(&without);
        let directive = renewed(self.control.is_some(), sender.directive(), fresh);
        self.direct(slot, &directive);
        self.pump(host, slot);
    }

    /// The flow in `slot` is complete, or given up.
    pub(super) fn finish(&mut self, host: HostId, slot: usize) {
        let now = self.network.now();
        let id = self.senders[slot].info().id;
        self.note(id, slot);
        if let Some(packet) = self.senders[slot].farewell(now) {
            self.network.inject(host, packet);
        }
        let record = self.flows.record_mut(id);
        if !self.senders[slot].is_done() {
            record.stopped = true;
        } else if self.transport.fct_end == FctEnd::Acked {
            record.end = now;
        }
        let FlowRecord { size, src, dst, .. } = *record;
        if let Some(meter) = &mut self.meter {
            meter.ended(record, self.senders[slot].view().delivered.get().min(size.get()));
        }
        self.hosts[host as usize].policy.on_flow_end(now, self.senders[slot].info(), size);
        if let Some(gamma) = &mut self.gamma {
            gamma.ended(id, src, dst);
        }
        if let Some(control) = &mut self.control {
            control.controller().on_flow_end(now, id);
            self.arm_control();
        }
        self.armed[slot].sender = Time::MAX;
        self.announce_end(id);
        self.tell_end(slot);
    }

    /// Tells the feed, once, that the flow in `slot` has ended: later stages of its task may start.
    pub(super) fn tell_end(&mut self, slot: usize) {
        let ticket = std::mem::take(&mut self.tickets[slot]);
        if ticket != 0 {
            self.feed.ended(self.network.now(), ticket);
            self.arm_source();
        }
    }

    /// Copies what a sender counted into the flow's record.
    pub(super) fn note(&mut self, id: u32, slot: usize) {
        let stats = self.senders[slot].stats();
        let record = self.flows.record_mut(id);
        record.retransmitted = u32::try_from(stats.retransmitted).unwrap_or(u32::MAX);
        record.timeouts = u16::try_from(stats.timeouts).unwrap_or(u16::MAX);
    }
}

/// A host policy's fresh directive for a flow in progress: its weight is the controller's, where there is one.
fn renewed(controlled: bool, current: &Directive, fresh: Directive) -> Directive {
    if controlled { Directive { weight: current.weight, ..fresh } } else { fresh }
}

/// Bytes of a flow that are not acknowledged.
fn left<L: CongestionLaw<H>, H: Header>(size: Bytes, sender: &Sender<L, H>) -> Bytes {
    Bytes::new(size.get().saturating_sub(sender.view().delivered.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::{TagTable, Weight};

    #[test]
    fn a_host_policy_does_not_take_back_what_a_controller_has_said() {
        let current = Directive { weight: Weight::nearest(0.25), ..Directive::tagged(TagTable::FLAT) };
        let fresh = Directive::tagged(TagTable::flat(3));
        assert_eq!(renewed(false, &current, fresh), fresh);
        assert_eq!(renewed(true, &current, fresh), Directive { weight: current.weight, ..fresh });
    }
}
