//! Two endpoints and a channel between them, on a clock that the test holds.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tailrace_core::random::Stream;
use tailrace_core::transport::{LossDetection, RtoMode, TransportParams};
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, Ecn, FlowInfo, FlowView, Loss, Packet, Rate,
    TagTable, Time,
};

use crate::{Receiver, Sender};

/// A law that keeps a fixed window and writes down what it was told.
#[derive(Default)]
struct Recorder {
    window: u64,
    pacing: Option<Rate>,
    acked: u64,
    marked: u64,
    losses: Vec<Loss>,
}

impl CongestionLaw for Recorder {
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        self.acked += ack.acked.get();
        self.marked += ack.marked.get();
        assert!(flow.acked <= flow.sent);
    }
    fn on_loss(&mut self, _: Time, loss: Loss, _: &FlowView) {
        self.losses.push(loss);
    }
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(self.window), pacing: self.pacing }
    }
}

/// What the channel does to packets.
#[derive(Clone, Debug, Default)]
struct Channel {
    loss: f64,
    duplication: f64,
    /// Extra delay of up to so many microseconds: reorders.
    jitter_us: u32,
    mark: f64,
    /// Segments of a cell, if there are cells: each takes the next of four paths, and the receiver puts them back
    /// in order.
    cell: Option<u32>,
    /// Data segments whose first transmission is lost.
    lose_once: Vec<u32>,
}

struct Pair {
    now: Time,
    sender: Sender<Recorder, ()>,
    receiver: Receiver<()>,
    channel: Channel,
    stream: Stream,
    wire: BTreeMap<(Time, u64), Packet>,
    sent: u64,
    acks: Vec<Packet>,
}

const DELAY: Time = Time::from_us(40);

impl Pair {
    fn new(size: u64, window: u64, params: TransportParams, channel: Channel, seed: u64) -> Self {
        let info = FlowInfo {
            id: 0,
            src: 0,
            dst: 1,
            size: None,
            start: Time::ZERO,
            deadline: None,
            slice: 0,
            task: 0,
        };
        let law = Recorder { window, ..Recorder::default() };
        let directive = Directive::tagged(TagTable::FLAT);
        Pair {
            now: Time::ZERO,
            sender: Sender::new(law, info, Bytes::new(size), true, directive, &params),
            receiver: Receiver::new(0, 0, &params).reordering(channel.cell),
            channel,
            stream: Stream::new(seed, "channel", 0),
            wire: BTreeMap::new(),
            sent: 0,
            acks: Vec::new(),
        }
    }

    /// With a law that sends 1 Gbps, a full packet every 12 µs, whatever its window.
    fn paced(mut self, size: u64) -> Self {
        let law = Recorder { window: 1 << 30, pacing: Some(Rate::from_gbps(1)), ..Recorder::default() };
        let (info, directive) = (*self.sender.info(), Directive::tagged(TagTable::FLAT));
        let params = TransportParams::default();
        self.sender = Sender::new(law, info, Bytes::new(size), true, directive, &params);
        self
    }

    fn put(&mut self, mut packet: Packet) {
        if !packet.is_ack()
            && let Some(at) = self.channel.lose_once.iter().position(|&s| s == packet.seq)
        {
            self.channel.lose_once.swap_remove(at);
            return;
        }
        if self.stream.unit() < self.channel.mark {
            packet.mark();
        }
        let copies = if self.stream.unit() < self.channel.duplication { 2 } else { 1 };
        for _ in 0..copies {
            if self.stream.unit() >= self.channel.loss {
                let jitter = Time::from_us(u64::from(self.stream.below(self.channel.jitter_us + 1)));
                let cell = self.channel.cell.filter(|_| !packet.is_ack()).map_or(0, |cell| packet.seq / cell);
                let path = Time::from_us([0, 60, 20, 40][cell as usize % 4]);
                self.sent += 1;
                self.wire.insert((self.now + DELAY + path + jitter, self.sent), packet);
            }
        }
    }

    /// Lets the sender send all it may, then moves on to the next thing that happens.
    fn step(&mut self) {
        while let Some(packet) = self.sender.poll_send(self.now) {
            self.put(packet);
        }
        let timer = self.sender.next_wake().min(self.receiver.next_wake());
        let arrival = self.wire.first_key_value().map_or(Time::MAX, |(key, _)| key.0);
        assert!(timer.min(arrival) < Time::MAX, "nothing is outstanding, but the flow is not done");
        self.now = self.now.max(timer.min(arrival));
        if arrival > timer {
            let mut acks = Vec::new();
            self.receiver.on_wake(self.now, |ack| acks.push(ack));
            acks.into_iter().for_each(|ack| self.put(ack));
            self.sender.on_wake(self.now);
            return;
        }
        let Some((_, packet)) = self.wire.pop_first() else { return };
        if packet.is_ack() {
            self.acks.push(packet);
            return self.sender.on_ack(self.now, &packet);
        }
        let before = self.receiver.in_order();
        let mut acks = Vec::new();
        self.receiver.on_data(self.now, &packet, |ack| acks.push(ack));
        assert!(self.receiver.in_order() >= before, "delivered bytes were taken back");
        acks.into_iter().for_each(|ack| self.put(ack));
    }

