//! Tests that need no root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod build_identity;
mod capture;
mod claims;
mod files;
mod large_sweeps;
mod listed;
mod parts;
mod threads;
