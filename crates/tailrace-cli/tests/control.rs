//! `tailrace control` and agents of a fleet, with a real etcd.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic, and says what came of it")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]
#![cfg(feature = "agent")]

mod agents;
#[path = "../../tailrace-bpf/tests/common/mod.rs"]
mod common;
#[path = "control/crowd.rs"]
mod crowd;
#[allow(dead_code, reason = "what this test needs of it")]
#[path = "emulate/place.rs"]
mod emulated;
#[path = "control/etcd.rs"]
mod etcd;
#[path = "control/fleet.rs"]
mod fleet;
#[path = "../../tailrace-bpf/tests/frames/mod.rs"]
mod frames;
#[path = "control/mistakes.rs"]
mod mistakes;
#[path = "control/place.rs"]
mod place;
#[path = "control/weights.rs"]
mod weights;
