//! A tunnel: one weighted DCTCP-like controller for all flows of a slice from one host to another, on what all
//! their acknowledgements say together (Uranus §2.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{AckSample, Bytes, HEADER_BYTES, ParamError, Rate, Time, Weight};

use crate::dctcp::LawParams;

/// Parameters of tunnels and of what is between them and guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TunnelParams {
    /// How a tunnel estimates the marked share α of all that its flows send.
    pub law: LawParams,
    /// Guests see marks too. They then give way by themselves, and weights are not kept.
    pub show_marks: bool,
}

impl TunnelParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        self.law.check().map_err(|e| e.within("law"))
    }
}

/// Packets that a flow's limiter lets through a round trip at least: one in so many. What has next to no weight
/// must hear of better times before it has sent its next packet at the worst rate.
const PATIENCE: f64 = 64.0;
/// W_T at least, in packets: limiters can keep to less than one a round trip.
const MIN_WINDOW: f64 = 0.125;
/// Bit/s that a limiter lets through at least, whatever the round trip: a packet of any size a minute.
const MIN_RATE: u64 = 10_000;

/// The state of a tunnel.
#[derive(Clone, Debug)]
pub struct Tunnel {
    gain: f64,
    alpha: f64,
    /// W_T, in segments.
    window: f64,
    most: f64,
    mss: f64,
    slow_start: bool,
    /// Round-trip time over all its flows, each sample half of it: a tunnel has few packets in a round trip, and a
    /// rate that lags behind the queue swings.
    srtt: Option<Time>,
    /// In this round trip: what was acknowledged, what of it was marked, and what of it counts for growth.
    acked: Bytes,
    marked: Bytes,
    credit: Bytes,
    /// A round trip is over when something sent since its start is acknowledged.
    round_start: Time,
    /// When the window was last cut at once. What was sent before then tells nothing of it: no second cut, no growth.
    cut_at: Time,
    /// Whether something sent since then was acknowledged.
    heard: bool,
    /// R_T in bit/s on the wire; 0 as long as no round trip is known.
    rate: f64,
    /// Whether marks of this round are of what was sent before the last cut.
    settles: bool,
    flows: u32,
    /// Of all its flows, and of those that have something to send: sums of binary fractions, and so exact.
    weight: f64,
    busy: f64,
    /// Among what weight the rate is shared out: `busy` as of the last split.
    shared: f64,
}

/// A flow's place in its tunnel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    weight: f64,
    /// Whether everything has been sent once.
    idle: bool,
}

impl Tunnel {
    /// A tunnel without flows at `now`.
    pub fn new(params: &TunnelParams, transport: &TransportParams, now: Time) -> Self {
        Tunnel {
            gain: params.law.gain,
            alpha: params.law.initial_alpha,
            window: f64::from(transport.initial_window),
            most: f64::from(transport.max_window),
            mss: f64::from(transport.mss),
            slow_start: true,
            srtt: None,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            credit: Bytes::ZERO,
            round_start: now,
            cut_at: Time::ZERO,
            heard: true,
            rate: 0.0,
            settles: false,
            flows: 0,
            weight: 0.0,
            busy: 0.0,
            shared: 0.0,
        }
    }

    /// W_T, in segments.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The estimate α_T of the marked share.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// w_T: what its flows weigh together.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Whether no flow is in it.
    pub fn is_empty(&self) -> bool {
        self.flows == 0
    }

    /// A flow joins. Until the controller has spoken of it, it weighs as much as the others on average, or
    /// `alone` if there are none.
    pub fn join(&mut self, alone: Weight) -> Member {
        let mean = || Weight::nearest(self.weight / f64::from(self.flows));
        let weight = if self.is_empty() { alone } else { mean() }.get();
        self.flows += 1;
        self.weight += weight;
        self.busy += weight;
        self.shared = self.busy;
        Member { weight, idle: false }
    }

    /// A flow has a new weight. The window stays.
    pub fn weigh(&mut self, member: &mut Member, weight: Weight) {
        self.remove(member);
        member.weight = weight.get();
        self.weight += member.weight;
        self.busy += if member.idle { 0.0 } else { member.weight };
        self.shared = self.busy;
    }

