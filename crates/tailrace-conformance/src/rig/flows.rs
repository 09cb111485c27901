//! What comes to the port: flows that begin, send and end, and packets of strangers.

use tailrace_core::{
    Bytes, CongestionLaw, Ecn, FlowId, FlowInfo, Header, HostPolicy, Packet, PacketKind, Scheme, Standing,
    Time,
};
use tailrace_transport::{Receiver, Sender};

use super::{AT_ONCE, Flow, Rig};
use crate::{Verdict, ensure, laws, setting};

/// Flows in progress.
const FLOWS: usize = 12;
/// Packets of a burst of strangers.
const BURST: usize = 100;

impl<S: Scheme> Rig<S> {
    pub(super) fn begin_flows(&mut self) {
        while self.trouble() && self.flows.len() < FLOWS {
            let sizes = [1, 1_460, 1_461, 9_000, 40_000, 200_000];
            let size = sizes[self.stream.below(sizes.len() as u32) as usize];
            let info = setting::flow::<S>(self.begun, size, self.now, &mut self.stream);
            let directive = self.host.directive(&info);
            let law = self.scheme.law(&info);
            let sender =
                Sender::new(law, info, Bytes::new(size), self.scheme.ecn(), directive, &self.transport);
            let receiver = Receiver::new(info.src, directive.acks, &self.transport);
            self.flows.insert(self.begun, Flow { sender, receiver });
            self.begun += 1;
        }
    }

    /// Lets all flows send what they may, and ends those that are done.
    pub(super) fn pump_all(&mut self) -> Verdict {
        let ids: Vec<FlowId> = self.flows.keys().copied().collect();
        for id in ids {
            self.pump(id)?;
        }
        Ok(())
    }

    pub(super) fn pump(&mut self, id: FlowId) -> Verdict {
        for _ in 0..AT_ONCE {
            let Some(Flow { sender, receiver }) = self.flows.get_mut(&id) else { return Ok(()) };
            laws::carried_out(sender.law().allowance())?;
            if sender.is_done() {
                return self.end(id);
            }
            match sender.standing() {
                Standing::Going => {}
                Standing::Stopped => {
                    let deadline = sender.info().deadline;
                    ensure!(deadline.is_some(), "gives up flow {id}, which has no deadline");
                    return self.end(id);
                }
                Standing::Demoted => {
                    let left = |size: Bytes| size.saturating_sub(sender.view().delivered);
                    let info =
                        FlowInfo { deadline: None, size: sender.info().size.map(left), ..*sender.info() };
                    sender.demote(info);
                    let directive = self.host.directive(&info);
                    sender.direct(&directive);
                    receiver.acknowledge_in(directive.acks);
                    ensure!(sender.standing() != Standing::Demoted, "flow {id} is demoted again and again");
                }
            }
            let Some(packet) = sender.poll_send(self.now) else { return Ok(()) };
            self.send(packet)?;
        }
        Err(format!("flow {id} sends without end at {}", self.now))
    }

    fn end(&mut self, id: FlowId) -> Verdict {
        let Some(mut flow) = self.flows.remove(&id) else { return Ok(()) };
        self.note(|| format!("flow {id} ends"));
        self.host.on_flow_end(self.now, flow.sender.info(), flow.sender.view().sent);
        match flow.sender.farewell(self.now) {
            Some(packet) => self.send(packet),
            None => Ok(()),
        }
    }

    pub(super) fn timers(&mut self) -> Verdict {
        let ids: Vec<FlowId> = self.flows.keys().copied().collect();
        for id in ids {
            let Some(Flow { sender, receiver }) = self.flows.get_mut(&id) else { continue };
            let mut acks = Vec::new();
            receiver.on_wake(self.now, |ack| acks.push(ack));
            if sender.next_wake() <= self.now && sender.on_wake(self.now) {
                let (view, timeouts) = (sender.view(), sender.consecutive_timeouts());
                if let Some(directive) =
                    self.host.on_timeout(sender.info(), &view, timeouts, sender.directive())
                {
                    sender.direct(&directive);
                    receiver.acknowledge_in(directive.acks);
                }
            }
            self.answer(acks)?;
        }
        Ok(())
    }

    /// Packets of flows that nobody here knows, now and then many: of any length, priority and ECN field.
    pub(super) fn strangers(&mut self) -> Verdict {
        while self.trouble() && self.next_stranger <= self.now {
            self.next_stranger = self.now + Time::from_ns(u64::from(self.stream.below(20_000)));
            let kinds = [PacketKind::Data, PacketKind::LastData, PacketKind::Ack, PacketKind::AckMarked];
            let fields = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked];
            let payload = if self.stream.below(2) == 0 { 0 } else { self.stream.below(1_461) as u16 };
            let copies = if self.stream.below(50) == 0 { BURST } else { 1 };
            let mut packet = Packet {
                flow: FlowId::MAX - self.stream.below(8),
                dst: 1,
                bytes: 40 + payload,
                priority: self.stream.below(10) as u8,
                header: S::Header::NONE,
                ..Packet::EMPTY
            };
            packet.set(kinds[self.stream.below(4) as usize], fields[self.stream.below(3) as usize]);
            for _ in 0..copies {
                self.send(packet)?;
            }
        }
        Ok(())
    }
}
