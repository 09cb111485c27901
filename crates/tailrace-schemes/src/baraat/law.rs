//! Baraat's sender: demands what it can use, sends at what it is granted (Baraat §4.3.3).

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, FlowInfo, FlowView, HEADER_BYTES, Header, Loss, Rate,
    Segment, Time,
};
use tailrace_transport::{Ask, Message, Requests};

use super::header::{BaraatHeader, Index};
use super::scale::{Grains, bps_of, grains_in};

/// The range of task numbers for background services, whose tasks come after all others (§4.1): those of flows
/// without a task, each of which is its own.
pub const BACKGROUND: u32 = 1 << 31;

/// Round trips by which a flow gives notice of its end.
const NOTICE: f64 = 2.0;

/// A flow ends soon that has no more than so many round trips to send.
const SOON: f64 = 1.5;

/// Headers without data take at most this part of a flow's share (an eighth).
const OVERHEAD: u64 = 8;
/// Where ports would forget who asks as seldom as that, so many times as much, half of a share.
const MAX_OVERHEAD: u64 = 4;

/// One flow.
#[derive(Clone, Copy, Debug)]
pub struct BaraatLaw {
    requests: Requests<BaraatHeader>,
    /// It counts in no shorter round trips.
    least_round: Time,
    /// Ports forget who does not ask for longer than a few of these.
    patience: Time,
    size: Option<Bytes>,
    transport: TransportParams,
    nic: Rate,
    /// What ports have counted of this flow: the last answer. Its task is the flow's at any time.
    answer: BaraatHeader,
    /// Nothing while the flow waits for its turn.
    pacing: Rate,
    /// Below this offset, what is not delivered may have to be sent again.
    repair_until: Bytes,
}

impl BaraatLaw {
    /// The law of a flow whose host's link has rate `nic`, and of which ports want to hear once in `patience`. Ports count in
    /// unloaded round trips, or in longer `rounds`.
    pub fn new(
        flow: &FlowInfo,
        nic: Rate,
        [base_rtt, rounds]: [Time; 2],
        patience: Time,
        transport: &TransportParams,
    ) -> Self {
        let task = if flow.task > 0 { flow.task } else { BACKGROUND | flow.id };
        BaraatLaw {
            requests: Requests::new(rounds),
            // Those of headers, which are shorter than packets, take a little less.
            least_round: if rounds > base_rtt { rounds } else { Time::ZERO },
            patience,
            size: flow.size,
            transport: *transport,
            nic,
            answer: BaraatHeader { task, ..BaraatHeader::NONE },
            pacing: Rate::from_bps(0),
            repair_until: Bytes::ZERO,
        }
    }

    /// The round trip that the flow counts in.
    fn round(&self) -> Time {
        self.requests.rtt().max(self.least_round)
    }

    /// What ports have counted of the flow.
    pub fn answer(&self) -> &BaraatHeader {
        &self.answer
    }

    /// Bits on the wire that are to be sent, if the size is known.
    fn unsent_bits(&self, flow: &FlowView) -> Option<f64> {
        let sent = if flow.acked < self.repair_until { flow.delivered } else { flow.sent };
        let mss = f64::from(self.transport.mss);
        Some(self.size?.saturating_sub(sent).as_f64() * 8.0 * (mss + f64::from(HEADER_BYTES)) / mss)
    }

    /// Algorithm 2, line 2: what the network card carries, or what is left of the data, in a round trip. Ports hear
    /// of it after half a round trip, on the way; whoever waits for this flow's end asks half a one later on the mean, and
    /// what it then sends arrives after a whole one: what leaves meanwhile is not asked for any more. (PDQ's early start.)
    fn most(&self, flow: &FlowView) -> Grains {
        let nic = self.nic.as_bps();
        let Some(rate) = self.left(flow) else { return grains_in(nic) };
        // Where round trips are long, a short flow could use less than a grain; who has nothing must not ask for nothing.
        let least = self.pacing.as_bps() == 0 && rate > 0.0;
        grains_in(nic.min(rate as u64)).max(Grains::from(least))
    }

    /// What is left to send in a round trip, without what leaves before the next task can use the link.
    fn left(&self, flow: &FlowView) -> Option<f64> {
        let ahead = NOTICE * self.pacing.as_bps() as f64;
        self.unsent_bits(flow).map(|bits| (bits / self.round().as_secs_f64() - ahead).max(0.0))
    }

    /// Whether that is what the card sends in one, or little more: the half of one in which nobody has heard yet of the flow's end is
    /// then much of the time that it takes.
    fn ends_soon(&self, flow: &FlowView) -> bool {
        self.left(flow).is_some_and(|rate| rate < SOON * self.nic.as_bps() as f64)
    }

    /// Algorithm 2, line 4: no more than the bottleneck leaves. It needs no δ more, so as to notice when that is more:
    /// the bottleneck counts `most`.
    fn demand(&self, most: Grains) -> Grains {
        if self.is_told_all() { most } else { most.min(self.answer.nominal()) }
    }

    /// Whether no port's class leaves the flow less than it could use.
    fn is_told_all(&self) -> bool {
        self.answer.nominal() >= self.answer.most()
    }

