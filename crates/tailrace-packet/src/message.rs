//! The messages that the logical processes of a run send each other, each with the time from which it counts.

use tailrace_core::{FlowId, Packet, Time};
use tailrace_fabric::PortId;

/// A message from one logical process to another.
#[derive(Clone, Copy)]
pub(crate) enum Message<H> {
    /// A packet that `port` has sent arrives over its link.
    Packet { at: Time, port: PortId, packet: Packet<H> },
    /// An event that happens in all logical processes.
    GlobalEvent(GlobalEvent),
}

/// An event of the whole run that no packet carries. It happens in every logical process at the same time; events are in order of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlobalEvent {
    pub(crate) at: Time,
    pub(crate) flow: FlowId,
    pub(crate) kind: GlobalEventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GlobalEventKind {
    /// The flow is acknowledged in this priority.
    Acks(u8),
    /// The flow's sender is done: its receiver may go.
    Done,
    /// So many bytes have arrived, by the count of the senders of one logical process.
    Arrived(u64),
    /// The run stops, by order of its caller.
    Stop,
}