    /// A flow leaves; the others have its share at once.
    pub fn leave(&mut self, member: &Member) {
        self.remove(member);
        self.flows -= 1;
        self.shared = self.busy;
    }

    fn remove(&mut self, member: &Member) {
        self.weight -= member.weight;
        self.busy -= if member.idle { 0.0 } else { member.weight };
    }

    /// R_T = W_T·MSS/srtt_T, with headers.
    fn set_rate(&mut self) {
        let bits = self.window * (self.mss + f64::from(HEADER_BYTES)) * 8.0;
        self.rate = self.srtt.map_or(0.0, |srtt| bits * 1e12 / srtt.as_ps() as f64);
    }

    /// Data of one of its flows was acknowledged.
    #[inline]
    pub fn on_ack(&mut self, member: &mut Member, ack: &AckSample) {
        if member.idle != ack.app_limited {
            member.idle = ack.app_limited;
            self.busy += if member.idle { -member.weight } else { member.weight };
        }
        let srtt = self.srtt.map_or(ack.rtt, |srtt| Time::from_ps((srtt.as_ps() + ack.rtt.as_ps()) / 2));
        self.srtt = Some(srtt.max(Time::from_ps(1)));
        self.set_rate();
        self.acked += ack.acked;
        self.marked += ack.marked;
        let sent = ack.now.saturating_sub(ack.rtt);
        let is_fresh = sent >= self.cut_at;
        self.heard |= is_fresh;
        if is_fresh && ack.marked == Bytes::ZERO {
            self.credit += ack.acked;
        }
        if sent >= self.round_start {
            self.end_round(ack.now);
        }
        if self.slow_start && ack.marked > Bytes::ZERO {
            self.cut(ack.now, 1.0 - self.alpha / 2.0);
        }
    }

    /// A loss of one of its flows: half of the window, as TCP does, once a round trip. Timeouts too: the flow's guest
    /// starts anew from one segment, the other flows have their acknowledgements.
    pub fn on_loss(&mut self, now: Time) {
        if self.heard {
            self.cut(now, 0.5);
        }
    }

    fn cut(&mut self, now: Time, share: f64) {
        self.window = (self.window * share).max(MIN_WINDOW);
        self.slow_start = false;
        self.credit = Bytes::ZERO;
        (self.cut_at, self.heard) = (now, false);
        self.set_rate();
    }

    /// Once a round trip: α ← (1 − g)·α + g·F; W_T grows by w_T, or twofold in slow start, as far as the window was used; in every
    /// second one W_T ← W_T·(1 − F/2); and the shares of flows that have nothing left to send go to the others.
    ///
    /// By F, not by α in rounds with a mark: a window of two packets has one mark in many rounds where one of twenty has some in
    /// each, so that windows would go with the root of the weight; and α would cut for many rounds after the last mark. In every
    /// second one, since what comes in the next was sent before the cut.
    fn end_round(&mut self, now: Time) {
        let marked = if self.acked > Bytes::ZERO { self.marked.as_f64() / self.acked.as_f64() } else { 0.0 };
        if self.acked > Bytes::ZERO {
            self.alpha += self.gain * (marked - self.alpha);
        }
        // More than twice the window is of an older and larger one.
        let used = (self.credit.as_f64() / self.mss).min(2.0 * self.window);
        let change = match self.slow_start {
            true => used,
            false => {
                let counts = self.heard && !self.settles;
                let cut = if counts { self.window * marked / 2.0 } else { 0.0 };
                self.settles = !self.settles;
                self.weight * used / self.window - cut
            }
        };
        self.window = (self.window + change).clamp(MIN_WINDOW, self.most);
        (self.acked, self.marked, self.credit) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        self.round_start = now;
        self.shared = self.busy;
        self.set_rate();
    }

    /// What a flow's limiter lets through: R_T·w_f/Σw_f. There is none before a round trip is known: what leaves by
    /// then are first windows, as without tunnels.
    #[inline]
    pub fn limit(&self, member: &Member) -> Option<Rate> {
        let among = self.shared + if member.idle { member.weight } else { 0.0 };
        let share = (member.weight / among).max(1.0 / (self.window * PATIENCE)).min(1.0);
        (self.rate > 0.0).then(|| Rate::from_bps(((self.rate * share) as u64).max(MIN_RATE)))
    }
}
