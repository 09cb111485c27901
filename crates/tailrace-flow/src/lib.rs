//! The flow-level world: flows have rates, and no packets.

mod bundle;
mod lookup;
mod routes;
mod schedule;
mod solver;
mod world;

pub use routes::LONGEST_PATH;
pub use world::{Setup, World};
