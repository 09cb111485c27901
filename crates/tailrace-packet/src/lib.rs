//! The packet-level world: a [`Network`] that moves packets between hosts, and the [`World`] of hosts,
//! flows and a scheme at its edge.
//!
//! Generic over the scheme's parts; it names no scheme.

mod balance;
mod capture;
mod flows;
mod memory;
mod network;
mod port;
pub mod reflect;
mod sample;
mod timers;
mod world;

pub use capture::{Captured, Tap};
pub use network::{Network, PortCounts, Step};
pub use sample::{Place, Series};
pub use world::{Ending, Outcome, Progress, Watch, World};
