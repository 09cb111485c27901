//! `RankQueue` against a model that looks at every packet: order, drops and bytes, packet by packet; and its
//! two rules by hand.

use proptest::prelude::*;
use tailrace_core::{Bytes, Ecn, Header, Packet, PacketKind, PortPolicy, QueueUnit, Reason, Time};
use tailrace_queues::{RankQueue, Ranked};

#[derive(Clone, Copy, Debug)]
struct Rank(u64);

impl Ranked for Rank {
    fn rank(&self) -> u64 {
        self.0
    }
}

impl Header for Rank {
    const NONE: Self = Rank(0);
    const WIRE_BYTES: u16 = 0;
    fn encode(&self, _: &mut [u8]) {}
    fn decode(_: &[u8]) -> Option<Self> {
        None
    }
}

/// The authors' queue in its own words: packets in order of arrival, searched from end to end.
struct Model {
    unit: QueueUnit,
    packets: Vec<Packet<Rank>>,
}

impl Model {
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.bytes)).sum()
    }

    /// What is held, as room counts it.
    fn length(&self) -> u64 {
        match self.unit {
            QueueUnit::Bytes => self.bytes(),
            QueueUnit::Packets => self.packets.len() as u64 * 1500,
        }
    }

    /// Returns who was dropped, in order.
    fn enqueue(&mut self, newcomer: Packet<Rank>, room: u64) -> Vec<(u32, Reason)> {
        self.packets.push(newcomer);
        let mut lost = Vec::new();
        while self.length() > room {
            let ranked = self.packets.iter().enumerate();
            // Of several greatest elements this gives the last.
            let (at, _) = ranked.max_by_key(|(_, packet)| packet.header.0).expect("something is held");
            let seq = self.packets.remove(at).seq;
            lost.push((seq, if seq == newcomer.seq { Reason::Buffer } else { Reason::Evicted }));
        }
        lost
    }

    fn dequeue(&mut self) -> Option<Packet<Rank>> {
        // Of several least elements this gives the first.
        let best = *self.packets.iter().min_by_key(|packet| packet.header.0)?;
        let same_flow = |p: &Packet<Rank>| p.flow == best.flow && p.is_ack() == best.is_ack();
        let first = self.packets.iter().position(same_flow)?;
        Some(self.packets.remove(first))
    }
}

/// How the ranks of a flow's packets follow one another.
#[derive(Clone, Copy, Debug)]
enum Course {
    /// What remains of the flow, equal flows having equal ranks.
    Remaining,
    /// What the flow has sent.
    Sent,
    Constant,
    /// Few values or many.
    Arbitrary,
}

#[derive(Clone, Debug)]
enum Operation {
    Enqueue { flow: u32, ack: bool, bytes: u16, any: u64, room: Option<u64> },
    Dequeue,
}

fn any_operation(flows: u32) -> impl Strategy<Value = Operation> {
    let bytes = prop_oneof![4 => Just(1500u16), 1 => 40u16..=1500];
    let ack = prop::bool::weighted(0.3);
    let rank = prop_oneof![0u64..4, any::<u64>(), Just(u64::MAX)];
    // What others leave of a shared buffer, now and then.
    let room = prop::option::weighted(0.15, 0u64..30_000);
    let enqueue = (0..flows, ack, bytes, rank, room).prop_map(|(flow, ack, bytes, any, room)| {
        Operation::Enqueue { flow, ack, bytes: if ack { 40 } else { bytes }, any, room }
    });
    prop_oneof![5 => enqueue, 3 => Just(Operation::Dequeue)]
}

/// Operations of few flows and many packets each, or of many flows.
fn any_operations() -> impl Strategy<Value = Vec<Operation>> {
    let number = prop_oneof![2u32..8, Just(300)];
    number.prop_flat_map(|flows| prop::collection::vec(any_operation(flows), 1..400))
}

fn any_courses() -> impl Strategy<Value = Vec<Course>> {
    let all = vec![Course::Remaining, Course::Sent, Course::Constant, Course::Arbitrary];
    let one = prop::sample::select(all.clone()).prop_map(|course| vec![course]);
    prop_oneof![4 => one, 1 => Just(all)]
}

