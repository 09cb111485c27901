//! The flow-level world: flows have rates, and no packets.

mod solver;

pub use solver::{BundleId, LinkId, MAX_HOPS, Solver};
