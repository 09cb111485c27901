//! A push-out queue ordered by packet ranks: the switch port of pFabric (Alizadeh et al., SIGCOMM 2013), with
//! the ties broken as in its authors' ns-2 queue.

use std::collections::VecDeque;

use tailrace_core::{Bytes, Header, Packet, PortPolicy, QueueUnit, Reason, Scales, Time};

/// A header by which packets are ranked.
pub trait Ranked {
    /// The packet's rank, in any unit; the smaller, the more urgent.
    fn rank(&self) -> u64;
}

/// No slot: the end of a chain.
const NONE: u32 = u32::MAX;
/// Low bits of [`SendOrder::ticket`] that number a slot, which leaves 2⁴⁰ arrivals.
const SLOT_BITS: u32 = 24;
/// Lines of a port at its first packet, a power of two.
const FIRST_LINES: usize = 16;

/// Where a packet stands in the order of sending: by rank, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SendOrder {
    rank: u64,
    /// The number of the arrival, then [`SLOT_BITS`] that say where the packet is kept.
    ticket: u64,
}

impl SendOrder {
    #[inline]
    fn slot(self) -> u32 {
        (self.ticket & ((1 << SLOT_BITS) - 1)) as u32
    }
}

/// A packet and its neighbours in its line.
#[derive(Clone, Copy, Debug)]
struct Slot<H> {
    packet: Packet<H>,
    place: SendOrder,
    before: u32,
    /// In a free slot: the next free one.
    after: u32,
}

/// The ends of a chain of slots in order of arrival.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: u32,
    last: u32,
}

impl Line {
    const EMPTY: Line = Line { first: NONE, last: NONE };
}

/// A port that sends the packet of the smallest rank next and, when full, drops that of the largest.
///
/// - A packet that makes the port overflow pushes out packets of the largest rank, the latest arrival first
///   among equals, until the rest fits; it may itself be the one.
/// - The flow whose packet has the smallest rank, the earliest arrival among equals, sends its *earliest*
///   packet, so that a flow is never reordered. The acknowledgements of a flow are a flow of their own.
///
/// All packets stand in one sorted ring, the best in front and the worst at the back: both ends are at hand,
/// and an insertion moves the shorter side. It is a ring of packets, not of flows with their minima, because
/// the worst packet is wanted as often as the best one (senders do not slow down, so a busy port is full), and
/// because ranks come in runs: a flow that sends its remaining size enters in front of its own packets and
/// leaves behind them; acknowledgements of rank 0 enter behind their equals. What moves is 16 bytes a packet:
/// even a thousand acknowledgements fit the first-level cache.
#[derive(Clone, Debug)]
pub struct RankQueue<H> {
    scales: Scales,
    /// What the packets held count.
    length: u64,
    /// Bytes held.
    bytes: u64,
    /// Packets that found room so far.
    arrivals: u64,
    /// Everything held, the most urgent in front.
    order: VecDeque<SendOrder>,
    /// Where packets are kept; used again, the latest left first.
    slots: Vec<Slot<H>>,
    /// The first free slot.
    free: u32,
    /// Packets in order of arrival, each flow in the line that its hash says. There are no fewer lines than
    /// packets, hence few strangers in a line, and no table of flows to keep.
    lines: Vec<Line>,
}

impl<H> RankQueue<H> {
    /// An empty port whose room counts in `unit`.
    pub fn new(unit: QueueUnit) -> Self {
        RankQueue {
            scales: unit.scales(),
            length: 0,
            bytes: 0,
            arrivals: 0,
            order: VecDeque::new(),
            slots: Vec::new(),
            free: NONE,
            lines: Vec::new(),
        }
    }
}

impl<H: Header + Ranked> RankQueue<H> {
    /// Puts a packet into the order and into its flow's line.
    #[inline]
    fn insert(&mut self, packet: Packet<H>) {
        if self.order.len() >= self.lines.len() {
            self.widen();
        }
        let slot = self.free_slot(packet);
        let place =
            SendOrder { rank: packet.header.rank(), ticket: self.arrivals << SLOT_BITS | u64::from(slot) };
        self.arrivals += 1;
        self.length += self.scales.weigh(packet.bytes);
        self.bytes += u64::from(packet.bytes);
        self.slots[slot as usize].place = place;
        self.join(slot);
        if self.order.back().is_none_or(|worst| *worst < place) {
            self.order.push_back(place);
        } else if self.order.front().is_some_and(|best| place < *best) {
            self.order.push_front(place);
        } else {
            let at = self.order.partition_point(|other| *other < place);
            self.order.insert(at, place);
        }
    }

    /// A slot that holds `packet`, at no place yet.
    #[inline]
    fn free_slot(&mut self, packet: Packet<H>) -> u32 {
        let slot = self.free;
        if let Some(kept) = self.slots.get_mut(slot as usize) {
            self.free = kept.after;
            kept.packet = packet;
            return slot;
        }
        assert!(self.slots.len() < 1 << SLOT_BITS, "a port holds less than 2^{SLOT_BITS} packets");
        self.slots.push(Slot { packet, place: SendOrder { rank: 0, ticket: 0 }, before: NONE, after: NONE });
        (self.slots.len() - 1) as u32
    }

