//! The engine: an agenda of wake-ups and a digest of those that happened. It knows no packet.
//!
//! An event is *whom to wake when*; the entity knows what is due. Each entity has at most one wake-up
//! pending. Wake-ups come in order of time, those of one time in the order of a hash of (time, entity): a run
//! does not depend on who scheduled first.

mod agenda;
mod digest;

pub use agenda::{Agenda, Due, Entity};
pub use digest::Digest;
