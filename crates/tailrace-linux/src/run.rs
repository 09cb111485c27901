//! A run of a world over its hosts' sockets, from the first flow to the last.

use std::ops::ControlFlow;

use tailrace_core::{Ending, Lag, LiveError, Outcome, Running, Scheme, Time, duration};
use tailrace_packet::Pause;

use crate::driver::Driver;

/// How often the caller hears of a run.
pub(crate) const REPORT_EVERY: Time = Time::from_ms(100);
/// What is under way when the last flow has ended, has this long to arrive.
const SETTLING: Time = Time::from_ms(200);

/// Packets may come into the fabric so many times as late as they may leave it: those of a burst are sent one after another, faster than
/// their link would carry them.
const BURSTS: u64 = 10;

/// What a run must keep to, or its numbers say nothing.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All but one in a hundred packets leave the fabric less late than this.
    pub lag: Time,
    /// No packet is later than this: timers would run out that would not have.
    pub stall: Time,
}

/// Runs a world with Tailrace's transport. `report` is called now and then and may end the run. Fails if the machine was
/// too slow for its numbers to say anything.
pub fn run<S: Scheme>(
    mut driver: Driver<'_, S>,
    limits: Limits,
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
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
            if report(driver.world()).is_break() {
                return Err(LiveError::Interrupted);
            }
            if driver.world().is_stalled() {
                break Ending::Stalled;
            }
        }
    };
    let until = driver.now() + SETTLING;
    if ending == Ending::Finished {
        while driver.now() < until && driver.between() != (0, 0) {
            driver.turn(until)?;
        }
    } else {
        // Flows must get no further.
        driver.settle(until)?;
    }
    let checked = check_between(&driver)
        .and_then(|()| check_lag("packet", driver.lag(), limits))
        .and_then(|()| check_entry(driver.entry_lag(), limits));
    checked.map_err(|error| with_pace(&driver, error))?;
    let real_time = Some(driver.real_time());
    let outcome = driver.into_world()?.into_outcome();
    Ok((Outcome { real_time, ..outcome }, ending))
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

/// Says of a run that was too much for the machine what would not be.
fn with_pace<S: Scheme>(driver: &Driver<'_, S>, error: LiveError) -> LiveError {
    let LiveError::TooSlow(message) = error else { return error };
    let (had, carries) = driver.pace();
    LiveError::TooSlow(format!(
        "{message}. It had {had:.0} packets a second to carry on average, and would carry some {carries:.0} if it did nothing else"
    ))
}

/// Fails if the machine had more packets of hosts to bring into the fabric than it could, or stood still. In bursts some are late
/// that would have waited for their link anyway; most never are.
pub(crate) fn check_entry(lag: &Lag, limits: Limits) -> Result<(), LiveError> {
    let late = [
        ("every second packet that a host had sent", lag.quantile(0.5), limits.lag * BURSTS),
        ("one packet that a host had sent", lag.summary().worst, limits.stall),
    ];
    late.into_iter().try_for_each(|(whose, late, limit)| refuse_if_late(whose, late, limit))
}

/// Fails if one `what` in a hundred, or the latest, was later than its limit.
pub(crate) fn check_lag(what: &str, lag: &Lag, limits: Limits) -> Result<(), LiveError> {
    refuse_if_late(&format!("one {what} in a hundred"), lag.quantile(0.99), limits.lag)?;
    refuse_if_late(&format!("one {what}"), lag.summary().worst, limits.stall)
}

fn refuse_if_late(whose: &str, late: Time, limit: Time) -> Result<(), LiveError> {
    if late <= limit {
        return Ok(());
    }
    let [late, limit] = [late, limit].map(|time| duration(time.as_secs_f64()));
    let message = format!(
        "the machine was too slow: {whose} was {late} late, and with more than {limit} the numbers say nothing; ask for \
         fewer hosts, lower rates or less load, or run nothing else on the machine"
    );
    Err(LiveError::TooSlow(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_refused_for_many_that_are_late_and_for_one_that_is_very_late() {
        let limits = Limits { lag: Time::from_us(300), stall: Time::from_ms(15) };
        let verdict = |late: &[(u64, usize)]| {
            let mut lag = Lag::default();
            late.iter().for_each(|&(us, times)| (0..times).for_each(|_| lag.note(Time::from_us(us))));
            check_lag("packet", &lag, limits).map_err(|error| error.to_string())
        };
        assert_eq!(verdict(&[]), Ok(()));
        assert_eq!(verdict(&[(100, 9900), (14_000, 99)]), Ok(()));
        assert!(verdict(&[(100, 900), (1_000, 100)]).unwrap_err().contains("one packet in a hundred was"));
        assert!(verdict(&[(100, 900), (16_000, 1)]).unwrap_err().contains("one packet was 16.00 ms late"));
        let mut entry = Lag::default();
        (0..49).for_each(|_| entry.note(Time::from_ms(4)));
        (0..50).for_each(|_| entry.note(Time::from_us(100)));
        assert!(check_entry(&entry, limits).is_ok());
        (0..2).for_each(|_| entry.note(Time::from_ms(4)));
        let error = check_entry(&entry, limits).unwrap_err().to_string();
        assert!(error.contains("every second packet that a host had sent was 4.00 ms late"), "{error}");
    }
}
