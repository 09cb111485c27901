//! What SPC adds to packets: what a flow asks for, and what each port tells it (Baraat §4.4).
//!
//! A port that holds a flow back counts all that the flow could use, so that it gets its share of what becomes free
//! with its next request, and whoever comes after it does not. The other ports of its way count what this one
//! leaves it, so that others have the rest.

use tailrace_core::{Header, TaskId};
use tailrace_queues::Epoch;
use tailrace_transport::Message;

use super::held::Held;
use super::scale::{Grains, Scale};

/// Ports that a header has room for.
pub const HOPS: usize = 6;
/// A scale has room for a sixteenth more than a steady share, and holds one that moves if that is 16 units at least.
const HEADROOM: Grains = 16;

/// A port's part of the header. Rates are in the header's scale once the port was passed, before that in the
/// scale of the request before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The nominal rate, NR: what the flow's class leaves it.
    pub nominal: u8,
    /// The actual rate, AR: what is allocated. Before the port was passed, what it allocated last. Where NR is 0 so is
    /// AR, and the byte tells when to ask again, in eighths of a round trip.
    pub actual: u8,
    /// What the port counted of the flow, and when.
    pub receipt: Receipt,
}

impl Hop {
    /// In so many parts of a round trip it is told how long to wait.
    const PARTS: f64 = 8.0;

    /// What a port tells that leaves a flow nothing, and wants to be asked again after so many round trips.
    pub(super) fn waiting(rounds: f64) -> u8 {
        (rounds * Self::PARTS) as u8
    }

    fn rounds(&self) -> f64 {
        if self.nominal == 0 { f64::from(self.actual) / Self::PARTS } else { 0.0 }
    }

    /// How much the port holds a flow back: by a small share, by none, or by a long time to wait.
    fn restraint(&self) -> u16 {
        let share = u16::from(u8::MAX - self.nominal);
        if self.nominal == 0 { share + u16::from(self.actual) } else { share }
    }

    /// AR.
    pub(super) fn allocated(&self) -> u8 {
        if self.nominal == 0 { 0 } else { self.actual }
    }
}

/// What a port remembers by: a flow brings it back with its next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// In which of the port's epochs the flow was counted.
    pub epoch: Epoch,
    /// Whether with all that it could use.
    pub most: bool,
}

impl Receipt {
    /// None: the flow was not counted.
    pub const NONE: Receipt = Receipt { epoch: Epoch::NEVER, most: false };
    const BITS: usize = 5;

    fn to_bits(self) -> u32 {
        u32::from(self.epoch.to_byte()) << 1 | u32::from(self.most)
    }
    fn from_bits(raw: u32) -> Self {
        Receipt { epoch: Epoch::from_byte(raw as u8 >> 1 & 15), most: raw & 1 == 1 }
    }
}

/// The switch index, of three bits, and one that the flow sets which asks: the lower half of a byte of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Index(u8);

impl Index {
    const PORTS: u8 = 0x07;
    const ENDS_SOON: u8 = 0x08;

    /// After so many ports, [`HOPS`] at most, in a header of a flow that ends soon or not.
    pub fn new(ports: u8, ends_soon: bool) -> Self {
        Index(ports | (u8::from(ends_soon) * Self::ENDS_SOON))
    }

    /// Ports passed so far.
    #[inline]
    pub fn ports(self) -> usize {
        usize::from(self.0 & Self::PORTS)
    }

    /// Whether what the flow has to send is a round trip's, or not much more.
    #[inline]
    pub fn ends_soon(self) -> bool {
        self.0 & Self::ENDS_SOON != 0
    }

    /// One port more.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.0 += 1;
    }

    fn from_bits(raw: u8) -> Option<Self> {
        let index = Index(raw & (Self::PORTS | Self::ENDS_SOON));
        (index.ports() <= HOPS).then_some(index)
    }
}

/// The rates that a flow requests, in a header's scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedRates {
    /// Its demand: what the narrowest port of its way leaves it of `most`.
    pub demand: u8,
    /// What it could use, as far as the scale goes.
    pub most: u8,
}

