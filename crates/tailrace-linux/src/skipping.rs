//! What tests say that cannot run on this machine.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Says on standard error that a test is skipped, and why, also where the test harness captures what tests print.
///
/// # Panics
/// Where the environment has `TAILRACE_SKIP=never`: a machine that is there to run all tests should.
pub fn skip_test(why: impl Display) {
    let never = std::env::var_os("TAILRACE_SKIP").is_some_and(|value| value == "never");
    assert!(!never, "may not be skipped: {why}");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Nobody may be there to read it.
    _ = writeln!(stderr(), "SKIPPED {test}: {why}");
}
