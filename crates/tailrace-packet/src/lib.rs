//! The packet-level world: a [`Network`] that moves packets between hosts, and the [`World`] of hosts,
//! flows and a scheme at its edge.
//!
//! Generic over the scheme's parts; it names no scheme.

mod caps;
mod endpoint;
mod failing;
mod flows;
mod message;
mod network;
mod parallel;
mod partition;
mod port;
pub mod reflect;
mod ring;
mod switch;
mod tap;
mod timers;
mod world;

pub use endpoint::Endpoint;
pub use network::{Lost, Network, Outside, Step};
pub use parallel::run_parallel;
pub use partition::{LookAheads, Partition, ProcessSpec};
pub use tap::Tap;
pub use world::{Pause, Watch, World};
