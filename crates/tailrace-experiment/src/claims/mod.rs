//! Numbers that are asked of results: those of papers, those that must hold, and those that must be known so well.

pub mod claim;
pub mod expectation;
pub mod judge;
pub mod quantity;
pub mod stop;
pub mod vet;
