//! Tests that need no root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod conformance;
mod parameters;
mod parts;
mod rules;
mod tutorial;

/// In the tutorial, the scheme lives beside this one.
use tailrace_schemes::dctcp;
