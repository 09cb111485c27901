//! Flows as statistics see them, and the groups that they fall into.

use tailrace_core::{FlowRecord, Time};
use tailrace_scenario::Measure;

/// One measured flow, reduced to what statistics need.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Payload bytes.
    pub size: u64,
    /// The workload's rule that made it, or the flow list's class.
    pub class: u8,
    /// Start in seconds.
    pub start: f64,
    /// Completion time in seconds, if it completed.
    pub fct: Option<f64>,
    /// Ideal completion time in seconds.
    pub ideal: f64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Payload bytes sent again.
    pub retransmitted: u64,
    /// Deadline in seconds after the start, if there is one.
    pub deadline: Option<f64>,
    /// Given up by its sender.
    pub stopped: bool,
}

impl Measured {
    /// A flow that has this record, and would take `ideal` alone.
    pub fn of(record: &FlowRecord, ideal: Time) -> Self {
        Measured {
            size: record.size.get(),
            class: record.class,
            start: record.start.as_secs_f64(),
            fct: record.fct().map(|t| t.as_secs_f64()),
            ideal: ideal.as_secs_f64(),
            timeouts: u32::from(record.timeouts),
            retransmitted: u64::from(record.retransmitted),
            deadline: (record.deadline != Time::MAX).then(|| (record.deadline - record.start).as_secs_f64()),
            stopped: record.stopped,
        }
    }

    /// Whether it had a deadline and met it.
    pub fn met(&self) -> bool {
        self.deadline.is_some_and(|deadline| self.fct.is_some_and(|fct| fct <= deadline))
    }
}

/// Payload bytes of flows together.
pub fn payload(flows: &[Measured]) -> u64 {
    flows.iter().map(|flow| flow.size).sum()
}

/// Flows that are summarised together, beside their size classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// All.
    All,
    /// Those with a deadline.
    Deadline,
    /// Those without.
    NoDeadline,
    /// Those of a traffic class.
    Class(u8),
}

impl Group {
    /// The groups that `flows` fall into: traffic classes where there are several, and those with and
    /// without deadlines where there are such.
    pub fn of(flows: &[Measured]) -> Vec<Group> {
        let mut groups = vec![Group::All];
        let due = flows.iter().filter(|flow| flow.deadline.is_some()).count();
        if due > 0 {
            groups.push(Group::Deadline);
        }
        if due > 0 && due < flows.len() {
            groups.push(Group::NoDeadline);
        }
        let mut classes: Vec<u8> = flows.iter().map(|flow| flow.class).collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.iter().any(|class| *class > 0) {
            groups.extend(classes.into_iter().map(Group::Class));
        }
        groups
    }

    /// Whether a flow is one of the group.
    pub fn has(self, flow: &Measured) -> bool {
        match self {
            Group::All => true,
            Group::Deadline => flow.deadline.is_some(),
            Group::NoDeadline => flow.deadline.is_none(),
            Group::Class(class) => flow.class == class,
        }
    }

    /// What stands behind the size class in a summary's class.
    pub fn suffix(self) -> String {
        match self {
            Group::All => String::new(),
            Group::Deadline => format!("@{DEADLINE}"),
            Group::NoDeadline => format!("@{NO_DEADLINE}"),
            Group::Class(class) => format!("@{class}"),
        }
    }

    /// Whether `text`, what follows the "@", names a group.
    pub fn is_named(text: &str) -> bool {
        [DEADLINE, NO_DEADLINE].contains(&text) || text.parse::<u8>().is_ok()
    }
}

const DEADLINE: &str = "deadline";
const NO_DEADLINE: &str = "no-deadline";

/// Size classes: of all flows, and of those that a scenario's `short` and `long` part.
pub const SIZE_CLASSES: [&str; 4] = ["all", "short", "medium", "long"];

/// The size class of a flow of so many bytes.
pub fn size_class(bytes: u64, measure: &Measure) -> &'static str {
    match bytes {
        bytes if bytes <= measure.short.get() => "short",
        bytes if bytes <= measure.long.get() => "medium",
        _ => "long",
    }
}