impl Held {
    /// What a flow holds that has asked for `requested` and was given `hop`, in this scale. What it was given beyond what
    /// is counted as its demand is not kept for it.
    #[inline]
    pub fn at(scale: Scale, requested: RequestedRates, hop: &Hop) -> Self {
        let demand = scale.grains(if hop.receipt.most { requested.most } else { requested.demand });
        Held::flow(demand, scale.grains(hop.allocated()).min(demand))
    }
}

/// A rate request, its answer, or the end of a flow.
///
/// Each port replaces the AR that it gave last by the one that it gives now. So the six bytes which the paper
/// has for ARs that are sent back hold what ports remember by, in five bits each, and what the flow could use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaraatHeader {
    /// The flow's task.
    pub task: TaskId,
    /// What it is for.
    pub message: Message,
    /// Switch index, and whether the flow ends soon.
    pub index: Index,
    /// The scale of rates asked for and told now.
    pub scale: Scale,
    /// The scale of the request before.
    pub scale_before: Scale,
    /// What the flow asks for.
    pub requested: RequestedRates,
    /// What it asked for with its last request.
    pub requested_before: RequestedRates,
    /// By port.
    pub hops: [Hop; HOPS],
}

impl BaraatHeader {
    /// What the flow demands.
    #[inline]
    pub fn demanded(&self) -> Grains {
        self.scale.grains(self.requested.demand)
    }

    /// What the flow could use, as far as the scale goes.
    #[inline]
    pub fn most(&self) -> Grains {
        self.scale.grains(self.requested.most)
    }

    /// What the next port has counted of the flow, unless the header has no room for that port.
    #[inline]
    pub fn held(&self) -> Option<Held> {
        let hop = self.hops.get(self.index.ports())?;
        Some(Held::at(self.scale_before, self.requested_before, hop))
    }

    /// Whether the next port is the one that holds the flow back: it left it no more than the flow now demands, and of such
    /// ports the flow has to wait longest for this one. If several counted what waits, each but one would keep it from
    /// others for nothing.
    #[inline]
    pub fn is_held_back_here(&self) -> bool {
        let demand = self.scale.grains(self.requested.demand);
        let narrow = |hop: &&Hop| self.scale_before.grains(hop.nominal) <= demand;
        let (before, rest) = self.hops.split_at(self.index.ports().min(HOPS));
        let mut rest = rest.iter();
        let Some(here) = rest.next().filter(narrow) else { return false };
        // Ports that were passed have decided on this request, those to come are known by their last answer.
        let is_longest = |hop: &Hop| hop.receipt.epoch == Epoch::NEVER || hop.restraint() < here.restraint();
        !before.iter().any(|hop| hop.receipt.most) && rest.filter(narrow).all(is_longest)
    }

    fn passed(&self) -> &[Hop] {
        &self.hops[..self.index.ports()]
    }

    fn least(&self, rate: impl Fn(&Hop) -> u8) -> Grains {
        self.scale.grains(self.passed().iter().map(rate).min().unwrap_or_default())
    }

    /// After how many round trips the ports that leave the flow nothing want to be asked again.
    pub fn rounds_to_wait(&self) -> f64 {
        self.passed().iter().map(Hop::rounds).fold(0.0, f64::max)
    }

    /// Whether a port keeps a rate for the flow, used or not.
    pub fn is_kept(&self) -> bool {
        self.passed().iter().any(|hop| Held::at(self.scale, self.requested, hop).allocated > 0)
    }

    /// The rate to send at: the least AR of the way; nothing if no port was passed.
    pub fn actual(&self) -> Grains {
        self.least(Hop::allocated)
    }

    /// The share of the bottleneck: the least NR of the way.
    pub fn nominal(&self) -> Grains {
        self.least(|hop| hop.nominal)
    }

