//! What the parts of a run tell each other.

use tailrace_core::{FlowId, Packet, Time};
use tailrace_fabric::PortId;

/// What one part tells another one.
#[derive(Clone, Copy)]
pub(crate) enum Letter<H> {
    /// A packet that `port` has sent arrives over its link.
    Packet { at: Time, port: PortId, packet: Packet<H> },
    /// Something that all must know.
    Edict(Edict),
}

/// Something to be known from some time on, in order of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edict {
    pub(crate) at: Time,
    pub(crate) flow: FlowId,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The flow is acknowledged in this priority.
    Acks(u8),
    /// The flow's sender is done: its receiver may go.
    Done,
    /// So many bytes have arrived, as senders of one part know.
    Arrived(u64),
    /// The run is to stop, for whoever follows it wants no more.
    Stop,
}
