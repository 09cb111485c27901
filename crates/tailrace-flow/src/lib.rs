//! The flow-level world: flows have rates, and no packets.

mod bundle;
mod routes;
mod schedule;
mod solver;
mod world;

pub use solver::{BundleId, LinkId, MAX_HOPS, Solver};
pub use world::{Ending, Outcome, Progress, Setup, World};
