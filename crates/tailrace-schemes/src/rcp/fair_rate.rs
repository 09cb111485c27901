//! RCP's fair rate without knowing flows: it grows while the link is not used and shrinks while a queue stands
//! (Dukkipati et al., IWQoS 2005, equation 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Bytes, MTU_BYTES, ParamError, Rate, Time};

/// How the fair rate moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateParams {
    /// α: share of the unused capacity that is given away in a round trip.
    pub alpha: f64,
    /// β: share of the queue that is taken back in a round trip.
    pub beta: f64,
    /// The first rate, as a share of the link.
    pub initial_rate: f64,
    /// The rate moves once a mean round trip, but at least so often.
    pub slot: Time,
}

impl Default for RateParams {
    fn default() -> Self {
        RateParams { alpha: 0.4, beta: 0.4, initial_rate: 0.05, slot: Time::from_ms(10) }
    }
}

/// Idle time is walked through slot by slot.
const MIN_SLOT: Time = Time::from_us(1);

impl RateParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        for (field, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(value > 0.0 && value <= 10.0) {
                return Err(ParamError::new(field, format!("{value} must be above 0 and at most 10")));
            }
        }
        if !(self.initial_rate > 0.0 && self.initial_rate <= 1.0) {
            let message = format!("{} must be above 0 and at most 1", self.initial_rate);
            return Err(ParamError::new("initial_rate", message));
        }
        if self.slot < MIN_SLOT {
            let message = format!("{}: the rate moves once a slot, {MIN_SLOT} at least", self.slot);
            return Err(ParamError::new("slot", message));
        }
        Ok(())
    }
}

/// The fair rate of one link. It moves when a packet arrives after its time has come: between, nothing needs it.
#[derive(Clone, Copy, Debug)]
pub struct FairRate {
    params: RateParams,
    link_bps: f64,
    bps: f64,
    /// d₀: the mean round-trip time, in seconds.
    rtt: f64,
    span: Time,
    ends: Time,
    /// Bytes that arrived in this span, and those of them that told a round-trip time.
    arrived: u64,
    told: u64,
    /// Sum of round-trip times in ns, each by the bytes of its packet.
    rtt_sum: f64,
}

impl FairRate {
    /// That of an idle link.
    pub fn new(params: &RateParams, link: Rate, base_rtt: Time) -> Self {
        let link_bps = link.as_bps() as f64;
        let span = base_rtt.min(params.slot);
        FairRate {
            params: *params,
            link_bps,
            bps: params.initial_rate * link_bps,
            rtt: base_rtt.as_secs_f64(),
            span,
            ends: span,
            arrived: 0,
            told: 0,
            rtt_sum: 0.0,
        }
    }

    /// In bit/s.
    pub fn bps(&self) -> u64 {
        self.bps as u64
    }

    /// A packet has arrived; if it tells, with its sender's round-trip time.
    #[inline]
    pub fn arrive(&mut self, now: Time, bytes: u16, rtt_ns: Option<u32>, backlog: Bytes) {
        if now >= self.ends {
            self.update(now, backlog);
        }
        self.arrived += u64::from(bytes);
        if let Some(rtt) = rtt_ns {
            self.told += u64::from(bytes);
            self.rtt_sum += f64::from(rtt) * f64::from(bytes);
        }
    }

    #[cold]
    fn update(&mut self, now: Time, backlog: Bytes) {
        self.average();
        self.step(self.arrived as f64 * 8.0, backlog.as_f64() * 8.0);
        (self.arrived, self.told, self.rtt_sum) = (0, 0, 0.0);
        // Spans in which nothing arrived.
        let mut begins = self.ends;
        while begins + self.span <= now {
            self.step(0.0, 0.0);
            begins = if self.bps < self.link_bps { begins + self.span } else { now };
        }
        self.span = Time::from_secs_f64(self.rtt).min(self.params.slot).max(Time::from_ps(1));
        self.ends = begins + self.span;
    }

    /// The mean follows longer round trips at once, shorter ones only as far as the link is used (rcp.cc).
    fn average(&mut self) {
        if self.told > 0 {
            let sample = self.rtt_sum / self.told as f64 * 1e-9;
            let share = self.span.as_secs_f64() / self.rtt;
            let gain =
                if sample >= self.rtt { share } else { self.bps / self.link_bps * sample / self.rtt * share };
            self.rtt += gain.min(1.0) * (sample - self.rtt);
        }
    }

    /// `R ← R·(1 + T/d₀·(α·(C − y/T) − β·q/d₀)/C)`, at least a packet a round trip.
    fn step(&mut self, arrived_bits: f64, queued_bits: f64) {
        let span = self.span.as_secs_f64();
        let spare = self.params.alpha * (self.link_bps - arrived_bits / span);
        let change = (spare - self.params.beta * queued_bits / self.rtt) / self.link_bps;
        let least = (f64::from(MTU_BYTES) * 8.0 / self.rtt).min(self.link_bps);
        self.bps = (self.bps * (1.0 + span / self.rtt * change)).clamp(least, self.link_bps);
    }
}
