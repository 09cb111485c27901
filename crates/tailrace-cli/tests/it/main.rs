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
