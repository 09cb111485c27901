//! Frames: what of them a port policy is told, and what of its answer is written back.

mod address;
mod neighbour;
mod reader;
pub mod wire;

pub use address::{host_of, host_of_ipv4, host_of_mac, ipv4_of, ipv6_of, mac_of};
pub use neighbour::answer;
pub use reader::{Frame, Transport};

/// Length of the Ethernet header, without VLAN tags.
pub const ETHERNET_BYTES: usize = 14;