    /// The request that follows this answer: rates are rounded up.
    pub fn next_request(&self, demand: Grains, most: Grains) -> Self {
        let scale = self.next_scale(demand, most);
        let requested = RequestedRates { demand: scale.at_least(demand), most: scale.at_least(most) };
        let (scale_before, requested_before) = (self.scale, self.requested);
        let index = Index::default();
        BaraatHeader {
            message: Message::Request,
            index,
            scale,
            scale_before,
            requested,
            requested_before,
            ..*self
        }
    }

    /// The scale of the next request, and so what can be told at most: 255 units. A flow asks in the scale of its share:
    /// what 40 flows have each is hardly three units of what the link has. But whoever has no share yet, or one that
    /// moves, may be told all that it could use, as long as its share is not lost in that scale; and whoever was told as much
    /// as could be told, 16 times as much.
    fn next_scale(&self, demand: Grains, most: Grains) -> Scale {
        let (whole, before) = (Scale::of(most), self.demanded());
        let moves = before.abs_diff(demand) * HEADROOM > demand;
        if demand == 0 || before == 0 || moves && u64::from(whole.at_most(demand)) >= HEADROOM {
            whole
        } else if self.requested.most == u8::MAX && demand >= most {
            whole.min(self.scale.coarser())
        } else {
            Scale::of(most.min(demand + demand / HEADROOM))
        }
    }

    /// The end of a flow of which this was the last answer.
    pub fn farewell(&self) -> Self {
        BaraatHeader { message: Message::End, ..self.next_request(0, 0) }
    }
}

impl Header for BaraatHeader {
    const NONE: BaraatHeader = BaraatHeader {
        task: 0,
        message: Message::None,
        index: Index(0),
        scale: Scale::FINEST,
        scale_before: Scale::FINEST,
        requested: RequestedRates { demand: 0, most: 0 },
        requested_before: RequestedRates { demand: 0, most: 0 },
        hops: [Hop { nominal: 0, actual: 0, receipt: Receipt::NONE }; HOPS],
    };
    /// 4 of task, 1 of scales, 12 of feedback, 4 of receipts, 1 of index and message, 4 of requested rates.
    const WIRE_BYTES: u16 = 26;

    fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.task.to_be_bytes());
        out[4] = self.scale.to_byte(self.scale_before);
        let mut receipts = 0;
        for (i, hop) in self.hops.iter().enumerate() {
            (out[5 + 2 * i], out[6 + 2 * i]) = (hop.nominal, hop.actual);
            receipts |= hop.receipt.to_bits() << (Receipt::BITS * i);
        }
        out[17..21].copy_from_slice(&receipts.to_be_bytes());
        out[21] = (self.message as u8) << 4 | self.index.0;
        let (requested, before) = (self.requested, self.requested_before);
        out[22..26].copy_from_slice(&[requested.demand, requested.most, before.demand, before.most]);
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let raw: &[u8; 26] = raw.first_chunk()?;
        let (scale, scale_before) = Scale::from_byte(raw[4]);
        let receipts = u32::from_be_bytes([raw[17], raw[18], raw[19], raw[20]]);
        // Receipts leave the top two bits free. A header that has them set is not one of ours.
        let is_ours = receipts >> (Receipt::BITS * HOPS) == 0;
        is_ours.then_some(BaraatHeader {
            task: u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]),
            message: Message::from_byte(raw[21] >> 4)?,
            index: Index::from_bits(raw[21])?,
            scale,
            scale_before,
            requested: RequestedRates { demand: raw[22], most: raw[23] },
            requested_before: RequestedRates { demand: raw[24], most: raw[25] },
            hops: std::array::from_fn(|i| Hop {
                nominal: raw[5 + 2 * i],
                actual: raw[6 + 2 * i],
                receipt: Receipt::from_bits(receipts >> (Receipt::BITS * i)),
            }),
        })
    }

    #[inline]
    fn wire_bytes(&self) -> u16 {
        if self.message == Message::None { 0 } else { Self::WIRE_BYTES }
    }

    #[inline]
    fn returned(&self) -> Self {
        match self.message {
            Message::Request => BaraatHeader { message: Message::Answer, ..*self },
            _ => Self::NONE,
        }
    }
}
