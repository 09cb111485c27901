//! Tests on real packets, which need root; they run one at a time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod kernel;
mod messages;
