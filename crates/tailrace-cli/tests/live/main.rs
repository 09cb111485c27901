//! Commands on real packets. These tests need root, and run one at a time.
#![cfg(live)]
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may panic, and prints what came of it"
)]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(feature = "agent")]
mod agents;
#[path = "../shared/mod.rs"]
mod below;
#[cfg(feature = "agent")]
#[path = "../../../tailrace-bpf/tests/common/mod.rs"]
mod common;
#[cfg(feature = "agent")]
#[path = "../../../tailrace-bpf/tests/frames/mod.rs"]
mod frames;
#[cfg(feature = "agent")]
mod hosts;
mod place;
#[cfg(feature = "agent")]
#[path = "../../../tailrace-bpf/tests/teller/mod.rs"]
mod teller;

mod agent;
mod at_hosts;
mod control;
mod emulate;
mod laws;
mod operation;
mod proxy;
mod qos_apply;
mod switch;
mod windows;
