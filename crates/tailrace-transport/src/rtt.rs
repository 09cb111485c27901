//! Round-trip time and retransmission timeout (RFC 6298), in integer picoseconds.

use tailrace_core::Time;
use tailrace_core::transport::{RtoMode, TransportParams};

/// The estimate and the timeout that follows from it.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimate {
    /// Smoothed round-trip time in ps; 0 before the first sample.
    srtt: u64,
    rttvar: u64,
    min_rto: u64,
    /// Where the mode is fixed, no longer than the shortest.
    longest_rto: u64,
    backoff: u32,
}

/// The timeout doubles at most so often: to about a thousand times what it was.
const BACKOFF_MAX: u32 = 10;

impl RttEstimate {
    /// No samples yet.
    pub fn new(params: &TransportParams) -> Self {
        let longest = match params.rto {
            RtoMode::Fixed => params.min_rto,
            RtoMode::Standard => params.longest_rto.unwrap_or(Time::MAX),
        };
        RttEstimate {
            srtt: 0,
            rttvar: 0,
            min_rto: params.min_rto.as_ps(),
            longest_rto: longest.as_ps(),
            backoff: 0,
        }
    }

    /// Takes in a sample and ends any backoff.
    #[inline]
    pub fn sample(&mut self, rtt: Time) {
        let rtt = rtt.as_ps();
        self.backoff = 0;
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            let error = self.srtt.abs_diff(rtt);
            self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
    }

    /// The timer has expired: the next timeout is twice as long, if it may be.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
    }

    /// The retransmission timeout.
    #[inline]
    pub fn rto(&self) -> Time {
        let timeout = (self.srtt + 4 * self.rttvar).max(self.min_rto) << self.backoff;
        Time::from_ps(timeout.min(self.longest_rto))
    }

    /// The smoothed round-trip time, if there is a sample.
    pub fn smoothed(&self) -> Option<Time> {
        (self.srtt > 0).then(|| Time::from_ps(self.srtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standard() -> TransportParams {
        TransportParams { min_rto: Time::from_ms(2), ..TransportParams::default() }
    }

    #[test]
    fn constant_samples_converge_to_the_minimum() {
        let mut rtt = RttEstimate::new(&standard());
        for _ in 0..100 {
            rtt.sample(Time::from_us(100));
        }
        assert_eq!(rtt.smoothed(), Some(Time::from_us(100)));
        assert_eq!(rtt.rto(), Time::from_ms(2));
    }

    #[test]
    fn first_sample_sets_three_times_itself() {
        let mut rtt = RttEstimate::new(&standard());
        rtt.sample(Time::from_ms(10));
        assert_eq!(rtt.rto(), Time::from_ms(30));
    }

    #[test]
    fn later_samples_move_the_mean_by_an_eighth_and_the_deviation_by_a_quarter() {
        let mut rtt = RttEstimate::new(&standard());
        let mut smoothed = |ms| {
            rtt.sample(Time::from_ms(ms));
            (rtt.smoothed().map(Time::as_ps), rtt.rto())
        };
        let us = |srtt: u64, rto| (Some(srtt * 1_000_000), Time::from_us(rto));
        assert_eq!(smoothed(10), us(10_000, 30_000));
        // By hand: deviations of 5, then 5 * 3/4 + 8/4, then that * 3/4 + 3/4.
        assert_eq!(smoothed(18), us(11_000, 34_000));
        assert_eq!(smoothed(14), us(11_375, 31_625));
    }

    #[test]
    fn the_timeout_is_a_thousand_times_as_long_at_most() {
        let mut rtt = RttEstimate::new(&standard());
        (0..50).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), Time::from_ms(2 * 1024));
    }

    #[test]
    fn no_timeout_is_longer_than_the_longest() {
        let longest_rto = Some(Time::from_ms(50));
        let mut rtt = RttEstimate::new(&TransportParams { longest_rto, ..standard() });
        (0..4).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), Time::from_ms(32));
        rtt.back_off();
        assert_eq!(rtt.rto(), Time::from_ms(50));
        rtt.sample(Time::from_ms(100));
        assert_eq!(rtt.rto(), Time::from_ms(50), "three times the sample");
    }

    #[test]
    fn timeouts_double_and_a_sample_resets() {
        let mut rtt = RttEstimate::new(&standard());
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), Time::from_ms(8));
        rtt.sample(Time::from_us(80));
        assert_eq!(rtt.rto(), Time::from_ms(2));
    }

    #[test]
    fn fixed_mode_never_moves() {
        let mut rtt = RttEstimate::new(&TransportParams { rto: RtoMode::Fixed, ..standard() });
        rtt.sample(Time::from_ms(50));
        rtt.back_off();
        assert_eq!(rtt.rto(), Time::from_ms(2));
    }
}
