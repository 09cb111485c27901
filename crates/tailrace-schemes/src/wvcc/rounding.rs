//! A window in whole segments that is right on average.

use tailrace_core::{Bytes, FlowView};

/// Guests send whole segments, so a window of 4.7 lets out 4, which costs small windows more than large ones.
///
/// Shown is the nearest whole number. A small window may stay on one side of it for long, so what is shown too much or
/// too little is added up from round trip to round trip, and shifts the window before it is rounded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounding {
    /// Segments that the guest was shown too little, summed over round trips.
    owed: f64,
    /// The round trip ends when this is acknowledged.
    end: Bytes,
}

/// By how much of what is owed the window is shifted. With all of it windows of any size would alternate between two
/// numbers, and packets come in bursts that no window asks for.
const SHIFT: f64 = 0.25;

impl Rounding {
    /// A window in whole segments, at least one.
    pub(super) fn whole(&self, window: f64) -> u64 {
        libm::round(window + SHIFT * self.owed).max(1.0) as u64
    }

    /// Something was acknowledged: at the end of a round trip, adds up what its last window has left over.
    pub(super) fn acknowledged(&mut self, window: f64, flow: &FlowView) {
        if flow.acked >= self.end {
            self.owed += window - self.whole(window) as f64;
            self.end = flow.sent;
        }
    }
}
