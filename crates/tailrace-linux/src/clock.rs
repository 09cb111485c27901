//! The machine's monotonic clock, from the start of a run.

use std::io;

use nix::time::{ClockId, clock_gettime};
use tailrace_core::{LiveError, Time};

/// Tells the time since it was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: u64,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Result<Self, LiveError> {
        let now = monotonic_ns().map_err(LiveError::refused("the monotonic clock"))?;
        Ok(Clock { start_ns: now })
    }

    /// Starts after a span; until then it is zero.
    pub fn start_in(span: Time) -> Result<Self, LiveError> {
        let Clock { start_ns } = Self::start()?;
        Ok(Clock { start_ns: start_ns + span.as_ns() })
    }

    /// How long it is until the start; zero from then on.
    pub fn until_start(&self) -> Time {
        Time::from_ns(monotonic_ns().map_or(0, |now| self.start_ns.saturating_sub(now)))
    }

    /// When it was started, on a clock that all processes of this machine share.
    pub fn start_us(&self) -> u64 {
        self.start_ns / 1_000
    }

    /// The time at so many nanoseconds of the monotonic clock; zero before the start.
    pub(crate) fn at_ns(&self, ns: u64) -> Time {
        Time::from_ns(ns.saturating_sub(self.start_ns))
    }

    /// The time since the start.
    pub fn now(&self) -> Time {
        // A clock that could be read at the start can be read later.
        Time::from_ns(monotonic_ns().map_or(0, |now| now.saturating_sub(self.start_ns)))
    }
}

/// Turns times of the clock that tells what day it is into those of the monotonic one, both in nanoseconds, as they
/// stand to one another now.
pub(crate) fn day_to_monotonic() -> impl Fn(u64) -> u64 {
    let ns = |clock| {
        clock_gettime(clock).map_or(0, |now| now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
    };
    let (day, monotonic) = (ns(ClockId::CLOCK_REALTIME), ns(ClockId::CLOCK_MONOTONIC));
    move |at| monotonic.saturating_sub(day.saturating_sub(at))
}

fn monotonic_ns() -> io::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}
