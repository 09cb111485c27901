//! Tests that need no root.
#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic")]

#[path = "../shared/mod.rs"]
mod below;

mod commands;
mod compare;
mod flow_lists;
mod fluid;
mod hardship;
mod kept;
mod memory;
mod mistakes;
mod only;
mod parts;
mod qos;
mod qos_kinds;
mod qos_thresholds;
mod watch;

#[cfg(live)]
use tailrace_linux::skip_test;

/// As `tailrace_linux::skip_test`, in a build without the live half.
#[cfg(not(live))]
fn skip_test(why: impl std::fmt::Display) {
    let never = std::env::var_os("TAILRACE_SKIP").is_some_and(|value| value == "never");
    assert!(!never, "may not be skipped: {why}");
    eprintln!("SKIPPED {}: {why}", std::thread::current().name().unwrap_or("a test"));
}