    fn drive(&mut self) {
        for _ in 0..2_000_000 {
            if self.sender.is_done() {
                assert!(self.receiver.is_complete());
                return;
            }
            self.step();
        }
        panic!("the flow did not finish");
    }
}

fn params(ack_every: u32, loss_detection: LossDetection) -> TransportParams {
    TransportParams { ack_every, loss_detection, ..TransportParams::default() }
}

#[test]
fn a_clean_channel_needs_each_segment_once() {
    let size = 100 * 1460 + 7;
    let mut pair = Pair::new(size, 20 * 1460, TransportParams::default(), Channel::default(), 1);
    pair.drive();
    assert_eq!(pair.sender.law().acked, size);
    assert_eq!((pair.sender.stats().retransmitted, pair.acks.len()), (0, 101));
}

#[test]
fn one_loss_is_repaired_once_without_timeout() {
    let channel = Channel { lose_once: vec![10], ..Channel::default() };
    let mut pair = Pair::new(100 * 1460, 20 * 1460, TransportParams::default(), channel, 1);
    pair.drive();
    assert_eq!(pair.sender.law().losses, [Loss::Fast]);
    assert_eq!(pair.sender.stats().retransmitted, 1460);
    assert!(pair.now < Time::from_ms(2));
}

#[test]
fn several_losses_in_a_window_are_one_episode() {
    let channel = Channel { lose_once: vec![10, 12, 13, 17], ..Channel::default() };
    let mut pair = Pair::new(100 * 1460, 30 * 1460, TransportParams::default(), channel, 1);
    pair.drive();
    assert_eq!(pair.sender.law().losses, [Loss::Fast]);
    assert_eq!(pair.sender.stats().retransmitted, 4 * 1460);
}

#[test]
fn a_lost_tail_waits_for_the_timer_and_repairs_only_the_hole() {
    let channel = Channel { lose_once: vec![98], ..Channel::default() };
    let mut pair = Pair::new(100 * 1460, 30 * 1460, TransportParams::default(), channel, 1);
    pair.drive();
    assert_eq!(pair.sender.law().losses, [Loss::Timeout]);
    assert_eq!(pair.sender.stats(), crate::SenderStats { retransmitted: 1460, timeouts: 1 });
    assert!(pair.now > Time::from_ms(2));
}

#[test]
fn reordering_alone_retransmits_nothing_when_only_the_timer_counts() {
    let channel = Channel { jitter_us: 30, ..Channel::default() };
    let mut pair = Pair::new(1_000_000, 30 * 1460, params(1, LossDetection::TimeoutOnly), channel.clone(), 3);
    pair.drive();
    assert_eq!(pair.sender.stats().retransmitted, 0);
    // The same channel fools duplicate acknowledgements: that is why the mode exists.
    let mut fooled = Pair::new(1_000_000, 30 * 1460, params(1, LossDetection::DuplicateAcks), channel, 3);
    fooled.drive();
    assert!(fooled.sender.stats().retransmitted > 0);
}

#[test]
fn cells_that_overtake_each_other_fool_only_a_receiver_that_does_not_wait() {
    let channel = Channel { cell: Some(10), ..Channel::default() };
    let (size, params) = (1_000_000, TransportParams::default());
    let mut pair = Pair::new(size, 0, params, channel.clone(), 1).paced(size);
    pair.drive();
    assert_eq!(pair.sender.stats(), crate::SenderStats::default());
    let mut fooled = Pair::new(size, 0, params, channel, 1).paced(size);
    fooled.receiver = Receiver::new(0, 0, &params);
    fooled.drive();
    assert!(fooled.sender.stats().retransmitted > 0);
}

#[test]
fn losses_within_cells_and_at_their_ends_are_repaired_without_timeout() {
    // Segment 13 lies within a cell, 29 at the end of one, and of cell 5 nothing arrives.
    for lost in [vec![13], vec![29], (50..60).collect()] {
        let channel = Channel { cell: Some(10), lose_once: lost.clone(), ..Channel::default() };
        let size = 100 * 1460;
        let mut pair = Pair::new(size, 0, TransportParams::default(), channel, 1).paced(size);
        pair.drive();
        assert_eq!(pair.sender.law().losses, [Loss::Fast], "{lost:?}");
        assert_eq!(pair.sender.stats().retransmitted, lost.len() as u64 * 1460, "{lost:?}");
    }
}

