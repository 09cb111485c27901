//! The daemon: what it tags, whose windows it keeps, the answers that it gives, and what it measures.

mod answers;
pub mod claim;
mod datapath;
mod fleet;
mod grouped;
mod hosts;
mod interface;
mod known;
mod learn;
mod left;
mod measure;
mod measured;
mod metrics;
mod notify;
mod status;
mod tag;
mod types;
mod weighed;

pub use grouped::By;
pub use hosts::start;
pub use left::detach;
pub use measure::{Measure, measure};
pub use tag::{Options, doubts, tag};
pub use tailrace_bpf::monotonic;
