//! Workloads: which flows start when.

mod cdf_file;
pub mod flow_list;
mod incast;
mod pairs;
mod pattern;
mod plan;
pub mod published;
mod rule;
mod shapes;
mod sizes;
mod source;
#[cfg(test)]
mod source_tests;
mod spec;

pub use pattern::{Incast, PairFilter, Pattern};
pub use plan::{HostLoad, Plan};
pub use rule::{Arrivals, Rule};
pub use sizes::{OwnSizes, Part, Round, Sizes};
pub use source::FlowSource;
pub use spec::{FlowListFile, Workload};

use tailrace_core::{Bytes, Rate, Time};

/// A flow to be run. Its number is its place in the order of start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSpec {
    /// Source host.
    pub src: u16,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes.
    pub size: Bytes,
    /// When it starts.
    pub start: Time,
    /// Absolute deadline, if it has one.
    pub deadline: Option<Time>,
    /// Traffic class, for statistics.
    pub class: u8,
    /// Slice (tenant); 0 for none.
    pub slice: u16,
    /// Task; 0 for none.
    pub task: u32,
}

/// What a workload must know of the rest of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Number of hosts.
    pub hosts: u16,
    /// Rate of the hosts' links.
    pub host_rate: Rate,
    /// Payload bytes of a full segment.
    pub mss: u16,
}
