//! Real packets in real time; needs root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod balancing;
mod closed_forms;
mod kernel;
mod machine;
mod schemes;
