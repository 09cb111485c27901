//! Tests that need no root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod conformance;
mod parameters;
mod parts;
mod rules;
mod tutorial;
