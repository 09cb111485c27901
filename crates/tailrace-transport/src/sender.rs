//! The sending end of a flow: what to send, what is lost, when to give up waiting.

use tailrace_core::transport::{LossDetection, TransportParams};
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, Ecn, FlowInfo, FlowView, HEADER_BYTES, Header,
    HostId, LinkRate, Loss, Packet, PacketKind, Segment, TagTable, Time,
};

use crate::{RttEstimate, SeqSet};

/// Segments acknowledged above a hole before it counts as lost (RFC 6675, DupThresh).
const DUPLICATE_THRESHOLD: u32 = 3;

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Payload bytes sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

/// How a scheme's data packets look on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Whether they are ECN-capable.
    pub ecn: bool,
    /// Bytes that the scheme's header adds.
    pub scheme_bytes: u16,
}

/// The sending end of a flow.
///
/// Every segment below `next` is in one of four states: acknowledged (below `una`, or in `sacked`),
/// lost and waiting to be sent again (in `repair_next..repair_end`), or in flight.
pub struct Sender<L, H> {
    law: L,
    una: u32,
    next: u32,
    segments: u32,
    in_flight: u32,
    allowance: Allowance,
    repair_next: u32,
    repair_end: u32,
    /// A loss episode ends when `una` reaches this; the law hears of one loss an episode.
    recovery_end: u32,
    /// One past the highest segment acknowledged out of order.
    sacked_end: u32,
    max_window: u32,
    mss: u16,
    last_len: u16,
    dst: HostId,
    fast_retransmit: bool,
    ecn: Ecn,
    /// Bytes of a data packet beside its payload.
    overhead: u16,
    rto_at: Time,
    pace_at: Time,
    rtt: RttEstimate,
    sacked: SeqSet,
    tags: TagTable,
    info: FlowInfo,
    stats: SenderStats,
    header: std::marker::PhantomData<H>,
}

impl<L: CongestionLaw<H>, H: Header> Sender<L, H> {
    /// A sender of `size` > 0 payload bytes to host `dst`. `info` is what policies may know of the flow.
    pub fn new(
        law: L,
        info: FlowInfo,
        size: Bytes,
        dst: HostId,
        wire: Wire,
        directive: Directive,
        params: &TransportParams,
    ) -> Self {
        let mss = u64::from(params.mss);
        let segments = size.get().div_ceil(mss);
        assert!((1..=u64::from(u32::MAX)).contains(&segments), "a flow of {size} has {segments} segments");
        let allowance = law.allowance();
        Sender {
            law,
            una: 0,
            next: 0,
            segments: segments as u32,
            in_flight: 0,
            allowance,
            repair_next: 0,
            repair_end: 0,
            recovery_end: 0,
            sacked_end: 0,
            max_window: params.max_window,
            mss: params.mss,
            last_len: (size.get() - (segments - 1) * mss) as u16,
            dst,
            fast_retransmit: params.loss_detection == LossDetection::DuplicateAcks,
            ecn: if wire.ecn { Ecn::Capable } else { Ecn::NotCapable },
            overhead: HEADER_BYTES + wire.scheme_bytes,
            rto_at: Time::MAX,
            pace_at: Time::ZERO,
            rtt: RttEstimate::new(params),
            sacked: SeqSet::default(),
            tags: directive.tags,
            info,
            stats: SenderStats::default(),
            header: std::marker::PhantomData,
        }
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una == self.segments
    }

    /// What policies may know of the flow.
    pub fn info(&self) -> &FlowInfo {
        &self.info
    }

    /// What was counted so far.
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// The congestion law, for traces.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// Obeys a new directive from now on.
    pub fn direct(&mut self, directive: &Directive) {
        self.tags = directive.tags;
    }

    /// Takes over the memory of a finished sender's segment set.
    pub fn reuse(&mut self, finished: Self) {
        self.sacked = finished.sacked;
        self.sacked.clear();
    }

    /// When [`Self::on_wake`] is due at the latest; [`Time::MAX`] if nothing is outstanding.
    #[inline]
    pub fn next_wake(&self) -> Time {
        if self.allowance.pacing.is_some() && self.has_work() {
            self.rto_at.min(self.pace_at)
        } else {
            self.rto_at
        }
    }

    /// The next packet that may leave at `now`, if there is one.
    #[inline]
    pub fn poll_send(&mut self, now: Time) -> Option<Packet<H>> {
        let window = self.allowance.window.get();
        if self.in_flight > 0 && u64::from(self.in_flight + 1) * u64::from(self.mss) > window {
            return None;
        }
        if self.allowance.pacing.is_some() && now < self.pace_at {
            return None;
        }
        let seq = self.take_segment()?;
        let before = u64::from(seq) * u64::from(self.mss);
        let last = seq + 1 == self.segments;
        let len = self.len(seq);
        let mut packet = Packet {
            flow: self.info.id,
            dst: self.dst,
            bytes: len + self.overhead,
            priority: self.tags.priority(before),
            seq,
            sent_ps: now.as_ps(),
            header: self.law.stamp(now, &Segment { before: Bytes::new(before), len, last }),
            ..Packet::EMPTY
        };
        packet.set(if last { PacketKind::LastData } else { PacketKind::Data }, self.ecn);
        self.in_flight += 1;
        if self.rto_at == Time::MAX {
            self.rto_at = now + self.rtt.rto();
        }
        if let Some(rate) = self.allowance.pacing {
            self.pace_at = now.max(self.pace_at) + LinkRate::new(rate).time_for(packet.bytes);
        }
        Some(packet)
    }

