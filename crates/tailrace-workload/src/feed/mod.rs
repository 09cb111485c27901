//! What draws the flows of a workload while a run goes on: the [`Feed`], which is told of the ends of flows, and the
//! [`GammaControl`] that decides at a flow's start whether it gets a deadline.
//!
//! ```
//! use tailrace_workload::feed::Feed;
//! use tailrace_workload::FlowSpec;
//!
//! let flow = FlowSpec { src: 0, dst: 1, size: tailrace_core::Bytes::new(1), ..FlowSpec::default() };
//! let mut feed = Feed::from(vec![flow]);
//! assert_eq!(feed.pop(), Some(flow));
//! assert!(feed.is_empty());
//! ```

mod bursts;
mod clock;
mod flows;
mod gamma;
mod source;
#[cfg(test)]
mod source_tests;
mod task;

pub use flows::Feed;
pub use gamma::GammaControl;
pub use source::FlowSource;
