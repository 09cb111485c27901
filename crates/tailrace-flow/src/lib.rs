//! The flow-level world: flows have rates, and no packets.

mod bundle;
#[cfg(test)]
mod bundle_tests;
mod clocks;
mod heap;
mod kinds;
mod lookup;
mod routes;
#[cfg(test)]
mod routes_tests;
mod schedule;
mod solver;
mod world;

pub use routes::LONGEST_PATH;
pub use world::{Setup, World};
