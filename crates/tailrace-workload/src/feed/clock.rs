//! When flows, bursts and tasks start.

use std::ops::Range;

use tailrace_core::Time;
use tailrace_core::random::Stream;

use crate::Arrivals;

/// Tells when flows, bursts or tasks start.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    arrivals: Arrivals,
    /// Arrivals so far.
    ticks: u64,
    /// How many there are at most.
    most: u64,
    /// Time since `start`, in mean gaps.
    elapsed: f64,
    mean_gap_ps: f64,
    start: Time,
    end: Time,
    stream: Stream,
}

impl Clock {
    /// A clock that ticks `most` times at most, and within `span`.
    pub(crate) fn new(
        arrivals: Arrivals,
        mean_gap_ps: f64,
        most: u64,
        span: Range<Time>,
        mut stream: Stream,
    ) -> Self {
        let elapsed = if arrivals == Arrivals::Poisson { stream.exponential() } else { 0.0 };
        Clock { arrivals, ticks: 0, most, elapsed, mean_gap_ps, start: span.start, end: span.end, stream }
    }

    /// When the next arrival is.
    pub(crate) fn peek(&self) -> Option<Time> {
        let since = match self.arrivals {
            Arrivals::Once => Time::ZERO,
            _ => Time::from_ps((self.elapsed * self.mean_gap_ps) as u64),
        };
        let at = self.start.saturating_add(since);
        (self.ticks < self.most && at < self.end).then_some(at)
    }

    /// The next arrival: its number and time.
    pub(crate) fn tick(&mut self) -> Option<(u64, Time)> {
        let at = self.peek()?;
        self.ticks += 1;
        self.elapsed += match self.arrivals {
            Arrivals::Poisson => self.stream.exponential(),
            _ => 1.0,
        };
        Some((self.ticks - 1, at))
    }
}
