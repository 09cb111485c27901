//! Running `tailrace agent`: its rights, who else may run one, what it leaves behind.
#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

mod agents;
#[path = "../../tailrace-bpf/tests/common/mod.rs"]
mod common;
#[path = "../../tailrace-bpf/tests/frames/mod.rs"]
mod frames;
#[path = "../../tailrace-bpf/tests/teller/mod.rs"]
mod teller;

#[path = "operation/asking.rs"]
mod asking;
#[path = "operation/mistakes.rs"]
mod mistakes;
#[path = "operation/pins.rs"]
mod pins;
#[path = "operation/rights.rs"]
mod rights;
#[path = "operation/rules.rs"]
mod rules;
#[path = "operation/systemd.rs"]
mod systemd;