    fn ask(&mut self, now: Time, flow: &FlowView) -> BaraatHeader {
        let task = self.answer.task;
        if self.requests.ask(now) == Ask::Again {
            // What ports have counted for this flow is not known.
            self.answer = BaraatHeader { task, ..BaraatHeader::NONE };
            self.pacing = Rate::from_bps(0);
        }
        let most = self.most(flow);
        let index = Index::new(0, self.ends_soon(flow));
        BaraatHeader { index, ..self.answer.next_request(self.demand(most), most) }
    }

    /// Whether it is known what ports have counted of the flow, and that is something.
    fn is_counted(&self) -> bool {
        !self.requests.is_waiting() && self.answer.index.ports() > 0
    }

    /// The end of the flow, on its last segment: what ports keep for it is then for others. If that segment is lost, it is sent
    /// again as it was.
    fn leave(&mut self) -> BaraatHeader {
        let task = self.answer.task;
        std::mem::replace(&mut self.answer, BaraatHeader { task, ..BaraatHeader::NONE }).farewell()
    }

    /// Takes over what is granted. Who is granted all that was of use need not slow down: if that was less than before,
    /// so is what is left to send.
    fn obey(&mut self, answer: &BaraatHeader) {
        self.answer = *answer;
        let granted = answer.actual();
        let at_least = if granted < answer.most() { 0 } else { self.pacing.as_bps() };
        self.pacing = Rate::from_bps(bps_of(granted).max(at_least));
    }

    /// How long after an answer a header without data asks again, if no data does before. Many flows that share a link
    /// would otherwise fill it with requests, whose round trip can be shorter than the time that all of them take. Who has to
    /// wait for others is told how long.
    fn pause(&self) -> Time {
        let rtt = self.round();
        if self.carries_requests() {
            return rtt;
        }
        let nominal = bps_of(self.answer.nominal());
        if nominal == 0 {
            // Others wait for what is kept for it elsewhere: it gives that back first.
            if self.answer.is_kept() {
                return Time::ZERO;
            }
            // Ports count unloaded round trips. By its own, who asks when many do would sleep on when it is its turn.
            let rounds = (self.answer.rounds_to_wait() - 1.0).max(0.0);
            return Time::from_secs_f64(self.requests.base_rtt().as_secs_f64() * rounds);
        }
        let header = Bytes::new(u64::from(HEADER_BYTES + BaraatHeader::WIRE_BYTES));
        let rate = self.pacing.as_bps().max(nominal);
        let cycle = Rate::from_bps(rate).time_for(header) * OVERHEAD;
        let has_nothing = self.pacing.as_bps() == 0;
        if has_nothing && self.is_told_all() {
            // Its class is not short, and others give back what they have too much within a round trip. All may be next to
            // nothing, at which a header takes dozens of them.
            return cycle.saturating_sub(rtt).min(rtt);
        }
        // Who has nothing may be forgotten.
        let longest = if has_nothing { Time::MAX } else { self.patience };
        let least = Time::from_ps(cycle.as_ps() / MAX_OVERHEAD);
        cycle.min(longest).max(least).saturating_sub(rtt)
    }

    /// Whether data leaves soon enough to carry the next request.
    fn carries_requests(&self) -> bool {
        let packet = f64::from(self.transport.mss + HEADER_BYTES) * 8.0;
        self.pacing.as_bps() as f64 * self.round().as_secs_f64() > 4.0 * packet
    }
}

impl CongestionLaw<BaraatHeader> for BaraatLaw {
    #[inline]
    fn stamp(&mut self, now: Time, segment: &Segment, flow: &FlowView) -> BaraatHeader {
        let header = match self.requests.taken_back() {
            Some(end) => end,
            None if segment.last && self.is_counted() => self.leave(),
            None if self.requests.wanted(now) => self.ask(now, flow),
            None => BaraatHeader::NONE,
        };
        if segment.last {
            self.requests.rest();
        }
        header
    }
    #[inline]
    fn on_feedback(&mut self, now: Time, rtt: Time, echo: &BaraatHeader, flow: &FlowView) {
        self.requests.sample(rtt);
        if echo.message == Message::Answer && !self.requests.awaits(now, rtt) {
            self.requests.take_back(echo.farewell());
        } else if echo.message == Message::Answer {
            self.obey(echo);
            self.requests.answered(now, self.pause());
            if self.unsent_bits(flow) == Some(0.0) {
                self.requests.rest();
            }
        }
    }
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, now: Time, _: Loss, flow: &FlowView) {
        self.repair_until = flow.sent;
        self.requests.resume(now);
    }
    #[inline]
    fn allowance(&self) -> Allowance {
        if self.pacing.as_bps() == 0 {
            return Allowance { window: Bytes::ZERO, pacing: None };
        }
        let window = u64::from(self.transport.max_window) * u64::from(self.transport.mss);
        Allowance { window: Bytes::new(window), pacing: Some(self.pacing) }
    }
    #[inline]
    fn probe_at(&self) -> Time {
        self.requests.due()
    }
    fn probe(&mut self, now: Time, flow: &FlowView) -> BaraatHeader {
        self.requests.taken_back().unwrap_or_else(|| self.ask(now, flow))
    }
    /// What a request under way has moved, its flow's end must not take again: it is forgotten in time. Flows of unknown
    /// size may end so, and others after losses.
    fn farewell(&mut self, _: Time) -> Option<BaraatHeader> {
        self.is_counted().then(|| self.answer.farewell())
    }
}
