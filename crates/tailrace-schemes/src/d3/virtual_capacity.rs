//! How much of its link a port may grant: less while its queue stands, the whole again when the link is idle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Bytes, ParamError, Rate, Time};

/// How a port's grants follow the use of its link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CapacityParams {
    /// Share of the unused capacity that is added to the virtual capacity each round trip.
    pub gain: f64,
    /// Share of the queue that is taken from what is granted in a round trip.
    pub drain: f64,
}

impl Default for CapacityParams {
    fn default() -> Self {
        CapacityParams { gain: 0.1, drain: 1.0 }
    }
}

impl CapacityParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(ParamError::new("gain", format!("{} must be above 0 and at most 1", self.gain)));
        }
        if !(self.drain >= 0.0 && self.drain.is_finite()) {
            return Err(ParamError::new("drain", format!("{} must be 0 or more", self.drain)));
        }
        Ok(())
    }
}

/// The capacity that a port grants from: `C_v ← C_v + a·(C − u/T) − b·q/T`, between 0 and C, with `u` the bytes
/// that arrived in T and `q` the queue (Wilson et al., SIGCOMM 2011, §4.3).
///
/// It is brought up to date when a request needs it, not by a timer: T is the interval, or the time since the
/// last request if that is longer.
#[derive(Clone, Copy, Debug)]
pub struct VirtualCapacity {
    params: CapacityParams,
    interval: Time,
    link_bps: f64,
    bps: f64,
    since: Time,
    arrived: u64,
}

impl VirtualCapacity {
    /// That of a link; `interval` is the round trip.
    pub fn new(params: &CapacityParams, link: Rate, interval: Time) -> Self {
        let link_bps = link.as_bps() as f64;
        VirtualCapacity { params: *params, interval, link_bps, bps: link_bps, since: Time::ZERO, arrived: 0 }
    }

    /// A packet has arrived at the port.
    #[inline]
    pub fn arrive(&mut self, bytes: u16) {
        self.arrived += u64::from(bytes);
    }

    /// What may be granted in all at `now`, in bit/s, with so much in the queue.
    #[inline]
    pub fn at(&mut self, now: Time, backlog: Bytes) -> u64 {
        let elapsed = now.saturating_sub(self.since);
        if elapsed >= self.interval {
            self.update(elapsed, backlog);
            self.since = now;
            self.arrived = 0;
        }
        self.bps as u64
    }

    fn update(&mut self, elapsed: Time, backlog: Bytes) {
        let (elapsed, interval) = (elapsed.as_secs_f64(), self.interval.as_secs_f64());
        let unused = self.link_bps - self.arrived as f64 * 8.0 / elapsed;
        // As many steps as intervals have passed, but never more than all that is unused.
        let gain = (self.params.gain * elapsed / interval).min(1.0);
        let queue = self.params.drain * backlog.as_f64() * 8.0 / interval;
        self.bps = (self.bps + gain * unused - queue).clamp(0.0, self.link_bps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_us(100);
    /// Bytes that 10 Gbps carry in a round trip.
    const BDP: u64 = 125_000;

    fn capacity() -> VirtualCapacity {
        VirtualCapacity::new(&CapacityParams::default(), Rate::from_gbps(10), RTT)
    }

    fn carry(capacity: &mut VirtualCapacity, bytes: u64) {
        (0..bytes / 500).for_each(|_| capacity.arrive(500));
    }

    #[test]
    fn a_full_link_without_queue_is_granted_whole() {
        let mut capacity = capacity();
        for round in 1..20 {
            carry(&mut capacity, BDP);
            assert_eq!(capacity.at(RTT * round, Bytes::ZERO), 10_000_000_000);
        }
    }

    #[test]
    fn a_queue_of_a_tenth_is_taken_off_and_idle_capacity_returns_by_tenths() {
        let mut capacity = capacity();
        carry(&mut capacity, BDP);
        assert_eq!(capacity.at(RTT, Bytes::new(BDP / 10)), 9_000_000_000);
        // Nothing happens within a round trip.
        assert_eq!(capacity.at(RTT + Time::from_us(99), Bytes::new(BDP)), 9_000_000_000);
        carry(&mut capacity, BDP / 2);
        assert!(capacity.at(RTT * 2, Bytes::ZERO).abs_diff(9_500_000_000) <= 1);
        assert_eq!(capacity.at(RTT * 3, Bytes::ZERO), 10_000_000_000);
    }

    #[test]
    fn a_long_pause_restores_all() {
        let mut capacity = capacity();
        carry(&mut capacity, BDP * 2);
        assert_eq!(capacity.at(RTT, Bytes::new(BDP)), 0);
        assert_eq!(capacity.at(RTT * 11, Bytes::ZERO), 10_000_000_000);
    }
}
