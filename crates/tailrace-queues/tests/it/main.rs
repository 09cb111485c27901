//! Tests that need no root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod disciplines;
mod port_params;
mod rank_queue;
mod routed_port;
