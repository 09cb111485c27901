//! Tests that need no root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod baraat_levels;
mod parts;
mod tiny_tasks;
mod weights;
