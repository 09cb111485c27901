//! The traits a scheme is made of. Each part is told `now` and answers with data; drivers (simulator,
//! Linux agent, software switch) carry it out.

use serde::{Deserialize, Serialize};

use crate::{Bytes, FlowInfo, FlowView, Header, Packet, Rate, Reason, SeriesSink, TagTable, Time, Weight};

/// What one or more acknowledgements told the sender.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
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
    /// Smoothed round-trip time, this one included (RFC 6298: 7/8 old, 1/8 new).
    pub srtt: Time,
    /// Whether the flow had less to send than its window allowed.
    pub app_limited: bool,
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

/// How a law sees the prospects of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It goes on.
    #[default]
    Going,
    /// It goes on without its deadline: the host policy is asked anew how to tag what is left.
    Demoted,
    /// It is given up: nothing more is sent.
    Stopped,
}

/// A congestion control law; one value per flow.
///
/// Laws that talk to the network also send headers without data ([`Self::probe`]) and read what comes back
/// in every acknowledgement ([`Self::on_feedback`]). A law around another one is a [`Wrapper`](crate::Wrapper).
pub trait CongestionLaw<H: Header = ()> {
    /// The header of a data packet about to leave. `flow` is the state before it.
    #[inline]
    fn stamp(&mut self, _now: Time, _segment: &Segment, _flow: &FlowView) -> H {
        H::NONE
    }
    /// An acknowledgement brought back a header: of data, old or new, or of a probe. Comes before
    /// [`Self::on_ack`].
    #[inline]
    fn on_feedback(&mut self, _now: Time, _rtt: Time, _echo: &H, _flow: &FlowView) {}
    /// New data was acknowledged. `flow` is the state after it.
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView);
    /// A loss was noticed. `flow` is the state before the repair.
    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView);
    /// What the flow may have now.
    fn allowance(&self) -> Allowance;
    /// Packets that may leave at once where packets are paced, after a pause of as many. Asked for with each
    /// allowance.
    #[inline]
    fn burst(&self) -> u16 {
        1
    }
    /// When a header without data is due, if no data packet carries one first; [`Time::MAX`] for never.
    #[inline]
    fn probe_at(&self) -> Time {
        Time::MAX
    }
    /// The header that is due.
    fn probe(&mut self, _now: Time, _flow: &FlowView) -> H {
        H::NONE
    }
    /// The header of a last packet without data that tells the network that the flow has ended.
    fn farewell(&mut self, _now: Time) -> Option<H> {
        None
    }
    /// How the law sees the prospects of its flow.
    #[inline]
    fn standing(&self) -> Standing {
        Standing::Going
    }
    /// The flow has a new directive: its first, or one that replaces it.
    fn directed(&mut self, _directive: &Directive) {}
    /// The flow has lost its deadline: a [`Standing::Demoted`] has been seen to.
    fn demoted(&mut self) {}
    /// Reports what has happened since the last call, for traces. Called after each acknowledgement of a
    /// flow that is traced.
    fn trace(&mut self, _now: Time, _series: &mut dyn SeriesSink) {}
}

/// What a host policy decides for one flow: data that a driver can carry into a kernel map, or to another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directive {
    /// Bytes sent → priority.
    pub tags: TagTable,
    /// Priority of the flow's acknowledgements.
    pub acks: u8,
    /// How much the flow counts beside others.
    pub weight: Weight,
    /// What its host lets it send, if that is less than the link; see [`HostPolicy::CAPS`].
    pub cap: Option<Cap>,
}

/// A rate that flows of a host share: they send packet by packet in turn, no two closer than the rate allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// Flows of a host whose caps have the same number share one.
    pub group: u8,
    /// Wire bytes over time; for all of the group that which was said last.
    pub rate: Rate,
}

impl Directive {
    /// These tags; acknowledgements in the highest priority, the weight of one, and no cap.
    pub fn tagged(tags: TagTable) -> Self {
        Directive { tags, acks: 0, weight: Weight::ONE, cap: None }
    }
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
    /// Whether its directives may have caps. Where this is `false`, a cap is not looked at.
    const CAPS: bool = false;
    /// The directive of a flow that starts, or of a flow in progress after [`Refresh::All`].
    fn directive(&self, flow: &FlowInfo) -> Directive;
    /// The retransmission timer of a flow has expired for the `consecutive`-th time without progress. A new
    /// directive replaces the `current` one.
    fn on_timeout(
        &self,
        _flow: &FlowInfo,
        _view: &FlowView,
        _consecutive: u32,
        _current: &Directive,
    ) -> Option<Directive> {
        None
    }
    /// A flow of this host has completed after `size` payload bytes; `flow` is as the scheme knows it.
    fn on_flow_end(&mut self, _now: Time, _flow: &FlowInfo, _size: Bytes) {}
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
        Directive::tagged(TagTable::FLAT)
    }
}

/// The policy of one egress port: which packet is next, which is marked, which is dropped.
pub trait PortPolicy<H: Header = ()> {
    /// Whether the port wants to see acknowledgements that come back over its link; their flows must then
    /// take the same way in both directions.
    const REVERSE: bool = false;
    /// Whether the port sends as long as it holds packets. One that does not is asked when it will
    /// ([`Self::next_ready`]), and never whether it lets a packet [`Self::pass`] or [ignores](Self::ignores) it.
    const WORK_CONSERVING: bool = true;
    /// When [`Self::dequeue`] will give the next packet if nothing else happens at the port: `now` or later;
    /// `None` if it holds no packet, or will not know before its [`Self::on_wake`].
    #[inline]
    fn next_ready(&self, now: Time) -> Option<Time> {
        (self.backlog_packets() > 0).then_some(now)
    }
    /// An acknowledgement of packets that passed this port comes back over its link. It makes no packet ready
    /// earlier.
    fn on_reverse(&mut self, _now: Time, _packet: &mut Packet<H>) {}
    /// Takes in a packet. The port may hold `room` in all, this packet included, as its
    /// [`QueueUnit`](crate::QueueUnit) counts; what does not fit goes to `drop` — the newcomer, or what the
    /// policy evicts for it.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    );
    /// Whether the port is empty, and a packet that finds its link idle leaves at once as it is and changes nothing:
    /// [`Self::pass`] is then not called for it. Asked at any time, also of a port that holds packets.
    #[inline]
    fn ignores(&self, _packet: &Packet<H>, _room: Bytes) -> bool {
        false
    }
    /// A packet is about to start on an idle link without ever waiting. Returns whether one leaves, which `packet` then is; if
    /// none does, `packet` means nothing any more. By default what [`Self::enqueue`] then [`Self::dequeue`] would have given.
    #[inline]
    fn pass(
        &mut self,
        now: Time,
        packet: &mut Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> bool {
        self.enqueue(now, *packet, room, drop);
        self.dequeue(now).map(|leaves| *packet = leaves).is_some()
    }
    /// Gives the next packet to send.
    fn dequeue(&mut self, now: Time) -> Option<Packet<H>>;
    /// Bytes held, whatever the unit of `room`.
    fn backlog(&self) -> Bytes;
    /// Packets held.
    fn backlog_packets(&self) -> usize;
    /// Whether it holds none. Nobody then asks for one.
    #[inline]
    fn is_empty(&self) -> bool {
        self.backlog_packets() == 0
    }
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
