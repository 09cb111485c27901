//! The receiving end of a flow: reassembly, acknowledgements, ECN echo.

use std::ops::Range;

use tailrace_core::transport::TransportParams;
use tailrace_core::{Ecn, Header, HostId, Packet, PacketKind, Time};

use crate::SeqSet;
use crate::reorder::Reorder;

/// The receiving end of a flow.
///
/// With an acknowledgement for each packet it echoes each packet's mark. With delayed ones it runs the
/// two-state machine of RFC 8257 §3.2: a change of the mark first acknowledges what came before it.
pub struct Receiver<H> {
    /// All segments below have arrived.
    next: u32,
    /// Number of segments, once the last one has told.
    segments: u32,
    /// Segments that arrived beyond a hole.
    beyond: SeqSet,
    peer: HostId,
    /// Priority of its acknowledgements.
    priority: u8,
    /// Segments accepted beyond `next`.
    window: u32,
    ack_every: u32,
    ack_bytes: u16,
    delay: Time,
    ack_ecn: Ecn,
    /// Segments in order that no acknowledgement has covered yet, the newest of them, and its mark.
    pending: u32,
    newest: Packet<H>,
    ack_at: Time,
    /// What it holds back where the cells of a flow take different paths.
    reorder: Option<Box<Reorder<H>>>,
}

impl<H: Header> Receiver<H> {
    /// A receiver that acknowledges to host `peer`, in a priority.
    pub fn new(peer: HostId, priority: u8, params: &TransportParams) -> Self {
        Receiver {
            next: 0,
            segments: u32::MAX,
            beyond: SeqSet::default(),
            peer,
            priority,
            window: params.max_window,
            ack_every: params.ack_every,
            ack_bytes: params.ack_bytes,
            delay: params.delayed_ack_timeout,
            ack_ecn: if params.ecn_capable_acks { Ecn::Capable } else { Ecn::NotCapable },
            pending: 0,
            newest: Packet::EMPTY,
            ack_at: Time::MAX,
            reorder: None,
        }
    }

    /// Puts cells of so many segments back in order before it looks at them, if there are cells.
    pub fn reordering(mut self, cell: Option<u32>) -> Self {
        self.reorder = cell.map(|cell| Box::new(Reorder::new(cell)));
        self
    }

