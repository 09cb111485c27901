//! Flows, and what a policy may see of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Time};

/// A flow's number, counted from the start of the run in order of start time.
pub type FlowId = u32;
/// A task's number, in the order of priority of schemes that serve tasks first come, first served; 0 for flows
/// of no task.
pub type TaskId = u32;
/// A host's number.
pub type HostId = u32;
/// A slice's number, counted from 1; 0 for flows of no slice.
pub type SliceId = u16;

/// What an application tells of its flows when they start (Karuna §2.1 calls them types 1, 2 and 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reveals {
    /// Size and deadline: type 1.
    Deadline,
    /// The size: type 2.
    #[default]
    Size,
    /// Nothing: type 3.
    Nothing,
}

impl Reveals {
    /// Karuna's number of it, as `flow_type` in flow lists and results: 1, 2 or 3.
    pub fn flow_type(self) -> u8 {
        match self {
            Reveals::Deadline => 1,
            Reveals::Size => 2,
            Reveals::Nothing => 3,
        }
    }

    /// Blanks what the application does not tell.
    pub fn filter(self, flow: FlowInfo) -> FlowInfo {
        FlowInfo {
            id: flow.id,
            src: flow.src,
            dst: flow.dst,
            size: flow.size.filter(|_| self != Reveals::Nothing),
            start: flow.start,
            deadline: flow.deadline.filter(|_| self == Reveals::Deadline),
            slice: flow.slice,
            task: flow.task,
        }
    }
}

/// What a policy may know of a flow. The driver blanks what the scheme's [`crate::Knowledge`] does not
/// include, so a policy cannot use what its setting says is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowInfo {
    /// The flow's number.
    pub id: FlowId,
    /// The host that sends.
    pub src: HostId,
    /// The host that receives.
    pub dst: HostId,
    /// Payload bytes, if known when the flow starts.
    pub size: Option<Bytes>,
    /// When the flow started.
    pub start: Time,
    /// Absolute deadline, if there is one and it is known.
    pub deadline: Option<Time>,
    /// The slice that it belongs to: networks know their tenants.
    pub slice: SliceId,
    /// The task that it belongs to: applications tell all their flows (Baraat §4.1).
    pub task: TaskId,
}

/// A flow in progress, as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct FlowView {
    /// Payload bytes sent at least once; the next new byte's offset.
    pub sent: Bytes,
    /// Payload bytes acknowledged without a gap.
    pub acked: Bytes,
    /// Payload bytes acknowledged in any order.
    pub delivered: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Knowledge;

    #[test]
    fn what_is_not_revealed_or_not_to_be_known_is_blank() {
        let (size, deadline) = (Some(Bytes::new(9)), Some(Time::from_us(5)));
        let flow =
            FlowInfo { id: 3, src: 0, dst: 1, size, start: Time::from_us(1), deadline, slice: 2, task: 7 };
        let seen = |reveals: Reveals, sizes, deadlines| {
            let known = Knowledge { sizes, deadlines }.filter(reveals.filter(flow));
            let always = |flow: FlowInfo| (flow.id, flow.src, flow.dst, flow.start, flow.slice, flow.task);
            assert_eq!(always(known), always(flow));
            (known.size, known.deadline)
        };
        assert_eq!(seen(Reveals::Deadline, true, true), (size, deadline));
        assert_eq!(seen(Reveals::Deadline, true, false), (size, None));
        assert_eq!(seen(Reveals::Size, true, true), (size, None));
        assert_eq!(seen(Reveals::Nothing, true, true), (None, None));
        assert_eq!(seen(Reveals::Deadline, false, false), (None, None));
    }
}
