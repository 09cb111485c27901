//! Tests that need no root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod caps;
mod limited_multiplexing;
mod tied;
mod toys;
mod weights;
