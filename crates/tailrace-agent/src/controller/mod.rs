//! A fleet's controller: it joins a scheme's policy and controller with the etcd where a fleet meets.

mod brain;
pub(crate) mod meeting;
mod metrics;
mod run;

pub use brain::Brain;
pub use run::{Options, run};
