//! Any input: each target is a function that takes bytes, uses what reads them, and panics if a promise is broken.
//!
//! `cargo test` gives every target its corpus, and then mutations of it for ten seconds; `make fuzz` does so for as
//! long as one likes. An input that fails is kept in the corpus.

mod campaign;
mod corpus;
mod mutate;
mod scratch;
mod shrink;
mod targets;
mod toml_edit;

pub use campaign::{Limit, run};
pub use corpus::Corpus;
pub use targets::{Outcome, TARGETS, Target};
