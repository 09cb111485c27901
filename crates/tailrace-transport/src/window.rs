//! The congestion window that TCP-like laws share: slow start and additive increase (RFC 5681).

use tailrace_core::transport::TransportParams;
use tailrace_core::{Allowance, Bytes};

/// A congestion window in segments, with its slow-start threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    segments: f64,
    threshold: f64,
    max: f64,
    mss: f64,
    /// What a cut leaves at least.
    min: f64,
    /// The least threshold that a cut leaves.
    least: f64,
}

impl Window {
    /// The window of a new flow.
    pub fn new(params: &TransportParams) -> Self {
        let mss = f64::from(params.mss);
        Window {
            segments: f64::from(params.initial_window),
            threshold: f64::INFINITY,
            max: f64::from(params.max_window),
            mss,
            // Without a bound, still a byte, and one more for rounding: a flow without window would never send again.
            min: if params.min_window == 0 { (2.0 / mss).min(1.0) } else { f64::from(params.min_window) },
            least: 2.0,
        }
    }

    /// A window that a cut never sends back to slow start, where RFC 5681 §3.1 has a threshold of two segments
    /// at least: slow start below that knows no weights.
    pub fn steady(self) -> Self {
        Window { least: 1.0, ..self }
    }

    /// In segments.
    pub fn segments(&self) -> f64 {
        self.segments
    }

    /// In bytes.
    pub fn bytes(&self) -> f64 {
        self.segments * self.mss
    }

    /// Grows by what was acknowledged: a segment a segment in slow start, a segment a window afterwards.
    #[inline]
    pub fn grow(&mut self, acked: Bytes) {
        self.grow_weighted(acked, 1.0);
    }

    /// As [`Self::grow`], but so many segments a window after slow start.
    #[inline]
    pub fn grow_weighted(&mut self, acked: Bytes, weight: f64) {
        let acked = acked.as_f64() / self.mss;
        let gain = if self.segments < self.threshold { acked } else { weight * acked / self.segments };
        self.segments = (self.segments + gain).min(self.max);
    }

    /// Cuts to `share` of itself, or the smallest window, and leaves slow start.
    #[inline]
    pub fn cut(&mut self, share: f64) {
        self.segments = (self.segments * share).max(self.min);
        self.threshold = self.segments.max(self.least);
    }

    /// A retransmission timeout: back to one segment, slow start to half of what was.
    pub fn collapse(&mut self) {
        self.threshold = (self.segments / 2.0).max(2.0);
        self.segments = 1.0;
    }

    /// The allowance of a law that sends whenever this window is open.
    #[inline]
    pub fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new((self.segments * self.mss) as u64), pacing: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_a_window_in_slow_start_then_adds_one() {
        let mut window = Window::new(&TransportParams::default());
        window.grow(Bytes::new(10 * 1460));
        assert_eq!(window.segments(), 20.0);
        window.cut(0.5);
        for _ in 0..10 {
            window.grow(Bytes::new(1460));
        }
        assert!((window.segments() - 11.0).abs() < 0.06);
    }

    #[test]
    fn a_window_below_two_doubles_unless_it_is_steady() {
        let params = TransportParams { initial_window: 2, ..TransportParams::default() };
        for (mut window, then) in [(Window::new(&params), 2.0), (Window::new(&params).steady(), 1.25)] {
            window.cut(0.5);
            window.grow_weighted(Bytes::new(1460), 0.25);
            assert_eq!(window.segments(), then);
        }
    }

    #[test]
    fn a_cut_stops_at_the_smallest_window() {
        let cut = |min_window, mss| {
            let params = TransportParams { min_window, mss, ..TransportParams::default() };
            let mut window = Window::new(&params);
            (0..40).for_each(|_| window.cut(0.5));
            window
        };
        for min_window in [1, 2, 7] {
            assert_eq!(cut(min_window, 1460).segments(), f64::from(min_window));
        }
        let mut window = Window::new(&TransportParams { min_window: 0, ..TransportParams::default() });
        (0..4).for_each(|_| window.cut(0.5));
        assert_eq!(window.segments(), 10.0 / 16.0, "four cuts take ten segments below one");
        // It opens again by what is acknowledged, and a timeout leaves one segment.
        window.grow(Bytes::new(1460));
        assert_eq!(window.segments(), 26.0 / 16.0);
        window.cut(0.1);
        window.collapse();
        assert_eq!(window.segments(), 1.0);
    }

    #[test]
    fn without_a_smallest_window_a_flow_can_still_send() {
        for mss in [1, 2, 3, 49, 1460, 60_000] {
            let params = TransportParams { min_window: 0, mss, ..TransportParams::default() };
            let mut window = Window::new(&params);
            (0..100).for_each(|_| window.cut(0.5));
            let bytes = window.allowance().window.get();
            assert!((1..=2).contains(&bytes), "{bytes} bytes of segments of {mss}");
        }
    }

    #[test]
    fn a_timeout_restarts_from_one_segment() {
        let mut window = Window::new(&TransportParams { initial_window: 40, ..TransportParams::default() });
        window.collapse();
        assert_eq!(window.segments(), 1.0);
        window.grow(Bytes::new(19 * 1460));
        assert_eq!(window.segments(), 20.0);
        window.grow(Bytes::new(20 * 1460));
        assert_eq!(window.segments(), 21.0);
    }
}
