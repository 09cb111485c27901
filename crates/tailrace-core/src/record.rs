//! What a run leaves behind: one record per flow, and long-format series for everything else.

use crate::{Bytes, FlowId, HostId, Reveals, TaskId, Time};

/// One flow's outcome. A run keeps one for every flow it ever started, [in less room](crate::FlowRecords) once that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Payload bytes.
    pub size: Bytes,
    /// When it started.
    pub start: Time,
    /// When it completed; [`Time::MAX`] if it did not.
    pub end: Time,
    /// Absolute deadline; [`Time::MAX`] if there is none.
    pub deadline: Time,
    /// The flow's number.
    pub id: FlowId,
    /// Task it belongs to, 0 if none.
    pub task: TaskId,
    /// Payload bytes sent again.
    pub retransmitted: u32,
    /// Source host.
    pub src: HostId,
    /// Destination host.
    pub dst: HostId,
    /// Retransmission timeouts it saw.
    pub timeouts: u16,
    /// Slice it belongs to, 0 if none.
    pub slice: u16,
    /// Given up by its sender before it was complete.
    pub stopped: bool,
    /// Traffic class: the number of the workload's rule that made it, or the flow list's `class`.
    pub class: u8,
    /// What the application told of it.
    pub reveals: Reveals,
}

impl FlowRecord {
    /// Flow completion time; `None` if the flow did not complete.
    pub fn fct(&self) -> Option<Time> {
        (self.end != Time::MAX).then(|| self.end - self.start)
    }
}

/// One task's outcome: it is complete when the last flow of its last stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Payload bytes of its flows, over all stages.
    pub bytes: Bytes,
    /// When it arrived; its first flows start then, or when their senders have computed.
    pub start: Time,
    /// When its last flow ended; [`Time::MAX`] if it did not.
    pub end: Time,
    /// The task's number.
    pub id: TaskId,
    /// Its flows, over all stages.
    pub flows: u32,
    /// Slice it belongs to, 0 if none.
    pub slice: u16,
    /// Traffic class.
    pub class: u8,
}

impl TaskRecord {
    /// Task completion time; `None` if the task did not complete.
    pub fn tct(&self) -> Option<Time> {
        (self.end != Time::MAX).then(|| self.end - self.start)
    }
}

/// One value of a scheme-specific or sampled series, in long format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesRow {
    /// When.
    pub at: Time,
    /// What, for example "threshold" or "queue_bytes".
    pub metric: &'static str,
    /// Which of several, for example the queue's or threshold's number.
    pub index: u16,
    /// How much, in the unit that the metric's name ends with (bytes if it names none).
    pub value: f64,
}

/// Where policies put series rows; the driver adds which port or host they came from.
pub trait SeriesSink {
    /// Takes one row.
    fn push(&mut self, row: SeriesRow);
}

impl SeriesSink for Vec<SeriesRow> {
    fn push(&mut self, row: SeriesRow) {
        Vec::push(self, row);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_finished_flow_costs_a_cache_line() {
        assert!(size_of::<super::FlowRecord>() <= 64);
    }
}