    /// Takes a packet that has left the order out of its slot.
    #[inline]
    fn take(&mut self, slot: u32) -> Packet<H> {
        let Slot { packet, before, after, .. } = self.slots[slot as usize];
        let line = self.line_of(&packet);
        match self.slots.get_mut(before as usize) {
            Some(neighbour) => neighbour.after = after,
            None => self.lines[line].first = after,
        }
        match self.slots.get_mut(after as usize) {
            Some(neighbour) => neighbour.before = before,
            None => self.lines[line].last = before,
        }
        self.slots[slot as usize].after = self.free;
        self.free = slot;
        self.length -= self.scales.weigh(packet.bytes);
        self.bytes -= u64::from(packet.bytes);
        packet
    }

    /// The line of a packet's flow.
    #[inline]
    fn line_of(&self, packet: &Packet<H>) -> usize {
        let flow = u64::from(packet.flow) << 1 | u64::from(packet.is_ack());
        // Multiplicative hashing (Knuth, vol. 3, §6.4): the upper bits, as many as number the lines.
        let hash = flow.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> (u64::BITS - self.lines.len().trailing_zeros())) as usize
    }

    /// Lets a slot join the end of its line.
    #[inline]
    fn join(&mut self, slot: u32) {
        let line = self.line_of(&self.slots[slot as usize].packet);
        let last = std::mem::replace(&mut self.lines[line].last, slot);
        match self.slots.get_mut(last as usize) {
            Some(neighbour) => neighbour.after = slot,
            None => self.lines[line].first = slot,
        }
        let joined = &mut self.slots[slot as usize];
        (joined.before, joined.after) = (last, NONE);
    }

    /// Doubles the lines. Each new one takes packets of one old line, so they stay in order of arrival.
    #[cold]
    fn widen(&mut self) {
        let lines = (2 * self.lines.len()).max(FIRST_LINES);
        let narrow = std::mem::replace(&mut self.lines, vec![Line::EMPTY; lines]);
        for line in narrow {
            let mut next = line.first;
            while next != NONE {
                let slot = next;
                next = self.slots[slot as usize].after;
                self.join(slot);
            }
        }
    }

    /// The earliest packet of the flow whose packet is in `slot`.
    #[inline]
    fn first_of_flow(&self, slot: u32) -> u32 {
        let packet = &self.slots[slot as usize].packet;
        let mut first = self.lines[self.line_of(packet)].first;
        loop {
            let Slot { packet: other, after, .. } = &self.slots[first as usize];
            if other.flow == packet.flow && other.is_ack() == packet.is_ack() {
                return first;
            }
            first = *after;
        }
    }

    /// Drops the worst packets, of those with ranks from `rank`, until what is held counts no more than `limit`.
    #[inline]
    fn push_out(&mut self, limit: u64, rank: u64, drop: &mut impl FnMut(Packet<H>, Reason)) {
        while self.length > limit
            && let Some(&worst) = self.order.back()
            && worst.rank >= rank
        {
            self.order.pop_back();
            drop(self.take(worst.slot()), Reason::Evicted);
        }
    }
}

impl<H: Header + Ranked> PortPolicy<H> for RankQueue<H> {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) {
        let (room, weight) = (room.get(), self.scales.weigh(packet.bytes));
        // The newcomer arrived last: of those with its rank it goes first, so only larger ranks make way.
        if let Some(above) = packet.header.rank().checked_add(1) {
            self.push_out(room.saturating_sub(weight), above, drop);
        }
        if self.length + weight <= room {
            return self.insert(packet);
        }
        drop(packet, Reason::Buffer);
        // Only where others share the buffer can room have become less than what is held.
        self.push_out(room, 0, drop);
    }

    #[inline]
    fn ignores(&self, packet: &Packet<H>, room: Bytes) -> bool {
        self.order.is_empty() && self.scales.weigh(packet.bytes) <= room.get()
    }

    #[inline]
    fn pass(
        &mut self,
        _now: Time,
        packet: &mut Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> bool {
        debug_assert!(self.order.is_empty(), "only an empty port can be passed");
        if self.scales.weigh(packet.bytes) > room.get() {
            drop(*packet, Reason::Buffer);
            return false;
        }
        true
    }

    #[inline]
    fn dequeue(&mut self, _now: Time) -> Option<Packet<H>> {
        let best = self.order.front()?.slot();
        let first = self.first_of_flow(best);
        if first == best {
            self.order.pop_front();
        } else {
            let place = self.slots[first as usize].place;
            let at = self.order.partition_point(|other| *other < place);
            self.order.remove(at);
        }
        Some(self.take(first))
    }

    #[inline]
    fn backlog(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    #[inline]
    fn backlog_packets(&self) -> usize {
        self.order.len()
    }

    /// There is one queue, number 0.
    fn backlog_of(&self, priority: u8) -> Bytes {
        if priority == 0 { self.backlog() } else { Bytes::ZERO }
    }

    /// Always 0: urgency is all this port knows.
    fn marked(&self) -> u64 {
        0
    }
}
