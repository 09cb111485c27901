//! Running `tailrace agent`: its rights, who else may run one, what it leaves behind.
#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

mod asking;
mod mistakes;
mod pins;
mod rights;
mod rules;
mod systemd;