    /// An acknowledgement of this flow has arrived.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Packet<H>) {
        if ack.seq > self.next || ack.block_end > self.next {
            return; // Acknowledges what was never sent.
        }
        let rtt = now.saturating_sub(Time::from_ps(ack.sent_ps));
        self.rtt.sample(rtt);
        let mut newly = 0;
        if ack.seq > self.una {
            newly += self.acknowledge_front(ack.seq);
            self.rto_at = if self.una == self.next { Time::MAX } else { now + self.rtt.rto() };
        }
        if ack.block_end > self.una {
            newly += self.acknowledge_block(ack.block_start.max(self.una), ack.block_end);
        }
        if self.fast_retransmit && self.sacked.len() >= DUPLICATE_THRESHOLD {
            self.find_losses(now);
        }
        if newly > 0 {
            let short = if self.is_done() { self.mss - self.last_len } else { 0 };
            let acked = Bytes::new(u64::from(newly) * u64::from(self.mss) - u64::from(short));
            let marked = if ack.kind() == PacketKind::AckMarked { acked } else { Bytes::ZERO };
            let sample = AckSample {
                now,
                acked,
                marked,
                in_flight: Bytes::new(u64::from(self.in_flight) * u64::from(self.mss)),
                rtt,
                app_limited: self.next == self.segments,
                echo: ack.header,
            };
            let view = self.view();
            self.law.on_ack(&sample, &view);
            self.allowance = self.law.allowance();
        }
    }

    /// The time of [`Self::next_wake`] has come: handles the retransmission timer if that was it. Pacing
    /// needs nothing but another [`Self::poll_send`].
    pub fn on_wake(&mut self, now: Time) {
        if now < self.rto_at {
            return;
        }
        self.stats.timeouts += 1;
        let view = self.view();
        self.law.on_loss(now, Loss::Timeout, &view);
        self.allowance = self.law.allowance();
        self.rtt.back_off();
        self.rto_at = now + self.rtt.rto();
        // All that is not acknowledged counts as lost and is sent again, in order.
        self.repair_next = self.una;
        self.repair_end = self.next;
        self.recovery_end = self.next;
        self.in_flight = 0;
    }

    fn view(&self) -> FlowView {
        let mss = u64::from(self.mss);
        FlowView {
            sent: Bytes::new(u64::from(self.next) * mss),
            acked: Bytes::new(u64::from(self.una) * mss),
        }
    }

    #[inline]
    fn len(&self, seq: u32) -> u16 {
        if seq + 1 == self.segments { self.last_len } else { self.mss }
    }

    /// Whether there is a segment that the window could let out.
    fn has_work(&self) -> bool {
        self.repair_next < self.repair_end
            || self.next < self.segments.min(self.una.saturating_add(self.max_window))
    }

    /// The segment to send next: lost ones first.
    #[inline]
    fn take_segment(&mut self) -> Option<u32> {
        if self.repair_next < self.repair_end {
            let seq = self.sacked.first_missing(self.una, self.repair_next);
            self.repair_next = seq;
            if seq < self.repair_end {
                self.repair_next += 1;
                self.stats.retransmitted += u64::from(self.len(seq));
                return Some(seq);
            }
            self.repair_next = self.repair_end;
        }
        let end = self.segments.min(self.una.saturating_add(self.max_window));
        (self.next < end).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// All below `seq` has arrived. Returns how many segments that is news of.
    #[inline]
    fn acknowledge_front(&mut self, seq: u32) -> u32 {
        let waiting = self.waiting(self.una, seq);
        let known = self.sacked.remove_front(self.una, seq);
        let newly = seq - self.una - known;
        self.in_flight -= newly - waiting;
        self.una = seq;
        self.repair_next = self.repair_next.max(seq);
        self.repair_end = self.repair_end.max(seq);
        newly
    }

    /// The block `start..end` has arrived, beyond a hole.
    fn acknowledge_block(&mut self, start: u32, end: u32) -> u32 {
        let waiting = self.waiting(start, end);
        let newly = self.sacked.insert_range(self.una, start, end);
        self.in_flight -= newly - waiting;
        self.sacked_end = self.sacked_end.max(end);
        newly
    }

    /// How many segments of `start..end` count as lost and wait to be sent again.
    #[inline]
    fn waiting(&self, start: u32, end: u32) -> u32 {
        let (start, end) = (start.max(self.repair_next), end.min(self.repair_end));
        if start < end { end - start - self.sacked.count(self.una, start, end) } else { 0 }
    }

    /// Declares lost what has three or more acknowledged segments above it (forward acknowledgement:
    /// all below the highest block but the last three).
    #[cold]
    fn find_losses(&mut self, now: Time) {
        let end = self.sacked_end - DUPLICATE_THRESHOLD;
        let start = self.repair_end;
        if end <= start {
            return;
        }
        let lost = end - start - self.sacked.count(self.una, start, end);
        if lost == 0 {
            return;
        }
        if self.una >= self.recovery_end {
            let view = self.view();
            self.law.on_loss(now, Loss::Fast, &view);
            self.allowance = self.law.allowance();
            self.recovery_end = self.next;
        }
        self.in_flight -= lost;
        self.repair_end = end;
    }
}
