//! Which runs a file asks for: its names, paths, scale, sweep, and the plan that they make.

pub mod name;
pub mod path;
pub mod plan;
pub mod scale;
pub mod sweep;
