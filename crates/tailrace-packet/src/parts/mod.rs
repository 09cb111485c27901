//! One run on several threads: the fabric is cut into parts, each with its own agenda, ports and hosts.
//!
//! All parts go on in windows of virtual time, no longer than what a packet takes at least from one part to another
//! ([`Cut::look_ahead`]): what happens in a window in one part concerns others in later windows only. After each window
//! the threads meet, and leave each other the packets that have crossed, and what all must know of flows' ends.
//!
//! Nothing that comes of a run depends on the cut. Within an instant, order is by a hash of time and entity; what is told
//! across the fabric takes its time in every run, cut or whole (`world/edicts.rs`); and all parts draw all flows, so that
//! flows have the same numbers and slots in each of them.

mod border;
mod cut;
mod meeting;
mod run;

pub(crate) use border::{Border, Crossing};
pub use cut::Cut;
pub use run::{PartOf, run_parts};
