//! The host agent on a kernel of Debian's, beside what that kernel has itself: the queues `prio`, `ets` and `red`, and the
//! congestion control `dctcp`. `make test-kernel` runs this in a guest (guest.sh), where time is the guest's own.
#![cfg(feature = "agent")]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic, and says what came of it")]
#![allow(clippy::disallowed_methods, reason = "both ends of connections, in the guest's time")]

#[path = "../live/agents.rs"]
mod agents;
mod laws;
mod left;
mod place;
mod tags;
