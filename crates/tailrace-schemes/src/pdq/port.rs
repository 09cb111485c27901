//! PDQ's switch: the most critical flows of a link send at its rate, the others pause (PDQ §3.3).

use tailrace_core::{Bytes, FlowId, Packet, Rate, Time};
use tailrace_queues::Router;
use tailrace_transport::{Message, WireRate};

use super::SwitchParams;
use super::header::PdqHeader;

/// A flow on the list.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: FlowId,
    deadline_us: u32,
    expected_ns: u32,
    rtt_ns: u32,
    /// What is granted; nothing while the flow is paused.
    rate: WireRate,
    /// Whether an answer has brought the grant back, to which the ports after this one agree.
    agreed: bool,
    /// Since when it is not paused.
    let_go: Time,
    /// When the flow asked last.
    asked: Time,
    /// Without a word of the flow until then, it is forgotten.
    expires: Time,
}

impl Entry {
    /// Earliest deadline first, then least time left, then the flow that began first (PDQ §3.3, EDF and SJF).
    /// A flow that may send is taken to have done so since it asked: otherwise of equal flows the one that is
    /// sending would seem to have no less left than those that wait, and they would take turns.
    fn criticality(&self, now: Time) -> (u32, u32, FlowId) {
        let sent = if self.rate == WireRate::ZERO { 0 } else { now.saturating_sub(self.asked).as_ns() };
        let sent = u32::try_from(sent).unwrap_or(u32::MAX);
        (self.deadline_us, self.expected_ns.saturating_sub(sent), self.flow)
    }

    /// Round trips until the flow is finished.
    fn round_trips_left(&self) -> f64 {
        f64::from(self.expected_ns) / f64::from(self.rtt_ns.max(1))
    }
}

/// The router of one port.
#[derive(Clone, Debug)]
pub struct PdqRouter {
    params: SwitchParams,
    /// By which headers know this port.
    number: u32,
    link_bps: f64,
    base_rtt: Time,
    refresh: Time,
    /// What may be granted: the link, less what empties the queue.
    capacity: u64,
    control_at: Time,
    /// Most critical first.
    list: Vec<Entry>,
    /// Requests of flows that found no place on the list, since the last control and before.
    outside: [u32; 2],
}

impl PdqRouter {
    /// A grant below this part of the link is none.
    const MIN_SHARE: u64 = 100;

    /// The router of port `number`.
    pub fn new(params: &SwitchParams, number: u32, link: Rate, base_rtt: Time, refresh: Time) -> Self {
        PdqRouter {
            params: *params,
            number: number + 1,
            link_bps: link.as_bps() as f64,
            base_rtt,
            refresh,
            capacity: link.as_bps(),
            control_at: base_rtt * 2,
            list: Vec::new(),
            outside: [0; 2],
        }
    }

    /// Flows on the list as it was put in order last, most critical first, and what each is granted.
    pub fn grants(&self) -> impl Iterator<Item = (FlowId, WireRate)> {
        self.list.iter().map(|entry| (entry.flow, entry.rate))
    }

    /// Every two round trips: what is granted next empties the queue within two more (§3.3.3), and flows that
    /// have fallen silent are forgotten.
    pub fn control(&mut self, now: Time, backlog: Bytes) {
        if now >= self.control_at {
            let span = self.base_rtt * 2;
            let draining = backlog.as_f64() * 8.0 / span.as_secs_f64();
            self.capacity = (self.link_bps - draining).max(0.0) as u64;
            self.control_at = now + span;
            self.list.retain(|entry| entry.expires > now);
            self.outside = [0, self.outside[0]];
        }
    }

    /// Whether the flow has come back with its grant.
    pub(super) fn agrees(&self, flow: FlowId) -> bool {
        self.list.iter().any(|entry| entry.flow == flow && entry.agreed)
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        self.list.iter().position(|entry| entry.flow == flow)
    }

    fn remove(&mut self, flow: FlowId) -> Option<Entry> {
        self.find(flow).map(|at| self.list.remove(at))
    }

    /// What more critical flows leave to the flow at `place`. Those about to finish do not count, as long as
    /// all of them need less than K round trips (§3.3.2, algorithm 2: early start).
    ///
    /// A flow that comes back (`agreed`) is ahead of flows of which the ports after this one have not spoken yet. They may
    /// pause those for this very flow; if each port kept to the flow that it granted first, neither would ever send.
    fn available(&self, place: usize, agreed: bool) -> u64 {
        let (mut finishing, mut taken) = (0.0, 0);
        for entry in self.list[..place].iter().filter(|entry| entry.agreed || !agreed) {
            let left = entry.round_trips_left();
            if left < self.params.early_start && finishing < self.params.early_start {
                finishing += left;
            } else {
                taken += entry.rate.bps();
            }
        }
        self.capacity.saturating_sub(taken)
    }