/// Ranks packets as the senders of all flows would.
struct Senders {
    courses: Vec<Course>,
    /// Whether acknowledgements have rank 0, as the authors' do, or that of their flow.
    urgent_acks: bool,
    sent: Vec<u64>,
}

impl Senders {
    fn rank(&mut self, flow: u32, ack: bool, any: u64) -> Rank {
        if ack && self.urgent_acks {
            return Rank(0);
        }
        let flow = flow as usize;
        let sent = self.sent[flow];
        self.sent[flow] += 1;
        Rank(match self.courses[flow % self.courses.len()] {
            Course::Remaining => 400 - sent,
            Course::Sent => sent,
            Course::Constant => flow as u64 % 3,
            Course::Arbitrary => any,
        })
    }
}

/// Puts a packet into port and model. An empty port is passed where `pass` is set.
fn enqueue(port: &mut RankQueue<Rank>, model: &mut Model, packet: Packet<Rank>, room: u64, pass: bool) {
    let mut lost = Vec::new();
    let mut drop = |packet: Packet<Rank>, reason| lost.push((packet.seq, reason));
    if pass && port.backlog_packets() == 0 {
        let mut passes = packet;
        let left = port.pass(Time::ZERO, &mut passes, Bytes::new(room), &mut drop).then_some(passes);
        assert_eq!(lost, model.enqueue(packet, room));
        assert_eq!(left.map(|p| p.seq), model.dequeue().map(|p| p.seq), "passed");
    } else {
        port.enqueue(Time::ZERO, packet, Bytes::new(room), &mut drop);
        assert_eq!(lost, model.enqueue(packet, room));
    }
}

fn dequeue(port: &mut RankQueue<Rank>, model: &mut Model) -> bool {
    let (left, expected) = (port.dequeue(Time::ZERO), model.dequeue());
    assert_eq!(left.map(|packet| packet.seq), expected.map(|packet| packet.seq));
    expected.is_some()
}

proptest! {
    #![proptest_config(tailrace_cases::cases(1_000))]
    #[test]
    fn every_packet_fares_as_in_the_model(
        courses in any_courses(),
        operations in any_operations(),
        buffer in prop_oneof![1_500u64..40_000, Just(u64::MAX)],
        shared in any::<bool>(),
        urgent_acks in any::<bool>(),
        pass in any::<bool>(),
        unit in prop::sample::select(vec![QueueUnit::Bytes, QueueUnit::Packets]),
    ) {
        let (mut port, mut model) = (RankQueue::new(unit), Model { unit, packets: Vec::new() });
        let mut senders = Senders { courses, urgent_acks, sent: vec![0; 300] };
        for (seq, operation) in (0..).zip(operations) {
            match operation {
                Operation::Enqueue { flow, ack, bytes, any, room } => {
                    let header = senders.rank(flow, ack, any);
                    let mut packet = Packet { flow, seq, bytes, header, ..Packet::EMPTY };
                    packet.set(if ack { PacketKind::Ack } else { PacketKind::Data }, Ecn::NotCapable);
                    let room = room.filter(|_| shared).unwrap_or(buffer);
                    enqueue(&mut port, &mut model, packet, room, pass);
                }
                Operation::Dequeue => {
                    dequeue(&mut port, &mut model);
                }
            }
            prop_assert_eq!(port.backlog().get(), model.bytes());
            prop_assert_eq!(port.backlog_packets(), model.packets.len());
            prop_assert_eq!((port.backlog_of(0).get(), port.backlog_of(1).get()), (model.bytes(), 0));
            prop_assert_eq!(port.marked(), 0);
        }
        while dequeue(&mut port, &mut model) {}
        prop_assert_eq!((port.backlog(), port.backlog_packets()), (Bytes::ZERO, 0));
    }
}

/// Full packets of (flow, rank), numbered in this order, enter a port of `room` packets. Returns the port
/// and who was dropped.
fn port(room: u64, packets: &[(u32, u64)]) -> (RankQueue<Rank>, Vec<(u32, Reason)>) {
    let (mut port, mut lost) = (RankQueue::new(QueueUnit::Bytes), Vec::new());
    for (seq, &(flow, rank)) in (0..).zip(packets) {
        let packet = Packet { flow, seq, bytes: 1500, header: Rank(rank), ..Packet::EMPTY };
        port.enqueue(Time::ZERO, packet, Bytes::new(1500 * room), &mut |p, why| lost.push((p.seq, why)));
    }
    (port, lost)
}

