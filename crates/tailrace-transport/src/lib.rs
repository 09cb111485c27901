//! A reliable byte stream as two state machines without I/O: a [`Sender`] that hosts a congestion law, and
//! a [`Receiver`]. Both are told the time and answer with packets, so whoever has a clock and a network can
//! drive them; here the simulator does.
//!
//! A flow is cut into numbered segments of one MSS (the last may be short), and a segment is always sent
//! whole. Acknowledgements are cumulative and carry the block of segments around the newest one, as the
//! first SACK block of RFC 2018 does.

#[cfg(test)]
mod header_tests;
mod pacer;
mod receiver;
#[cfg(test)]
mod receiver_tests;
mod reorder;
#[cfg(test)]
mod reorder_tests;
mod requests;
mod rtt;
mod sender;
#[cfg(test)]
mod sender_tests;
mod seq_set;
mod window;
mod wire_rate;

pub use pacer::Pacer;
pub use receiver::Receiver;
pub use requests::{Ask, Message, Requests};
pub use rtt::RttEstimate;
pub use sender::{Sender, SenderStats};
pub use seq_set::SeqSet;
pub use window::Window;
pub use wire_rate::WireRate;

#[cfg(test)]
mod pair_tests;