#[test]
fn delayed_acks_echo_marks_exactly() {
    // RFC 8257 §3.2: the marked bytes that the sender learns of are those that were marked.
    let channel = Channel { mark: 0.3, ..Channel::default() };
    for ack_every in [1, 2, 4] {
        let mut pair = Pair::new(
            400 * 1460,
            20 * 1460,
            params(ack_every, LossDetection::DuplicateAcks),
            channel.clone(),
            5,
        );
        let mut marked = 0;
        while !pair.sender.is_done() {
            while let Some(packet) = pair.sender.poll_send(pair.now) {
                pair.put(packet);
            }
            let next = pair.wire.first_key_value().map(|(_, p)| *p);
            let due = pair.wire.first_key_value().map_or(Time::MAX, |(key, _)| key.0);
            if let Some(packet) = next.filter(|p| !p.is_ack() && due <= pair.receiver.next_wake()) {
                marked += if packet.ecn() == Ecn::Marked { 1460 } else { 0 };
            }
            pair.step();
        }
        assert_eq!(pair.sender.law().marked, marked, "one ACK for {ack_every}");
        assert!(pair.acks.len() <= 400 && (ack_every == 1) == (pair.acks.len() == 400));
    }
}

#[test]
fn pacing_spaces_packets() {
    let size = 100 * 1460;
    let mut pair = Pair::new(size, 0, TransportParams::default(), Channel::default(), 1).paced(size);
    pair.drive();
    // 99 gaps of 12 µs between the first and the last packet, and one round trip.
    assert_eq!(pair.now, Time::from_us(99 * 12) + DELAY + DELAY);
}

#[test]
fn rto_backs_off_in_standard_mode_only() {
    let dead = Channel { loss: 1.0, ..Channel::default() };
    let timeouts_within_100_ms = |rto| {
        let params = TransportParams { rto, ..TransportParams::default() };
        let mut pair = Pair::new(1460, 1460, params, dead.clone(), 1);
        while pair.now < Time::from_ms(100) {
            pair.step();
        }
        pair.sender.stats().timeouts
    };
    assert_eq!(timeouts_within_100_ms(RtoMode::Fixed), 50);
    assert_eq!(timeouts_within_100_ms(RtoMode::Standard), 6); // at 2, 6, 14, 30, 62 and 126 ms
}

/// A law that sends nothing from the first timeout on until it hears anything.
struct Patient(u64);

impl CongestionLaw for Patient {
    fn on_feedback(&mut self, _: Time, _: Time, _: &(), _: &FlowView) {
        self.0 = 1460;
    }
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {
        self.0 = 0;
    }
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(self.0), pacing: None }
    }
}

#[test]
fn an_acknowledgement_without_news_may_open_the_window() {
    let (info, directive) = (
        FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 },
        Directive::tagged(TagTable::FLAT),
    );
    let params = TransportParams::default();
    let mut sender: Sender<_, ()> =
        Sender::new(Patient(1460), info, Bytes::new(2 * 1460), false, directive, &params);
    let mut receiver = Receiver::new(0, 0, &params);
    let mut exchange = |now: Time, sender: &mut Sender<Patient, ()>| {
        let packet = sender.poll_send(now)?;
        let mut answer = None;
        receiver.on_data(now, &packet, |ack| answer = Some(ack));
        answer
    };
    let first = exchange(Time::ZERO, &mut sender).expect("the window is open");
    sender.on_ack(Time::from_us(1), &first);
    assert!(exchange(Time::from_us(1), &mut sender).is_some(), "its answer is lost");
    assert!(sender.on_wake(Time::from_ms(10)));
    assert!(sender.poll_send(Time::from_ms(10)).is_none(), "the window is shut");
    // A copy of the first answer: the sender knows all that it says.
    sender.on_ack(Time::from_ms(11), &first);
    assert!(sender.poll_send(Time::from_ms(11)).is_some());
}

proptest! {
    #![proptest_config(tailrace_cases::cases(300))]
    /// Loss, duplication, reordering and marks in any mixture: every byte arrives exactly once and in order.
    #[test]
    fn every_byte_arrives(
        size in 1u64..400_000,
        window in 1u64..60,
        loss in 0.0..0.3f64,
        duplication in 0.0..0.3f64,
        jitter_us in 0u32..200,
        mark in 0.0..1.0f64,
        ack_every in 1u32..4,
        timeout_only in any::<bool>(),
        max_window in 1u32..100,
        cell in prop::option::of(1u32..30),
        seed in any::<u64>(),
    ) {
        let detection = if timeout_only { LossDetection::TimeoutOnly } else { LossDetection::DuplicateAcks };
        let params = TransportParams { max_window, ..params(ack_every, detection) };
        let channel = Channel { loss, duplication, jitter_us, mark, cell, lose_once: vec![] };
        let mut pair = Pair::new(size, window * 1460, params, channel, seed);
        pair.drive();
        prop_assert_eq!(pair.sender.law().acked, size);
        prop_assert_eq!(pair.receiver.in_order(), size.div_ceil(1460) as u32);
    }
}
