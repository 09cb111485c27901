//! One run on several threads: the fabric is cut into parts, each with its own agenda, ports and hosts.
//!
//! Each part may go on until, for each of the others, a look-ahead after that one's clock ([`LookAheads`](crate::LookAheads)): that is what a
//! packet takes at least from it to this part. It posts what leaves it and advances its own clock several times in
//! a round of look-aheads, so that nobody waits for the slower one of the moment, but only for who is slower for long.
//!
//! Nothing that comes of a run depends on the cut. Within an instant, order is by a hash of time and entity; what is told
//! across the fabric takes its time in every run, cut or whole (`world/global_events.rs`); and all parts draw all flows, so that
//! flows have the same numbers and slots in each of them.

#[cfg(test)]
mod interleaving_tests;
mod mail;
#[cfg(test)]
mod mail_tests;
mod run;

/// What threads are kept in step with; `interleaving_tests.rs` puts another in its place.
mod sync {
    pub(super) use std::sync::atomic;
    pub(super) use std::{hint, thread};
}

pub use run::run_parts;
