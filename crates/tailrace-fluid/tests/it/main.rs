//! Tests that need no root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod properties;
mod published;
mod reference;
