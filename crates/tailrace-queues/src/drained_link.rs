//! How much of its link a port may grant, so that what waits drains.

use tailrace_core::{Bytes, ParamError, Rate, Time};

/// A link less a part of its queue: `C − β·q/T`, with `q` the queue and T the round trip.
///
/// What is granted too much stands in the queue, and what stands there is granted less. A round trip later it has drained, so
/// nothing has to be remembered: an integral of unused capacity, as D3 has it, swings between queue and idle link
/// where grants move from flow to flow every few round trips.
#[derive(Clone, Copy, Debug)]
pub struct DrainedLink {
    link_bps: f64,
    /// β/T, in bit/s for each byte that waits.
    bps_per_byte: f64,
}

impl DrainedLink {
    /// That of a link, which takes the part `drain` (β) of its queue off what it grants in a round trip of `interval`.
    pub fn new(drain: f64, link: Rate, interval: Time) -> Self {
        DrainedLink { link_bps: link.as_bps() as f64, bps_per_byte: drain * 8.0 / interval.as_secs_f64() }
    }

    /// Checks the range of `drain`: answers are a round trip late, beyond 1 they would overshoot.
    pub fn check(field: &'static str, drain: f64) -> Result<(), ParamError> {
        if (0.0..=1.0).contains(&drain) {
            return Ok(());
        }
        Err(ParamError::new(field, format!("{drain} must be from 0 to 1")))
    }

    /// What may be granted in all, in bit/s, with so much in the queue.
    #[inline]
    pub fn at(&self, backlog: Bytes) -> u64 {
        (self.link_bps - self.bps_per_byte * backlog.as_f64()).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_us(100);
    /// Bytes that 10 Gbps carry in a round trip.
    const BDP: u64 = 125_000;

    #[test]
    fn a_tenth_of_the_queue_is_kept_free_and_nothing_is_below_zero() {
        let link = DrainedLink::new(0.1, Rate::from_gbps(10), RTT);
        let granted = [0, BDP, BDP * 5, BDP * 11].map(|queue| link.at(Bytes::new(queue)));
        assert_eq!(granted, [10_000_000_000, 9_000_000_000, 5_000_000_000, 0]);
    }

    /// Overhead that grants do not know of, 5 % of the link, and grants that act a round trip late: the queue comes
    /// to rest where the drain makes up for it, and swings on the way there by less than it is.
    #[test]
    fn a_queue_rests_where_the_drain_makes_up_for_what_was_not_counted() {
        for drain in [0.1, 0.4, 0.9] {
            let link = DrainedLink::new(drain, Rate::from_gbps(10), RTT);
            let steps = 100;
            let (mut queue, mut granted, mut most) = (0.0_f64, vec![1.0; steps], 0.0_f64);
            for step in 0..steps * 200 {
                let answer = link.at(Bytes::new(queue as u64)) as f64 / 1e10;
                let arriving = std::mem::replace(&mut granted[step % steps], answer) + 0.05;
                queue = (queue + (arriving - 1.0) * BDP as f64 / steps as f64).max(0.0);
                most = most.max(queue);
            }
            let rest = 0.05 / drain * BDP as f64;
            assert!((queue / rest - 1.0).abs() < 0.02, "{drain}: {queue} not {rest}");
            assert!(most < 2.0 * rest, "{drain}: {most} on the way to {rest}");
        }
    }

    #[test]
    fn more_than_the_queue_is_refused() {
        assert!(DrainedLink::check("drain", 1.0).is_ok());
        let error = DrainedLink::check("drain", 1.5).unwrap_err();
        assert!(error.to_string().contains("1.5 must be from 0 to 1"), "{error}");
        assert!(DrainedLink::check("drain", f64::NAN).is_err());
    }
}
