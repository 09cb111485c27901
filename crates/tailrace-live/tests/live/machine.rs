//! Tests of what is late by microseconds, on machines that others use as well: a test is passed by one try that holds, and
//! failed by several, in none of which the machine was late itself, or by all, in half of which few packets were.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tailrace_core::{Outcome, Time};
use tailrace_live::{Live, run_live};
use tailrace_run::{LiveError, RunError, Unattended, feed};
use tailrace_scenario::{Level, Scenario};

/// So many tries a test has.
const TRIES: usize = 12;
/// So many that do not hold, on a machine that was in time, are a fault.
const FAULTS: usize = 3;

/// Whether this process may do what live runs need; if not, it is said.
pub fn may_run() -> bool {
    let output = std::process::Command::new("unshare").args(["--net", "true"]).output();
    let allowed = output.is_ok_and(|output| output.status.success());
    if !allowed {
        tailrace_linux::skip_test("network namespaces need root");
    }
    allowed
}

/// Live runs have the machine to themselves.
pub fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A live run, or that the machine was too slow for it.
pub fn live(scenario: &Scenario, live: &Live) -> Result<Outcome, Failure> {
    let _alone = alone();
    let scenario = Scenario { level: Level::Live, ..scenario.clone() };
    match run_live(&scenario, feed(&scenario).unwrap(), &Unattended, live) {
        Ok((outcome, _)) => Ok(outcome),
        Err(RunError::Live(LiveError::TooSlow(message))) => Err(Failure::Machine(message)),
        Err(error) => Err(Failure::Fault(error.to_string())),
    }
}

/// Why a try does not hold.
#[derive(Debug)]
pub enum Failure {
    /// The machine was late.
    Machine(String),
    /// It was, but not with 99 packets of 100.
    Stumble(String),
    /// It was not.
    Fault(String),
}

/// What a run whose packets may be `allowed` late is to be blamed for, if its result is not `right`.
pub fn hold(outcome: &Outcome, allowed: Time, right: bool, message: String) -> Result<(), Failure> {
    let [mostly, late] = outcome.real_time.as_ref().map_or([Time::ZERO; 2], |real| {
        let [left, entered] = [&real.left, &real.entered].map(|lag| lag.summary());
        [left.p99.max(entered.p99), left.worst.max(entered.worst)]
    });
    match right {
        true => Ok(()),
        false if mostly > allowed => {
            Err(Failure::Machine(format!("{message}; one packet in a hundred was {mostly} late")))
        }
        false if late > allowed => Err(Failure::Stumble(format!("{message}; a packet was {late} late"))),
        false => Err(Failure::Fault(message)),
    }
}

/// Tries until one try holds, or enough have shown that none will. Where the machine was never still enough to tell, that is
/// said.
pub fn some_try_holds(mut attempt: impl FnMut() -> Result<(), Failure>) {
    let (mut faults, mut stumbles, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TRIES {
        match attempt() {
            Ok(()) => return,
            Err(Failure::Machine(message)) => late.push(message),
            Err(Failure::Stumble(message)) => stumbles.push(message),
            Err(Failure::Fault(message)) => faults.push(message),
        }
        assert!(faults.len() < FAULTS, "{}", faults.join("\n"));
    }
    stumbles.extend(faults);
    // A packet or two may spoil a try, not every one.
    assert!(stumbles.len() < TRIES / 2, "none of {TRIES} tries holds: {}", stumbles.join("\n"));
    stumbles.extend(late);
    tailrace_linux::skip_test(format_args!("not in time in {TRIES} tries: {}", stumbles.join("; ")));
}
