//! The traits a scheme is made of. Each part is told `now` and answers with data; drivers (simulator,
//! Linux agent, software switch) carry it out.

use crate::{Bytes, FlowInfo, FlowView, Header, Packet, Rate, Reason, SeriesSink, TagTable, Time};

/// What one or more acknowledgements told the sender.
#[derive(Clone, Copy, Debug)]
pub struct AckSample<H = ()> {
    /// When the sample reached the sender.
    pub now: Time,
    /// Payload bytes acknowledged for the first time.
    pub acked: Bytes,
    /// Of these, bytes whose packets carried a congestion mark.
    pub marked: Bytes,
    /// Payload bytes still unacknowledged and not known to be lost.
    pub in_flight: Bytes,
    /// Round-trip time of the packet that caused the acknowledgement. It carries its own send time, so
    /// retransmissions measure as well as first transmissions.
    pub rtt: Time,
    /// Whether the flow had less to send than its window allowed.
    pub app_limited: bool,
    /// The scheme's header, as the receiver returned it.
    pub echo: H,
}

/// How a loss was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// By acknowledgements above a hole; once per window of data.
    Fast,
    /// By the retransmission timer.
    Timeout,
}

/// What a law lets its flow have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Payload bytes that may be in flight.
    pub window: Bytes,
    /// Wire rate at which packets may leave; `None` sends as the window opens.
    pub pacing: Option<Rate>,
}

/// A data segment about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Payload bytes of the flow that precede it.
    pub before: Bytes,
    /// Payload bytes in it.
    pub len: u16,
    /// Whether it ends the flow.
    pub last: bool,
}

/// A congestion control law; one value per flow.
pub trait CongestionLaw<H: Header = ()> {
    /// The header of a data packet about to leave.
    #[inline]
    fn stamp(&mut self, _now: Time, _segment: &Segment) -> H {
        H::NONE
    }
    /// New data was acknowledged. `flow` is the state after it.
    fn on_ack(&mut self, ack: &AckSample<H>, flow: &FlowView);
    /// A loss was noticed. `flow` is the state before the repair.
    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView);
    /// What the flow may have now.
    fn allowance(&self) -> Allowance;
}

/// What a host policy decides for one flow: data that a driver can carry into a kernel map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Bytes sent → priority.
    pub tags: TagTable,
}

/// Whether the directives of flows in progress have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// They stand.
    None,
    /// Ask [`HostPolicy::directive`] again for every flow of this host.
    All,
}

/// What a host knows and decides; one value per host.
pub trait HostPolicy {
    /// The directive of a flow that starts, or of a flow in progress after [`Refresh::All`].
    fn directive(&self, flow: &FlowInfo) -> Directive;
    /// A flow of this host has completed after `size` payload bytes.
    fn on_flow_end(&mut self, _now: Time, _size: Bytes) {}
    /// When this policy wants to be woken next.
    fn next_wake(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come.
    fn on_wake(&mut self, _now: Time, _series: &mut dyn SeriesSink) -> Refresh {
        Refresh::None
    }
}

/// A host policy that leaves every packet in the highest priority.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untagged;

impl HostPolicy for Untagged {
    fn directive(&self, _: &FlowInfo) -> Directive {
        Directive { tags: TagTable::FLAT }
    }
}

/// The policy of one egress port: which packet is next, which is marked, which is dropped.
pub trait PortPolicy<H: Header = ()> {
    /// Takes in a packet. The port may hold `room` bytes in all, this packet included; what does not fit
    /// goes to `drop` — the newcomer, or what the policy evicts for it.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    );
    /// A packet is about to start on an idle link without ever waiting. Returns what leaves: by default
    /// what [`Self::enqueue`] then [`Self::dequeue`] would have given.
    #[inline]
    fn pass(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> Option<Packet<H>> {
        self.enqueue(now, packet, room, drop);
        self.dequeue(now)
    }
    /// Gives the next packet to send.
    fn dequeue(&mut self, now: Time) -> Option<Packet<H>>;
    /// Bytes held.
    fn backlog(&self) -> Bytes;
    /// Packets held.
    fn backlog_packets(&self) -> usize;
    /// Bytes held in one priority queue, for samples.
    fn backlog_of(&self, priority: u8) -> Bytes;
    /// Packets marked "congestion experienced" so far.
    fn marked(&self) -> u64;
    /// When this policy wants to be woken next.
    fn next_wake(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come.
    fn on_wake(&mut self, _now: Time, _series: &mut dyn SeriesSink) {}
}
