//! A flow that is asked for.

use tailrace_core::{Bytes, FlowId, FlowRecord, HostId, Reveals, TaskId, Time};

/// A flow to be run. Its number is its place in the order of start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSpec {
    /// Source host.
    pub src: HostId,
    /// Destination host.
    pub dst: HostId,
    /// Payload bytes.
    pub size: Bytes,
    /// When it starts.
    pub start: Time,
    /// Absolute deadline, if it has one.
    pub deadline: Option<Time>,
    /// What its application tells of it.
    pub reveals: Reveals,
    /// Whether it has a deadline is left to Γ control, once it starts.
    pub controlled: bool,
    /// Traffic class, for statistics.
    pub class: u8,
    /// Slice (tenant); 0 for none.
    pub slice: u16,
    /// Task; 0 for none.
    pub task: TaskId,
    /// Payload bytes of all flows of its task, over all stages; 0 if it is of none.
    pub task_size: Bytes,
    /// By which a feed is told of its end; 0 if nothing waits for it.
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
