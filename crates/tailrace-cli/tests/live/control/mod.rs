//! `tailrace control` and agents of a fleet, with a real etcd.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic, and says what came of it")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]
#![cfg(feature = "agent")]

mod crowd;
mod etcd;
mod fleet;
mod mistakes;
mod place;
mod weights;
