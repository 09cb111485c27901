//! Flows, and what a policy may see of them.

use crate::{Bytes, Time};

/// A flow's number, counted from the start of the run in order of start time.
pub type FlowId = u32;
/// A host's number.
pub type HostId = u16;

/// What a policy may know of a flow. The driver blanks what the scheme's [`crate::Knowledge`] does not
/// include, so a policy cannot use what its setting says is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowInfo {
    /// The flow's number.
    pub id: FlowId,
    /// Payload bytes, if known when the flow starts.
    pub size: Option<Bytes>,
    /// Absolute deadline, if there is one and it is known.
    pub deadline: Option<Time>,
}

/// A flow in progress, as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct FlowView {
    /// Payload bytes sent at least once; the next new byte's offset.
    pub sent: Bytes,
    /// Payload bytes acknowledged without a gap.
    pub acked: Bytes,
}
