//! Flows as other tools list them: columns of any names and units, hosts by number, name or address, in CSV or Parquet; and those of
//! a capture of packets.
//! What is recognised is said, so that a user sees what was understood.

mod capture;
mod columns;
pub mod comparison;
mod connections;
mod decimal;
mod described;
mod hosts;
mod read;
mod rows;
mod table;
mod units;

pub use self::columns::{Mapping, Recognised, Role};
pub use self::described::{Described, fabric_named};
pub use self::read::{Trace, read};
