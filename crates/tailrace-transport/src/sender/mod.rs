//! The sending end of a flow: what to send, and when to give up waiting.

mod scoreboard;

use tailrace_core::transport::{LossDetection, TransportParams};
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, Ecn, FlowInfo, FlowView, HEADER_BYTES, Header,
    Loss, Packet, PacketKind, Segment, Standing, Time,
};

use crate::pacer::Pacer;
use crate::{RttEstimate, SeqSet};
use scoreboard::DUPLICATE_THRESHOLD;

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Payload bytes sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
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
    fast_retransmit: bool,
    ecn: Ecn,
    rto_at: Time,
    pacer: Pacer,
    rtt: RttEstimate,
    sacked: SeqSet,
    directive: Directive,
    info: FlowInfo,
    stats: SenderStats,
    /// Timeouts since the last progress.
    consecutive_timeouts: u32,
    header: std::marker::PhantomData<H>,
}

impl<L: CongestionLaw<H>, H: Header> Sender<L, H> {
    /// A sender of `size` > 0 payload bytes, in packets that are ECN-capable or not. `info` is
    /// what policies may know of the flow.
    pub fn new(
        law: L,
        info: FlowInfo,
        size: Bytes,
        ecn: bool,
        directive: Directive,
        params: &TransportParams,
    ) -> Self {
        let mss = u64::from(params.mss);
        let segments = size.get().div_ceil(mss);
        assert!((1..=u64::from(u32::MAX)).contains(&segments), "a flow of {size} has {segments} segments");
        let mut sender = Sender {
            law,
            una: 0,
            next: 0,
            segments: segments as u32,
            in_flight: 0,
            allowance: Allowance { window: Bytes::ZERO, pacing: None },
            repair_next: 0,
            repair_end: 0,
            recovery_end: 0,
            sacked_end: 0,
            max_window: params.max_window,
            mss: params.mss,
            last_len: (size.get() - (segments - 1) * mss) as u16,
            fast_retransmit: params.loss_detection == LossDetection::DuplicateAcks,
            ecn: if ecn { Ecn::Capable } else { Ecn::NotCapable },
            rto_at: Time::MAX,
            pacer: Pacer::default(),
            rtt: RttEstimate::new(params),
            sacked: SeqSet::default(),
            directive,
            info,
            stats: SenderStats::default(),
            consecutive_timeouts: 0,
            header: std::marker::PhantomData,
        };
        sender.law.directed(&directive);
        sender.allow();
        sender
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

    /// The congestion law.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The congestion law, for traces.
    pub fn law_mut(&mut self) -> &mut L {
        &mut self.law
    }

    /// How the law sees the flow's prospects.
    #[inline]
    pub fn standing(&self) -> Standing {
        self.law.standing()
    }

    /// Timeouts since the last progress.
    pub fn consecutive_timeouts(&self) -> u32 {
        self.consecutive_timeouts
    }

    /// The directive that it obeys.
    pub fn directive(&self) -> &Directive {
        &self.directive
    }

    /// Obeys a new directive from now on.
    pub fn direct(&mut self, directive: &Directive) {
        self.directive = *directive;
        self.law.directed(directive);
        self.allow();
    }

    /// Goes on as a flow of which policies may know `info`, as its law has asked for.
    pub fn demote(&mut self, info: FlowInfo) {
        self.info = info;
        self.law.demoted();
    }

    /// Takes over the memory of a finished sender's segment set.
    pub fn reuse(&mut self, finished: Self) {
        self.sacked = finished.sacked;
        self.sacked.clear();
    }

    /// When [`Self::on_wake`] is due at the latest; [`Time::MAX`] if nothing is outstanding.
    #[inline]
    pub fn next_wake(&self) -> Time {
        if self.standing() == Standing::Stopped {
            return Time::MAX;
        }
        let due = self.rto_at.min(self.law.probe_at());
        match self.pacer.next() {
            Some(next) if self.window_is_open() && self.has_work() => due.min(next),
            _ => due,
        }
    }

    /// When its retransmission timer expires; [`Time::MAX`] if nothing is outstanding.
    pub fn retransmit_at(&self) -> Time {
        self.rto_at
    }

    /// The next packet that may leave at `now`, if there is one: a segment, or else a probe that is due.
    #[inline(always)]
    pub fn poll_send(&mut self, now: Time) -> Option<Packet<H>> {
        if self.standing() == Standing::Stopped {
            return None;
        }
        self.poll_segment(now).or_else(|| {
            (self.law.probe_at() <= now).then(|| {
                let view = self.view();
                let header = self.law.probe(now, &view);
                self.probe(now, header)
            })
        })
    }

    /// The packet that tells the network that the flow has ended, if the scheme has such.
    pub fn farewell(&mut self, now: Time) -> Option<Packet<H>> {
        self.law.farewell(now).map(|header| self.probe(now, header))
    }

    /// A packet without payload.
    fn probe(&self, now: Time, header: H) -> Packet<H> {
        let before = u64::from(self.una) * u64::from(self.mss);
        let mut packet = Packet {
            flow: self.info.id,
            dst: Packet::address(self.info.dst),
            bytes: HEADER_BYTES + header.wire_bytes(),
            priority: self.directive.tags.priority(before),
            sent_ps: now.as_ps(),
            header,
            ..Packet::EMPTY
        };
        packet.set(PacketKind::Probe, Ecn::NotCapable);
        packet
    }

    /// Whether the window lets a segment out; one may always be in flight unless the window is 0.
    #[inline]
    fn window_is_open(&self) -> bool {
        let window = self.allowance.window.get();
        if self.in_flight == 0 {
            window > 0
        } else {
            u64::from(self.in_flight + 1) * u64::from(self.mss) <= window
        }
    }

    #[inline]
    fn poll_segment(&mut self, now: Time) -> Option<Packet<H>> {
        if !self.window_is_open() || self.pacer.next().is_some_and(|next| now < next) {
            return None;
        }
        let view = self.view();
        let seq = self.take_segment()?;
        let before = u64::from(seq) * u64::from(self.mss);
        let last = seq + 1 == self.segments;
        let len = self.len(seq);
        let header = self.law.stamp(now, &Segment { before: Bytes::new(before), len, last }, &view);
        let mut packet = Packet {
            flow: self.info.id,
            dst: Packet::address(self.info.dst),
            bytes: len + HEADER_BYTES + header.wire_bytes(),
            priority: self.directive.tags.priority(before),
            seq,
            sent_ps: now.as_ps(),
            header,
            ..Packet::EMPTY
        };
        packet.set(if last { PacketKind::LastData } else { PacketKind::Data }, self.ecn);
        self.in_flight += 1;
        if self.rto_at == Time::MAX {
            self.rto_at = now + self.rtt.rto();
        }
        self.pacer.leave(now, packet.bytes);
        Some(packet)
    }

    /// Takes over what the law now allows.
    #[inline]
    fn allow(&mut self) {
        self.allowance = self.law.allowance();
        let full = self.mss.saturating_add(HEADER_BYTES).saturating_add(H::WIRE_BYTES);
        let spare = u32::from(self.law.burst().saturating_sub(1)) * u32::from(full);
        self.pacer.set(self.allowance.pacing, spare);
    }

    /// An acknowledgement of this flow has arrived.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Packet<H>) {
        if ack.seq > self.next || ack.block_end > self.next {
            return; // Acknowledges what was never sent.
        }
        let rtt = now.saturating_sub(Time::from_ps(ack.sent_ps));
        self.rtt.sample(rtt);
        let view = self.view();
        self.law.on_feedback(now, rtt, &ack.header, &view);
        if ack.kind() == PacketKind::ProbeAck {
            self.allow();
            return;
        }
        let mut newly = 0;
        if ack.seq > self.una {
            self.consecutive_timeouts = 0;
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
                srtt: self.rtt.smoothed().unwrap_or(rtt),
                app_limited: self.next == self.segments,
            };
            let view = self.view();
            self.law.on_ack(&sample, &view);
        }
        // Old news may have brought feedback that matters.
        self.allow();
    }

    /// The time of [`Self::next_wake`] has come: handles the retransmission timer if that was it, and tells
    /// whether it was. Pacing and probes need nothing but another [`Self::poll_send`].
    pub fn on_wake(&mut self, now: Time) -> bool {
        if now < self.rto_at {
            return false;
        }
        self.stats.timeouts += 1;
        self.consecutive_timeouts += 1;
        let view = self.view();
        self.law.on_loss(now, Loss::Timeout, &view);
        self.allow();
        self.rtt.back_off();
        // Armed again by the next segment that leaves.
        self.rto_at = Time::MAX;
        // All that is not acknowledged counts as lost and is sent again, in order.
        self.repair_next = self.una;
        self.repair_end = self.next;
        self.recovery_end = self.next;
        self.in_flight = 0;
        true
    }

    /// The flow as policies see it, in whole segments.
    #[inline]
    pub fn view(&self) -> FlowView {
        let mss = u64::from(self.mss);
        FlowView {
            sent: Bytes::new(u64::from(self.next) * mss),
            acked: Bytes::new(u64::from(self.una) * mss),
            delivered: Bytes::new(u64::from(self.una + self.sacked.len()) * mss),
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
}
