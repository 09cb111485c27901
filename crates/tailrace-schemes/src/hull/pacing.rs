//! The pacer in a host's network card (§4): flows that hear of congestion share a token bucket, whose rate follows
//! what they send; all others pass it by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{
    Bytes, FlowId, HEADER_BYTES, MTU_BYTES, Packet, PacketKind, ParamError, PortPolicy, Rate, Time,
};
use tailrace_queues::MultiQueue;
use tailrace_transport::Pacer;

/// Queues of a card: what passes, and what is paced.
pub(super) const QUEUES: u8 = 2;
const PASSES: u8 = 0;
const PACED: u8 = 1;

/// Bit/s at which the bucket fills at least: the rate follows arrivals, and there may have been none for long.
const MIN_RATE: f64 = 1e6;

/// Parameters of pacers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacerParams {
    /// Whether hosts pace at all.
    pub enabled: bool,
    /// Time between two looks at the rate (T_r).
    pub interval: Time,
    /// Weight η of the newest interval in the rate.
    pub gain: f64,
    /// What the rate grows by an interval for each bit that waits (β), in 1/s at 1 Gbps; as much more as the link is faster.
    pub backlog_gain: f64,
    /// Bytes that the bucket holds.
    pub bucket: Bytes,
    /// A flow is paced from one in so many of the host's marked acknowledgements on (1/p_a).
    pub marks_per_flow: u32,
    /// For how long (T_i).
    pub keep: Time,
}

impl Default for PacerParams {
    fn default() -> Self {
        PacerParams {
            enabled: true,
            interval: Time::from_us(64),
            gain: 0.125,
            backlog_gain: 16.0,
            bucket: Bytes::new(3_000),
            marks_per_flow: 8,
            keep: Time::from_ms(10),
        }
    }
}

impl PacerParams {
    pub(super) fn check(&self) -> Result<(), ParamError> {
        let fail = |field, message: String| Err(ParamError::new(field, message));
        if self.interval < Time::from_us(1) {
            return fail("interval", format!("{} must be 1us at least, such as 64us", self.interval));
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return fail("gain", format!("{} must be above 0 and at most 1", self.gain));
        }
        if !(self.backlog_gain > 0.0 && self.backlog_gain <= 1e6) {
            let message =
                format!("{} must be above 0, or what waits would stay, up to 1e6", self.backlog_gain);
            return fail("backlog_gain", message);
        }
        let (least, most) = (Bytes::new(MTU_BYTES.into()), Bytes::new(1_000_000));
        if !(least..=most).contains(&self.bucket) {
            return fail("bucket", format!("{} must be from {least}, a packet, to {most}", self.bucket));
        }
        if self.marks_per_flow == 0 {
            return fail("marks_per_flow", "is 0, but must be 1 at least".to_owned());
        }
        Ok(())
    }
}

/// The pacer of a host.
#[derive(Clone, Debug)]
pub struct Pacing {
    params: PacerParams,
    bucket: Pacer,
    /// Of the card's link, and R, both in bit/s.
    link: f64,
    rate: f64,
    next_turn: Time,
    /// Bytes that have come to be paced since the last look at the rate.
    arrived: u64,
    /// Bytes that wait, as of the last departure, and what has come since.
    waiting: u64,
    /// Marked acknowledgements.
    marks: u32,
    /// Flows that are paced, by number, and until when.
    flows: Vec<(FlowId, Time)>,
}

impl Pacing {
    /// A pacer that paces no flow yet; `params` must have passed their check.
    pub fn new(params: &PacerParams, link: Rate) -> Self {
        let mut pacing = Pacing {
            params: *params,
            bucket: Pacer::default(),
            link: link.as_bps() as f64,
            rate: 0.0,
            next_turn: params.interval,
            arrived: 0,
            waiting: 0,
            marks: 0,
            flows: Vec::new(),
        };
        pacing.set_rate(pacing.link);
        pacing
    }

    /// The rate R of the bucket, in bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.max(MIN_RATE);
        let spare = (self.params.bucket.get() as u32).saturating_sub(MTU_BYTES.into());
        self.bucket.set(Some(Rate::from_bps(self.rate as u64)), spare);
    }

    /// An acknowledgement has come: of those with a mark every so many has its flow paced from now on.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: &Packet) {
        if ack.kind() == PacketKind::AckMarked {
            self.marks += 1;
            if self.marks >= self.params.marks_per_flow {
                self.marks = 0;
                self.associate(now, ack.flow);
            }
        }
    }

    fn associate(&mut self, now: Time, flow: FlowId) {
        let until = now.saturating_add(self.params.keep);
        match self.flows.binary_search_by_key(&flow, |&(flow, _)| flow) {
            Ok(place) => self.flows[place].1 = until,
            Err(place) => self.flows.insert(place, (flow, until)),
        }
    }

    /// A packet comes to the card.
    #[inline]
    pub(super) fn on_arrival(&mut self, packet: &mut Packet) {
        let is_paced = !packet.is_ack()
            && packet.bytes > HEADER_BYTES
            && self.flows.binary_search_by_key(&packet.flow, |&(flow, _)| flow).is_ok();
        packet.priority = if is_paced { PACED } else { PASSES };
        if is_paced {
            self.arrived += u64::from(packet.bytes);
            self.waiting += u64::from(packet.bytes);
        }
    }

    /// When the next packet may leave: at once if it is not paced.
    #[inline]
    pub(super) fn next_ready(&self, now: Time, queues: &MultiQueue) -> Time {
        if queues.holds(PASSES) {
            return now;
        }
        self.bucket.next().unwrap_or(now).max(now)
    }

    /// A packet leaves; its mark of being paced stays behind.
    #[inline]
    pub(super) fn on_departure(&mut self, now: Time, packet: &mut Packet, queues: &MultiQueue) {
        if packet.priority == PACED {
            self.bucket.leave(now, packet.bytes);
            packet.priority = PASSES;
        }
        self.waiting = (queues.backlog() - queues.backlog_of(PASSES)).get();
    }

    pub(super) fn next_turn(&self) -> Time {
        self.next_turn
    }

    /// R ← (1 − η)·R + η·M/T_r + β·Q, and flows whose time is over are forgotten, unless their packets might overtake
    /// those that wait. When none is left R is the link's rate, from which it comes down to what the next ones send.
    pub(super) fn end_turn(&mut self, now: Time) {
        let PacerParams { gain, backlog_gain, interval, .. } = self.params;
        let arrived = self.arrived as f64 * 8.0 / interval.as_secs_f64();
        let relief = backlog_gain * self.link / 1e9 * self.waiting as f64 * 8.0;
        self.set_rate((1.0 - gain) * self.rate + gain * arrived + relief);
        self.arrived = 0;
        self.next_turn = now + interval;
        if self.waiting == 0 {
            self.flows.retain(|&(_, until)| now < until);
            if self.flows.is_empty() {
                self.set_rate(self.link);
            }
        }
    }
}
