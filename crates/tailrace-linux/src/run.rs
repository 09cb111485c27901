//! A run of a world over its hosts' sockets, from the first flow to the last.

use std::ops::ControlFlow;

use tailrace_core::{Ending, Outcome, Progress, Scheme, Time};
use tailrace_packet::Pause;

use crate::driver::Driver;
use crate::error::LiveError;
use crate::lag::Lag;

/// How often the caller hears of a run.
pub(crate) const REPORT_EVERY: Time = Time::from_ms(100);
/// What is under way when the last flow has ended, has this long to arrive.
const SETTLING: Time = Time::from_ms(200);

/// What a run must keep to, or its numbers say nothing.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All but one in a hundred packets leave the fabric less late than this.
    pub lag: Time,
}

/// Runs a world with Tailrace's transport. `report` is called now and then and may end the run. Fails if the machine was
/// too slow for its numbers to say anything.
pub fn run<S: Scheme>(
    mut driver: Driver<'_, S>,
    limits: Limits,
    report: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(Outcome, Ending), LiveError> {
    let mut next_report = REPORT_EVERY;
    let ending = loop {
        if driver.turn(next_report)? == Pause::Horizon {
            break Ending::Horizon;
        }
        if driver.world().is_over() {
            break Ending::Finished;
        }
        let now = driver.now();
        if now >= next_report {
            next_report = now + REPORT_EVERY;
            if report(&driver.world().progress()).is_break() {
                return Err(LiveError::Interrupted);
            }
            if driver.world().is_stalled() {
                break Ending::Stalled;
            }
        }
    };
    if ending == Ending::Finished {
        let until = driver.now() + SETTLING;
        while driver.now() < until && driver.between() != (0, 0) {
            driver.turn(until)?;
        }
        check_between(&driver)?;
    }
    let lateness = driver.lag().summary();
    check_lag("packet in a hundred left", driver.lag(), limits)?;
    let outcome = driver.into_world()?.into_outcome();
    Ok((Outcome { lateness: Some(lateness), ..outcome }, ending))
}

fn check_between<S: Scheme>(driver: &Driver<'_, S>) -> Result<(), LiveError> {
    let (before, behind) = driver.between();
    if before + behind == 0 {
        return Ok(());
    }
    let message = format!(
        "the machine was too slow: {before} packets were lost between hosts and fabric, {behind} between fabric and \
         hosts, where nothing may be lost; ask for fewer hosts, lower rates or less load"
    );
    Err(LiveError::TooSlow(message))
}

/// Fails if more than one `what` was later than the limit.
pub(crate) fn check_lag(what: &str, lag: &Lag, limits: Limits) -> Result<(), LiveError> {
    let p99 = lag.quantile(0.99);
    if p99 <= limits.lag {
        return Ok(());
    }
    let message = format!(
        "the machine was too slow: one {what} more than {p99} late, and with more than {} the numbers \
         say nothing; ask for fewer hosts, lower rates or less load, or run nothing else on the machine",
        limits.lag
    );
    Err(LiveError::TooSlow(message))
}