fn drained(mut port: RankQueue<Rank>) -> Vec<u32> {
    std::iter::from_fn(|| port.dequeue(Time::ZERO)).map(|packet| packet.seq).collect()
}

#[test]
fn the_flow_of_the_most_urgent_packet_sends_its_earliest() {
    let (port, _) = port(9, &[(1, 30), (2, 20), (1, 10), (2, 25)]);
    // Flow 1 has the least rank, 10, and sends packets 0 and 2; only then comes flow 2.
    assert_eq!(drained(port), [0, 2, 1, 3]);
}

#[test]
fn among_equals_the_earliest_arrival_is_the_most_urgent() {
    let (port, _) = port(9, &[(1, 9), (2, 5), (1, 5), (3, 5)]);
    // Packet 1 is the earliest of rank 5, then packet 2, whose flow sends packet 0 first.
    assert_eq!(drained(port), [1, 0, 2, 3]);
}

#[test]
fn the_largest_rank_makes_room() {
    let (port, lost) = port(2, &[(1, 5), (2, 7), (3, 6)]);
    assert_eq!(lost, [(1, Reason::Evicted)]);
    assert_eq!(drained(port), [0, 2]);
}

#[test]
fn among_equals_the_latest_arrival_is_dropped() {
    let (port, lost) = port(3, &[(1, 7), (2, 7), (3, 5), (4, 6)]);
    assert_eq!(lost, [(1, Reason::Evicted)]);
    assert_eq!(drained(port), [2, 3, 0]);
}

#[test]
fn the_newcomer_may_be_the_one_to_go() {
    let (port, lost) = port(2, &[(1, 5), (2, 7), (3, 8), (3, 7), (3, u64::MAX)]);
    assert_eq!(lost, [(2, Reason::Buffer), (3, Reason::Buffer), (4, Reason::Buffer)]);
    assert_eq!(drained(port), [0, 1]);
}

#[test]
fn one_packet_may_push_out_several_small_ones() {
    let (mut port, mut lost) = (RankQueue::new(QueueUnit::Bytes), Vec::new());
    let sizes = [500, 500, 500, 40, 1200];
    for (seq, bytes) in (0..).zip(sizes) {
        let packet = Packet { flow: seq, seq, bytes, header: Rank(9 - u64::from(seq)), ..Packet::EMPTY };
        port.enqueue(Time::ZERO, packet, Bytes::new(1540), &mut |p, why| lost.push((p.seq, why)));
    }
    assert_eq!(lost, [(0, Reason::Evicted), (1, Reason::Evicted), (2, Reason::Evicted)]);
    assert_eq!((port.backlog(), port.backlog_packets()), (Bytes::new(1240), 2));
    assert_eq!((port.backlog_of(0), port.backlog_of(1)), (Bytes::new(1240), Bytes::ZERO));
    assert_eq!(drained(port), [4, 3]);
}

#[test]
fn acknowledgements_do_not_wait_for_the_data_of_their_flow() {
    let (mut port, _) = port(9, &[(1, 8)]);
    let mut ack = Packet { flow: 1, seq: 1, bytes: 40, header: Rank(0), ..Packet::EMPTY };
    ack.set(PacketKind::Ack, Ecn::NotCapable);
    port.enqueue(Time::ZERO, ack, Bytes::MAX, &mut |_, _| panic!("there is room"));
    assert_eq!(drained(port), [1, 0]);
}

#[test]
fn what_passes_an_empty_port_needs_room_only() {
    let mut port: RankQueue<Rank> = RankQueue::new(QueueUnit::Bytes);
    let (mut packet, mut lost) = (Packet { bytes: 1500, ..Packet::EMPTY }, Vec::new());
    let mut pass = |room| port.pass(Time::ZERO, &mut packet, Bytes::new(room), &mut |_, why| lost.push(why));
    assert!(!pass(1499) && pass(1500));
    assert_eq!(lost, [Reason::Buffer]);
    assert_eq!([1499, 1500].map(|room| port.ignores(&packet, Bytes::new(room))), [false, true]);
}