    /// Whether every byte has arrived.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.next == self.segments
    }

    /// Segments that have arrived without a gap.
    pub fn in_order(&self) -> u32 {
        self.next
    }

    /// Acknowledges in this priority from now on.
    pub fn acknowledge_in(&mut self, priority: u8) {
        self.priority = priority;
    }

    /// Takes over the memory of a finished receiver's segments, and puts cells back in order as it did.
    pub fn reuse(&mut self, finished: Self) {
        self.beyond = finished.beyond;
        self.beyond.clear();
        self.reorder = finished.reorder;
        if let Some(reorder) = &mut self.reorder {
            reorder.clear();
        }
    }

    /// When [`Self::on_wake`] is due; [`Time::MAX`] if no acknowledgement is being delayed and no packet held.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.reorder.as_ref().map_or(self.ack_at, |reorder| self.ack_at.min(reorder.due()))
    }

    /// A data packet has arrived; acknowledgements go to `emit`.
    #[inline]
    pub fn on_data(&mut self, now: Time, packet: &Packet<H>, mut emit: impl FnMut(Packet<H>)) {
        if packet.kind() == PacketKind::Probe {
            return emit(self.answer(packet));
        }
        if packet.seq >= self.next.saturating_add(self.window) {
            return; // No sender of ours goes that far: the segment set must not grow at a stranger's will.
        }
        if self.reorder.as_mut().is_none_or(|reorder| reorder.admits(now, packet)) {
            self.accept(now, packet, &mut emit);
        }
        if self.reorder.is_some() {
            self.let_go(now, &mut emit);
        }
    }

    /// Looks at a packet, which is the next one as far as the paths can have disturbed their order.
    #[inline]
    fn accept(&mut self, now: Time, packet: &Packet<H>, emit: &mut impl FnMut(Packet<H>)) {
        let seq = packet.seq;
        if self.pending > 0 && packet.ecn() != self.newest.ecn() {
            let before = self.newest;
            emit(self.acknowledge(&before));
        }
        if packet.kind() == PacketKind::LastData {
            self.segments = seq + 1;
        }
        let in_order = seq == self.next;
        if in_order {
            self.next += 1;
            if !self.beyond.is_empty() {
                self.close_gap();
            }
        } else if seq > self.next {
            self.beyond.insert_range(self.next, seq, seq + 1);
        }
        // An acknowledgement carries one header: the network's feedback is neither delayed nor covered.
        let has_news = packet.header.returned().wire_bytes() > 0;
        let may_wait = in_order && self.beyond.is_empty() && !self.is_complete() && !has_news;
        if may_wait && self.pending + 1 < self.ack_every {
            self.pending += 1;
            self.newest = *packet;
            if self.pending == 1 {
                self.ack_at = now + self.delay;
            }
        } else {
            emit(self.acknowledge(packet));
        }
    }

    /// The time of [`Self::next_wake`] has come: a delayed acknowledgement leaves, and packets are held no longer.
    pub fn on_wake(&mut self, now: Time, mut emit: impl FnMut(Packet<H>)) {
        if self.ack_at <= now {
            let newest = self.newest;
            emit(self.acknowledge(&newest));
        }
        self.let_go(now, &mut emit);
    }

    /// Accepts the held packets whose turn has come.
    #[cold]
    fn let_go(&mut self, now: Time, emit: &mut impl FnMut(Packet<H>)) {
        let Some(mut reorder) = self.reorder.take() else { return };
        while let Some(packet) = reorder.next(now, |cell| self.has(cell)) {
            self.accept(now, &packet, emit);
        }
        self.reorder = Some(reorder);
    }

    /// Whether all of these segments have arrived.
    fn has(&self, segments: Range<u32>) -> bool {
        let start = segments.start.max(self.next);
        start >= segments.end || self.beyond.count(self.next, start, segments.end) == segments.end - start
    }

    /// The segment at `next - 1` has joined `beyond`'s first run to what came before.
    fn close_gap(&mut self) {
        let base = self.next - 1;
        let end = self.beyond.first_missing(base, self.next);
        self.beyond.remove_front(base, end);
        self.next = end;
    }

    /// The answer to a probe: its header, and nothing else.
    fn answer(&self, probe: &Packet<H>) -> Packet<H> {
        let header = probe.header.returned();
        let mut answer = Packet {
            flow: probe.flow,
            dst: Packet::address(self.peer),
            bytes: self.ack_bytes + header.wire_bytes(),
            priority: self.priority,
            sent_ps: probe.sent_ps,
            header,
            ..Packet::EMPTY
        };
        answer.set(PacketKind::ProbeAck, Ecn::NotCapable);
        answer
    }

    #[inline]
    fn acknowledge(&mut self, packet: &Packet<H>) -> Packet<H> {
        let seq = packet.seq;
        let (start, end) = if seq < self.next {
            (0, 0)
        } else {
            (self.beyond.run_start(self.next, seq), self.beyond.first_missing(self.next, seq))
        };
        let header = packet.header.returned();
        let mut ack = Packet {
            flow: packet.flow,
            dst: Packet::address(self.peer),
            bytes: self.ack_bytes + header.wire_bytes(),
            priority: self.priority,
            seq: self.next,
            block_start: start,
            block_end: end,
            sent_ps: packet.sent_ps,
            header,
            ..Packet::EMPTY
        };
        let marked = packet.ecn() == Ecn::Marked;
        ack.set(if marked { PacketKind::AckMarked } else { PacketKind::Ack }, self.ack_ecn);
        self.pending = 0;
        self.ack_at = Time::MAX;
        ack
    }
}
