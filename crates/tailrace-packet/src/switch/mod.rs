//! What an egress port is, and what a switch is, for any driver that has packets. The simulator's network is one; a
//! software switch on real interfaces could be another.
//!
//! A driver tells what time it is, keeps the packets that have left ([`Egress`] gives them away), and decides where
//! a link leads. Of a packet's fields ports look at the first line only, and so does the choice of a path, but for
//! flowcells: these are told by the segment's number, which the transport keeps in the second line.

mod balance;
mod egress;
mod memory;
mod switching;

pub(crate) use egress::{Departure, Egress};
pub(crate) use memory::Holders;
pub(crate) use switching::Switching;
