//! What a scheme asks of a switch port, in terms that any vendor's configuration has.

use serde::Serialize;

use crate::{Bytes, MAX_PRIORITIES, Rate};

/// The queues and the marking of one port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchPlan {
    /// The queues in order of priority, 1 to 8 of them.
    pub queues: Vec<PlannedQueue>,
    /// Which queue sends next.
    pub service: Service,
    /// How packets are marked; not at all if missing.
    pub marking: Option<PlannedMarking>,
}

/// One queue of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedQueue {
    /// The code point that hosts write into packets for this queue.
    pub dscp: u8,
    /// Which packets those are.
    pub holds: String,
}

/// The code point of a priority, which is the number of its queue, the first being 0: DSCP 7 for the first queue, 0
/// for the eighth, as in the kernel modules of PIAS and Karuna.
pub fn dscp_of(queue: usize) -> u8 {
    (MAX_PRIORITIES - 1).saturating_sub(queue) as u8
}

impl PlannedQueue {
    /// Queue number `queue` of a port.
    pub fn new(queue: usize, holds: impl Into<String>) -> Self {
        PlannedQueue { dscp: dscp_of(queue), holds: holds.into() }
    }
}

/// Which queue sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// The first that holds anything.
    Strict,
    /// In turn, in proportion to weights.
    Weighted,
}

/// ECN marking at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedMarking {
    /// A packet is marked when the length, itself included, is above this.
    pub above_bytes: u64,
    /// Which length.
    pub length: MarkedLength,
    /// The link rate that the threshold was given for, if it is another than the plan's.
    pub given_for: Option<Rate>,
}

impl PlannedMarking {
    /// Marking above a threshold.
    pub fn new(above: Bytes, length: MarkedLength, given_for: Option<Rate>) -> Self {
        PlannedMarking { above_bytes: above.get(), length, given_for }
    }
}

/// The length that is compared with a marking threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkedLength {
    /// That of all queues together.
    Port,
    /// That of the packet's queue.
    Queue,
    /// For the first queue its own, for the others that of all queues together.
    PortExceptFirst,
}
