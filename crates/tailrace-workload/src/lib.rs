//! Which flows and tasks are asked for: sizes, patterns, arrivals, deadlines, workflows, lists and traces; and what
//! they amount to on a fabric: rates, pairs and loads. Nothing here has a state that a run changes: what draws flows
//! is `tailrace-traffic`.

mod cdf_file;
mod deadlines;
pub mod flow_list;
mod gamma;
mod hosts;
mod input_file;
mod pairs;
mod pattern;
mod plan;
pub mod published;
mod rule;
mod shapes;
mod shares;
mod sizes;
mod spec;
pub mod task;

pub use deadlines::{Deadlines, least, rounded_up};
pub use gamma::Gamma;
pub use hosts::Hosts;
pub use input_file::InputFile;
pub use pairs::Pairs;
pub use pattern::{Incast, PairFilter, Pattern};
pub use plan::{HostLoad, Plan, PlannedRule};
pub use rule::{Arrivals, Rule};
pub use sizes::{OwnSizes, Part, Round, Sampler, Sizes};
pub use spec::Workload;

use tailrace_core::{Bytes, FlowId, FlowRecord, HEADER_BYTES, Rate, Reveals, TaskId, Time};
use tailrace_fabric::Racks;

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
    /// What its application tells of it.
    pub reveals: Reveals,
    /// Whether it has a deadline is left to a [`GammaControl`], once it starts.
    pub controlled: bool,
    /// Traffic class, for statistics.
    pub class: u8,
    /// Slice (tenant); 0 for none.
    pub slice: u16,
    /// Task; 0 for none.
    pub task: TaskId,
    /// Payload bytes of all flows of its task, over all stages; 0 if it is of none.
    pub task_size: Bytes,
    /// By which a [`Feed`] is told of its end; 0 if nothing waits for it.
    pub ticket: u32,
}

impl FlowSpec {
    /// What is written down of the flow when it starts as number `id`.
    pub fn record(&self, id: FlowId) -> FlowRecord {
        FlowRecord {
            size: self.size,
            start: self.start,
            end: Time::MAX,
            deadline: self.deadline.unwrap_or(Time::MAX),
            id,
            task: self.task,
            retransmitted: 0,
            src: self.src,
            dst: self.dst,
            timeouts: 0,
            slice: self.slice,
            stopped: false,
            class: self.class,
            reveals: self.reveals,
        }
    }
}

/// What a workload must know of the rest of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Number of hosts.
    pub hosts: u16,
    /// Which of them share a rack.
    pub racks: Racks,
    /// Racks in a pod; all where the fabric has no pods.
    pub racks_per_pod: u16,
    /// Number of slices; 0 where flows may name any, since none is described.
    pub slices: usize,
    /// Rate of the hosts' links.
    pub host_rate: Rate,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// Round trip of a full packet and its ACK between the farthest hosts of an idle fabric.
    pub base_rtt: Time,
}

/// Checks that a slice is one of so many. Where none is described, the number is for statistics only.
pub fn check_slice(slice: u16, count: usize) -> Result<(), String> {
    let there = match count {
        0 => return Ok(()),
        1 => "is 1 slice: 1".to_owned(),
        _ => format!("are {count} slices: 1 to {count}"),
    };
    if usize::from(slice) <= count {
        return Ok(());
    }
    Err(format!("is {slice}, but there {there}, or 0 for flows of no slice"))
}

impl Setting {
    /// The other racks of a rack's pod.
    fn other_racks_of_pod(&self, rack: u16) -> impl Iterator<Item = u16> {
        let first = rack - rack % self.racks_per_pod;
        (first..first + self.racks_per_pod).filter(move |&other| other != rack)
    }

    /// What a flow takes alone between the farthest hosts, to within a packet: half a round trip, and its
    /// bytes with their headers on the host link. Deadlines are generated in multiples of it.
    pub fn ideal(&self, size: Bytes) -> Time {
        let headers = size.get().div_ceil(u64::from(self.mss)) * u64::from(HEADER_BYTES);
        let wire = self.host_rate.time_for(size + Bytes::new(headers));
        Time::from_ps(self.base_rtt.as_ps() / 2).saturating_add(wire)
    }
}
