//! Programs in this machine's kernel. These tests need root, and run one at a time.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(feature = "programs")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "programs")]
#[path = "../connection/mod.rs"]
mod connection;
#[cfg(feature = "programs")]
#[path = "../frames/mod.rs"]
mod frames;
#[cfg(feature = "programs")]
#[path = "../teller/mod.rs"]
mod teller;

mod congestion;
mod crowd;
mod known;
mod mcp;
mod measure;
mod port;
mod tag;
mod traces;
mod window;
