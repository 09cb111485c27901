//! One run: what it costs, how it is made and kept; and what is read of several that are kept.

pub mod cost;
pub mod over_seeds;
pub mod paired;
pub mod results;
pub mod run;
pub mod store;