    /// A grant that is worth having.
    fn worthwhile(&self, bps: u64) -> WireRate {
        if bps >= self.link_bps as u64 / Self::MIN_SHARE { WireRate::at_most(bps) } else { WireRate::ZERO }
    }

    /// Whether a flow was let go just now (§3.3.2, dampening). One that another port has paused since does not count: of
    /// two ports and two flows, each port could let go the flow that the other one holds back, in turns and for ever.
    fn damped(&self, now: Time) -> bool {
        let just = |entry: &Entry| now < entry.let_go + self.params.dampening;
        self.list.iter().any(|entry| entry.rate > WireRate::ZERO && just(entry))
    }

    /// Algorithm 1. What is granted is taken at once, not only when its acknowledgement has come back: two
    /// flows that ask within a round trip must not get the same capacity.
    fn request(&mut self, now: Time, flow: FlowId, header: &mut PdqHeader) {
        let held = self.remove(flow);
        if header.paused_by != 0 && header.paused_by != self.number {
            return;
        }
        let answers = header.message == Message::Answer;
        let mut entry = Entry {
            flow,
            deadline_us: header.deadline_us,
            expected_ns: header.expected_ns,
            rtt_ns: header.rtt_ns,
            rate: WireRate::ZERO,
            agreed: answers,
            let_go: now,
            asked: now,
            expires: now,
        };
        self.list.sort_unstable_by_key(|other| other.criticality(now));
        let place = self.list.partition_point(|other| other.criticality(now) < entry.criticality(now));
        if place >= self.params.list_length() {
            // Its request passes once; its answer does not count again.
            self.outside[0] += u32::from(!answers);
            let rate = self.outside_rate(answers);
            return self.decide(rate, header);
        }
        let rate = self.worthwhile(self.available(place, answers)).min(header.rate);
        let sending = held.filter(|entry| entry.rate > WireRate::ZERO);
        if let Some(held) = sending {
            (entry.agreed, entry.let_go) = (answers || held.agreed, held.let_go);
        }
        if rate > WireRate::ZERO && (sending.is_some() || answers || !self.damped(now)) {
            entry.rate = rate;
        }
        self.decide(entry.rate, header);
        let patience = 2.0 * self.params.probing_gap(place) * f64::from(header.rtt_ns) * 1e-9;
        entry.expires = now + self.refresh.max(Time::from_secs_f64(patience));
        self.list.insert(place, entry);
        self.list.truncate(self.params.list_length());
    }

    /// Writes what the port grants: a rate, or a pause.
    fn decide(&self, rate: WireRate, header: &mut PdqHeader) {
        header.rate = header.rate.min(rate);
        header.paused_by = if rate == WireRate::ZERO { self.number } else { 0 };
    }

    /// Flows beyond the list share what it leaves (§3.3.1: "RCP").
    fn outside_rate(&self, agreed: bool) -> WireRate {
        let flows = u64::from(self.outside[0].max(self.outside[1]).max(1));
        let listed = self.list.iter().filter(|entry| entry.agreed || !agreed);
        let granted: u64 = listed.map(|entry| entry.rate.bps()).sum();
        self.worthwhile(self.capacity.saturating_sub(granted) / flows)
    }

    /// The answer comes back (§3.3.1, algorithm 3): what the whole way has decided is written down. A flow that was not
    /// decided on here for good is now; it is not dampened, since the paper's ports hear of it too late to pause it.
    ///
    /// So some flow always sends. Who comes back is held back only by flows that have come back before, and those
    /// send unless a port nearer to their sender holds them back: at a sender's own port nobody is, so at the next
    /// nobody is for long, and so on. Nor is anybody on the way out for long, by who cannot come back.
    fn answer(&mut self, now: Time, flow: FlowId, header: &mut PdqHeader) {
        if header.paused_by != 0 {
            if header.paused_by != self.number {
                self.remove(flow);
            } else if self.find(flow).is_none() {
                // Who waits for a place on the list is behind all of it; more than one in a round trip would not be let on.
                header.place = u8::MAX;
            }
        } else if !self.agrees(flow) {
            self.request(now, flow, header);
        }
        if let Some(at) = self.find(flow) {
            self.list[at].rate = header.rate;
            header.place = header.place.max(at.try_into().unwrap_or(u8::MAX));
        }
    }
}

impl Router<PdqHeader> for PdqRouter {
    const REVERSE: bool = true;

    #[inline]
    fn on_arrival(&mut self, now: Time, packet: &mut Packet<PdqHeader>, backlog: Bytes) {
        match packet.header.message {
            Message::Request => {
                self.control(now, backlog);
                self.request(now, packet.flow, &mut packet.header);
            }
            Message::End => {
                self.remove(packet.flow);
            }
            _ => {}
        }
    }

    #[inline]
    fn on_reverse(&mut self, now: Time, packet: &mut Packet<PdqHeader>) {
        if packet.header.message == Message::Answer {
            self.answer(now, packet.flow, &mut packet.header);
        }
    }
}
