//! What an egress port is, and what a switch is, for every driver that has packets: the simulator's network, and
//! software switches on real interfaces.
//!
//! A driver tells what time it is, keeps the packets that have left ([`Egress`] gives them away), and decides where
//! a link leads. Of a packet only the first line of its fields is looked at; what transport and driver keep in the
//! second is theirs.

mod balance;
mod egress;
mod memory;
mod switching;

pub use egress::{Departure, Egress};
pub use memory::Holder;
pub use switching::Switching;
