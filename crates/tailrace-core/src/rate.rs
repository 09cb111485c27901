//! What a scheme says of flows where rates are all there is: in which order a network would serve them.

use crate::{Bytes, FlowInfo};

/// A flow's place in the order of service. Flows of lower rank go first wherever they meet others, those of equal
/// rank share. Compared by the first number, then by the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u64, pub u64);

impl Rank {
    /// That of all flows which nothing sets apart.
    pub const SAME: Rank = Rank(0, 0);

    /// First come, first served: flows of a task share, lower task numbers go first. A flow of no task is one of its
    /// own, after all others.
    pub fn of_task(flow: &FlowInfo) -> Rank {
        match flow.task {
            0 => Rank(1, flow.id.into()),
            task => Rank(0, task.into()),
        }
    }
}

/// A flow that is to be ranked, as far as its scheme may know it.
#[derive(Clone, Copy, Debug)]
pub struct Prospect<'a> {
    /// The flow.
    pub flow: &'a FlowInfo,
    /// Payload bytes of its task over all stages, if flow sizes are known; those of the flow if it is of no task.
    pub task_size: Option<Bytes>,
    /// Payload bytes that are yet to be sent, if flow sizes are known.
    pub left: Option<Bytes>,
}

/// How a scheme shares links, in the limit of instant and exact feedback: strict priority by rank, (weighted) max–min
/// between equals.
pub trait RateRule {
    /// The flow's place in the order of service.
    fn rank(&self, prospect: &Prospect<'_>) -> Rank;

    /// Whether ranks change as flows progress. They are asked for anew whenever a flow comes that meets others.
    fn follows_progress(&self) -> bool {
        false
    }

    /// Bytes of one rank on a link beyond which the next one there joins it (limited multiplexing, Baraat §3.3).
    fn heavy(&self) -> Option<Bytes> {
        None
    }
}
