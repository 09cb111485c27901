//! A phantom queue: a counter that fills with what leaves a port and drains more slowly than the link (§3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Packet, ParamError, QueueLength, Rate, Time};
use tailrace_queues::MarkingThreshold;

/// Parameters of phantom queues.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhantomParams {
    /// The part γ of its link's rate at which a phantom queue drains. The rest is given up.
    pub drain: f64,
    /// Packets are marked that leave a phantom queue longer than this, themselves included.
    pub marking_threshold: MarkingThreshold,
}

impl Default for PhantomParams {
    /// 8 µs of a link, as 1 KB is at 1 Gbps.
    fn default() -> Self {
        let threshold =
            |gbps: u64| (Rate::from_gbps(gbps), QueueLength::Bytes(tailrace_core::Bytes::new(gbps * 1_000)));
        let by_rate = [1, 10, 25, 40, 100].map(threshold).into();
        PhantomParams { drain: 0.95, marking_threshold: MarkingThreshold::ByRate(by_rate) }
    }
}

impl PhantomParams {
    pub(super) fn check(&self) -> Result<(), ParamError> {
        if !(self.drain > 0.0 && self.drain <= 1.0) {
            let message = format!("{} must be above 0 and at most 1, such as 0.95", self.drain);
            return Err(ParamError::new("drain", message));
        }
        self.marking_threshold.check()
    }
}

/// The phantom queue of a port.
#[derive(Clone, Copy, Debug)]
pub struct Phantom {
    bytes: f64,
    /// Bytes a picosecond.
    drain: f64,
    threshold: f64,
    /// When the last packet left.
    at: Time,
    marked: u64,
}

impl Phantom {
    /// An empty one; `params` must have passed their check.
    pub fn new(params: &PhantomParams, link: Rate) -> Self {
        Phantom {
            bytes: 0.0,
            drain: params.drain * link.bytes_per_sec() / 1e12,
            threshold: params.marking_threshold.at(link).bytes().as_f64(),
            at: Time::ZERO,
            marked: 0,
        }
    }

    /// A packet leaves the port.
    #[inline]
    pub fn on_departure(&mut self, now: Time, packet: &mut Packet) {
        let drained = now.saturating_sub(self.at).as_ps() as f64 * self.drain;
        self.bytes = (self.bytes - drained).max(0.0) + f64::from(packet.bytes);
        self.at = now;
        if self.bytes > self.threshold {
            self.marked += u64::from(packet.mark());
        }
    }

    /// Packets that it has marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }
}
