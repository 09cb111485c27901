//! One run on several threads: the fabric is cut into parts, each with its own agenda, ports and hosts.
//!
//! Each part may go on until a look-ahead after the clock of the last of the others ([`Cut::look_ahead`](crate::Cut::look_ahead)): that is what a
//! packet takes at least from one part to another. It posts what leaves it and advances its own clock several times in
//! a look-ahead, so that nobody waits for the slower one of the moment, but only for who is slower for long.
//!
//! Nothing that comes of a run depends on the cut. Within an instant, order is by a hash of time and entity; what is told
//! across the fabric takes its time in every run, cut or whole (`world/edicts.rs`); and all parts draw all flows, so that
//! flows have the same numbers and slots in each of them.

mod mail;
mod run;

pub use run::run_parts;
