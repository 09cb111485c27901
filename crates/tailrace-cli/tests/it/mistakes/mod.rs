//! Mistakes get one clear message and exit status 2, and nothing is written; failures get 1.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod classes;
mod files;
mod hostile;
mod levels;
mod options;
mod place;
mod plots;
mod schemes;
mod slices;
mod streams;
mod tasks;
