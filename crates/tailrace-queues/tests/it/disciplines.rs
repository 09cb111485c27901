//! `MultiQueue` against models written for clarity: order, bytes, drops and marks packet by packet, and
//! shares of backlogged queues.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use tailrace_core::{
    Bytes, Ecn, MarkingAt, Packet, PacketKind, PortFacts, PortPlace, PortPolicy, QueueLength, QueueUnit,
    Rate, Reason, Time,
};
use tailrace_queues::{MarkingScope, MarkingThreshold, MultiQueue, PortParams, SchedulerKind};

const MTU: u64 = 1500;

/// Which queue a model serves next; told of every change.
trait Discipline {
    fn arrived(&mut self, queue: usize, packet: &Packet);
    /// The queue to serve, of those that hold something.
    fn next(&mut self, queues: &BTreeMap<usize, VecDeque<Packet>>) -> usize;
}

/// The lowest number first.
struct Strict;

impl Discipline for Strict {
    fn arrived(&mut self, _: usize, _: &Packet) {}
    fn next(&mut self, queues: &BTreeMap<usize, VecDeque<Packet>>) -> usize {
        *queues.keys().next().expect("something waits")
    }
}

/// Shreedhar and Varghese (1995): whoever's turn comes gets a quantum on top of what it saved, and sends what
/// that pays for; an empty queue saves nothing.
struct DeficitRoundRobin {
    quantum: Vec<u64>,
    saved: Vec<u64>,
    turn: usize,
}

impl DeficitRoundRobin {
    fn new(weights: &[f64]) -> Self {
        let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
        let quantum = weights.iter().map(|weight| (MTU as f64 * (weight / least)) as u64).collect();
        DeficitRoundRobin { quantum, saved: vec![0; weights.len()], turn: 0 }
    }
}

impl Discipline for DeficitRoundRobin {
    fn arrived(&mut self, _: usize, _: &Packet) {}
    fn next(&mut self, queues: &BTreeMap<usize, VecDeque<Packet>>) -> usize {
        loop {
            let waiting = queues.get(&self.turn);
            let price = waiting.map_or(u64::MAX, |queue| u64::from(queue[0].bytes));
            if price <= self.saved[self.turn] {
                let is_last = waiting.is_some_and(|queue| queue.len() == 1);
                self.saved[self.turn] = if is_last { 0 } else { self.saved[self.turn] - price };
                return self.turn;
            }
            self.turn = (self.turn + 1) % self.saved.len();
            if queues.contains_key(&self.turn) {
                self.saved[self.turn] += self.quantum[self.turn];
            }
        }
    }
}

/// Golestani (1994): a packet is stamped on arrival with the time at which it would finish if its queue had
/// its share to itself, on a clock that shows the stamp of the packet sent last; the least stamp goes first.
struct SelfClocked {
    weights: Vec<f64>,
    last_stamp: Vec<f64>,
    stamps: BTreeMap<usize, VecDeque<f64>>,
    clock: f64,
}

impl SelfClocked {
    fn new(weights: &[f64]) -> Self {
        // Only ratios count; rounded as the port rounds them, so that equal stamps are equal in both.
        let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = weights.iter().map(|weight| weight / least).collect();
        let last_stamp = vec![0.0; weights.len()];
        SelfClocked { weights, last_stamp, stamps: BTreeMap::new(), clock: 0.0 }
    }
}

impl Discipline for SelfClocked {
    fn arrived(&mut self, queue: usize, packet: &Packet) {
        let start = self.last_stamp[queue].max(self.clock);
        self.last_stamp[queue] = start + f64::from(packet.bytes) / self.weights[queue];
        self.stamps.entry(queue).or_default().push_back(self.last_stamp[queue]);
    }
    fn next(&mut self, queues: &BTreeMap<usize, VecDeque<Packet>>) -> usize {
        let stamp = |queue: &usize| self.stamps[queue][0];
        let queue = *queues.keys().min_by(|a, b| stamp(a).total_cmp(&stamp(b))).expect("something waits");
        self.clock =
            self.stamps.get_mut(&queue).and_then(VecDeque::pop_front).expect("every packet is stamped");
        queue
    }
}

/// A whole port: tail drop, step marking and one of the disciplines.
struct Model<'a> {
    params: &'a PortParams,
    facts: PortFacts,
    discipline: Box<dyn Discipline>,
    /// The queues that hold something.
    queues: BTreeMap<usize, VecDeque<Packet>>,
    marked: u64,
}

impl<'a> Model<'a> {
    fn new(params: &'a PortParams, facts: PortFacts) -> Self {
        let weight = |queue| params.weights.get(queue).copied().unwrap_or(1.0);
        let weights: Vec<f64> = (0..usize::from(params.queues)).map(weight).collect();
        let discipline: Box<dyn Discipline> = match params.scheduler {
            SchedulerKind::Strict => Box::new(Strict),
            SchedulerKind::Drr => Box::new(DeficitRoundRobin::new(&weights)),
            SchedulerKind::Wfq => Box::new(SelfClocked::new(&weights)),
        };
        Model { params, facts, discipline, queues: BTreeMap::new(), marked: 0 }
    }

    fn bytes_of(&self, queue: usize) -> u64 {
        self.queues.get(&queue).map_or(0, |queue| queue.iter().map(|packet| u64::from(packet.bytes)).sum())
    }

    fn bytes(&self) -> u64 {
        self.queues.keys().map(|&queue| self.bytes_of(queue)).sum()
    }

    /// The length of a queue as room and thresholds count it.
    fn length_of(&self, queue: usize) -> u64 {
        match self.facts.unit {
            QueueUnit::Bytes => self.bytes_of(queue),
            QueueUnit::Packets => self.queues.get(&queue).map_or(0, |queue| queue.len() as u64 * MTU),
        }
    }

    fn length(&self) -> u64 {
        self.queues.keys().map(|&queue| self.length_of(queue)).sum()
    }

    /// Of a table's entries that are not above the link's rate the last, of all others the first.
    fn threshold(&self) -> u64 {
        let length = match &self.params.marking_threshold {
            MarkingThreshold::Same(length) => *length,
            MarkingThreshold::ByRate(table) => {
                let (below, above): (Vec<_>, Vec<_>) =
                    table.iter().partition(|(rate, _)| **rate <= self.facts.rate);
                *below.last().unwrap_or_else(|| &above[0]).1
            }
        };
        length.bytes().get()
    }

    /// Whether the packet found room.
    fn enqueue(&mut self, mut packet: Packet, room: u64) -> bool {
        let queue = usize::from(packet.priority.min(self.params.queues - 1));
        self.queues.entry(queue).or_default().push_back(packet);
        let fits = self.length() <= room;
        if fits && self.facts.marking == Some(MarkingAt::Enqueue) {
            self.mark(queue, &mut packet);
        }
        let waiting = self.queues.get_mut(&queue).expect("the packet is there");
        waiting.pop_back();
        if fits {
            self.discipline.arrived(queue, &packet);
            waiting.push_back(packet);
        } else if waiting.is_empty() {
            self.queues.remove(&queue);
        }
        fits
    }

    /// Marks a packet of `queue` by what is there now, the packet included.
    fn mark(&mut self, queue: usize, packet: &mut Packet) {
        let length = match self.params.marking {
            MarkingScope::Port => self.length(),
            MarkingScope::PortExceptFirst if queue > 0 => self.length(),
            MarkingScope::PortExceptFirst | MarkingScope::Queue => self.length_of(queue),
            MarkingScope::None => 0,
        };
        if length > self.threshold() && packet.ecn() != Ecn::NotCapable {
            packet.set(packet.kind(), Ecn::Marked);
            self.marked += 1;
        }
    }

    fn dequeue(&mut self) -> Option<Packet> {
        if self.queues.is_empty() {
            return None;
        }
        let queue = self.discipline.next(&self.queues);
        let mut packet = self.queues[&queue][0];
        if self.facts.marking == Some(MarkingAt::Dequeue) {
            self.mark(queue, &mut packet);
        }
        let waiting =
            self.queues.get_mut(&queue).expect("the discipline chooses a queue that holds something");
        waiting.pop_front();
        if waiting.is_empty() {
            self.queues.remove(&queue);
        }
        Some(packet)
    }
}

fn packet(number: u32, priority: u8, bytes: u16, capable: bool) -> Packet {
    let mut packet = Packet { seq: number, priority, bytes, ..Packet::EMPTY };
    packet.set(PacketKind::Data, if capable { Ecn::Capable } else { Ecn::NotCapable });
    packet
}

/// What can be told apart of a packet.
fn look(packet: Option<Packet>) -> Option<(u32, u8, u16, Ecn)> {
    packet.map(|packet| (packet.seq, packet.priority, packet.bytes, packet.ecn()))
}

#[derive(Clone, Debug)]
enum Operation {
    Enqueue { priority: u8, bytes: u16, capable: bool, room: u64 },
    Dequeue,
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let bytes = prop_oneof![Just(1500u16), Just(40), 40u16..1500, 1500u16..9000];
    let room = prop_oneof![3 => Just(u64::MAX), 1 => 1_000u64..40_000];
    let enqueue = (0u8..10, bytes, any::<bool>(), room)
        .prop_map(|(priority, bytes, capable, room)| Operation::Enqueue { priority, bytes, capable, room });
    prop_oneof![5 => enqueue, 4 => Just(Operation::Dequeue)]
}

fn any_scheduler() -> impl Strategy<Value = SchedulerKind> {
    prop::sample::select(vec![SchedulerKind::Strict, SchedulerKind::Drr, SchedulerKind::Wfq])
}

fn any_rate() -> impl Strategy<Value = Rate> {
    prop::sample::select(vec![1, 10, 25, 40, 100]).prop_map(Rate::from_gbps)
}

fn any_facts() -> impl Strategy<Value = PortFacts> {
    let unit = prop::sample::select(vec![QueueUnit::Bytes, QueueUnit::Packets]);
    let marking = prop::sample::select(vec![Some(MarkingAt::Enqueue), Some(MarkingAt::Dequeue), None]);
    (any_rate(), unit, marking).prop_map(|(rate, unit, marking)| PortFacts { unit, marking, ..facts(rate) })
}

fn facts(rate: Rate) -> PortFacts {
    PortFacts::new(0, PortPlace::SwitchToHost, rate, Bytes::MAX)
}

fn any_threshold() -> impl Strategy<Value = MarkingThreshold> {
    let length = || (0u64..20_000).prop_map(|bytes| QueueLength::Bytes(Bytes::new(bytes)));
    let table = prop::collection::btree_map(any_rate(), length(), 1..4);
    prop_oneof![length().prop_map(MarkingThreshold::Same), table.prop_map(MarkingThreshold::ByRate)]
}

fn any_params() -> impl Strategy<Value = PortParams> {
    let scope = prop::sample::select(vec![
        MarkingScope::Port,
        MarkingScope::Queue,
        MarkingScope::PortExceptFirst,
        MarkingScope::None,
    ]);
    let weights = prop::collection::vec(0.5f64..20.0, 0..8);
    (1u8..9, any_scheduler(), weights, any_threshold(), scope).prop_map(
        |(queues, scheduler, mut weights, marking_threshold, marking)| {
            weights.truncate(usize::from(queues));
            PortParams { queues, scheduler, weights, marking_threshold, marking }
        },
    )
}

/// Puts a packet into port and model. An empty port is passed where `pass` is set: what leaves is then
/// compared here.
fn enqueue(port: &mut MultiQueue, model: &mut Model<'_>, packet: Packet, room: u64, pass: bool) {
    let mut lost = Vec::new();
    let mut drop = |packet: Packet, reason| lost.push((packet.seq, reason));
    let passes = pass && port.backlog_packets() == 0;
    let left = if passes {
        let mut packet = packet;
        port.pass(Time::ZERO, &mut packet, Bytes::new(room), &mut drop).then_some(packet)
    } else {
        port.enqueue(Time::ZERO, packet, Bytes::new(room), &mut drop);
        None
    };
    let fits = model.enqueue(packet, room);
    assert_eq!(lost, if fits { vec![] } else { vec![(packet.seq, Reason::Buffer)] });
    if passes {
        assert_eq!(look(left), look(model.dequeue()), "passed");
    }
}

fn assert_same_contents(port: &MultiQueue, model: &Model<'_>) {
    assert_eq!(port.backlog().get(), model.bytes());
    assert_eq!(port.backlog_packets(), model.queues.values().map(VecDeque::len).sum::<usize>());
    for queue in 0..8 {
        assert_eq!(port.backlog_of(queue).get(), model.bytes_of(usize::from(queue)), "queue {queue}");
    }
    assert_eq!(port.marked(), model.marked);
}

proptest! {
    #![proptest_config(tailrace_cases::cases(2_000))]
    #[test]
    fn every_packet_fares_as_in_the_model(
        params in any_params(),
        facts in any_facts(),
        operations in prop::collection::vec(any_operation(), 1..200),
        pass in any::<bool>(),
    ) {
        prop_assert_eq!(params.check(), Ok(()));
        let (mut port, mut model) = (MultiQueue::new(&params, &facts), Model::new(&params, facts));
        for (number, operation) in operations.into_iter().enumerate() {
            match operation {
                Operation::Enqueue { priority, bytes, capable, room } => {
                    let packet = packet(number as u32, priority, bytes, capable);
                    enqueue(&mut port, &mut model, packet, room, pass);
                }
                Operation::Dequeue => prop_assert_eq!(look(port.dequeue(Time::ZERO)), look(model.dequeue())),
            }
            assert_same_contents(&port, &model);
        }
        while let Some(expected) = model.dequeue() {
            prop_assert_eq!(look(port.dequeue(Time::ZERO)), look(Some(expected)));
        }
        prop_assert_eq!(look(port.dequeue(Time::ZERO)), None);
    }
}

/// Bytes that each queue has sent after every packet, while all queues always hold something.
fn backlogged(scheduler: SchedulerKind, weights: &[f64], sizes: &[u16]) -> Vec<Vec<u64>> {
    let queues = weights.len();
    let params = PortParams {
        queues: queues as u8,
        scheduler,
        weights: weights.to_vec(),
        marking: MarkingScope::None,
        ..PortParams::default()
    };
    let mut port: MultiQueue = MultiQueue::new(&params, &facts(Rate::from_gbps(10)));
    let mut sizes = sizes.iter().copied().cycle();
    let mut refill = |port: &mut MultiQueue, queue: usize| {
        let packet = packet(0, queue as u8, sizes.next().unwrap_or(1500), false);
        port.enqueue(Time::ZERO, packet, Bytes::MAX, &mut |_, _| panic!("there is room"));
    };
    (0..2 * queues).for_each(|i| refill(&mut port, i % queues));
    let mut sent = vec![0; queues];
    let mut history = vec![sent.clone()];
    for _ in 0..2_000 {
        let packet = port.dequeue(Time::ZERO).expect("all queues are backlogged");
        sent[usize::from(packet.priority)] += u64::from(packet.bytes);
        history.push(sent.clone());
        refill(&mut port, usize::from(packet.priority));
    }
    history
}

/// By how much two queues' services, each over its weight, differ at most between any two moments.
fn unfairness(history: &[Vec<u64>], a: (usize, f64), b: (usize, f64)) -> f64 {
    let lead = |sent: &Vec<u64>| sent[a.0] as f64 / a.1 - sent[b.0] as f64 / b.1;
    let (least, most) = history.iter().map(lead).fold((f64::MAX, f64::MIN), |(l, m), x| (l.min(x), m.max(x)));
    most - least
}

proptest! {
    #![proptest_config(tailrace_cases::cases(300))]
    /// Between any two moments two backlogged queues differ by no more than a largest packet each, divided by
    /// their weights (Golestani 1994, theorem 1); with deficit round robin by a quantum more (Shreedhar and
    /// Varghese 1995, theorem 4.2).
    #[test]
    fn backlogged_queues_get_their_shares(
        weights in prop::collection::vec(0.5f64..20.0, 2..8),
        sizes in prop::collection::vec(40u16..=1500, 1..20),
        drr in any::<bool>(),
    ) {
        let scheduler = if drr { SchedulerKind::Drr } else { SchedulerKind::Wfq };
        let history = backlogged(scheduler, &weights, &sizes);
        let largest = f64::from(*sizes.iter().max().unwrap_or(&0));
        let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
        // A quantum is a full packet for the least weight and in proportion for others, rounded down.
        let quantum = if drr { MTU as f64 / least } else { 0.0 };
        let weighted: Vec<(usize, f64)> = weights.iter().copied().enumerate().collect();
        for (&a, &b) in weighted.iter().zip(&weighted[1..]) {
            let bound = quantum + largest / a.1 + largest / b.1;
            // Rounding quanta to bytes costs up to a byte a round.
            let rounding = if drr { 2_000.0 / least.min(1.0) } else { 1e-6 };
            let difference = unfairness(&history, a, b);
            prop_assert!(difference <= bound + rounding, "{difference} above {bound} for {a:?} and {b:?}");
        }
    }
}

/// Packets of these sizes, of the first queue, through a port that marks above two packets; whether each was
/// marked, and how many found no room.
fn through(facts: PortFacts, room: u64, sizes: &[u16]) -> (Vec<bool>, usize) {
    let params = PortParams { marking_threshold: QueueLength::Packets(2).into(), ..PortParams::default() };
    let (mut port, mut lost): (MultiQueue, _) = (MultiQueue::new(&params, &facts), 0);
    for &bytes in sizes {
        port.enqueue(Time::ZERO, packet(0, 0, bytes, true), Bytes::new(room), &mut |_, _| lost += 1);
    }
    let left = std::iter::from_fn(|| port.dequeue(Time::ZERO));
    (left.map(|packet| packet.ecn() == Ecn::Marked).collect(), lost)
}

#[test]
fn a_queue_of_packets_counts_acknowledgements_as_one_each() {
    let bytes = facts(Rate::from_gbps(10));
    let packets = PortFacts { unit: QueueUnit::Packets, ..bytes };
    let acks = [40; 7];
    assert_eq!(through(bytes, 5 * MTU, &acks), (vec![false; 7], 0));
    assert_eq!(through(packets, 5 * MTU, &acks), (vec![false, false, true, true, true], 2));
    // Jumbo packets are packets, too; a buffer's rest of less than one holds none.
    assert_eq!(through(packets, 3 * MTU + 1499, &[9000; 4]), (vec![false, false, true], 1));
}

#[test]
fn marks_at_dequeue_tell_of_what_is_behind() {
    let enqueue = facts(Rate::from_gbps(10));
    let dequeue = PortFacts { marking: Some(MarkingAt::Dequeue), ..enqueue };
    // Five arrive before any leaves: the last three make the queue longer than two, the first three leave one that is.
    assert_eq!(through(enqueue, u64::MAX, &[1500; 5]).0, [false, false, true, true, true]);
    assert_eq!(through(dequeue, u64::MAX, &[1500; 5]).0, [true, true, true, false, false]);
}

#[test]
fn weights_count_only_among_the_ports_queues() {
    // However large the numbers: 20 to 10 is 2 to 1, and no queue sends more than two packets in a row.
    let history = backlogged(SchedulerKind::Drr, &[20.0, 10.0], &[1500]);
    let row = |queue: usize| {
        let steps = history.windows(2).map(|pair| pair[1][queue] > pair[0][queue]);
        steps.fold((0, 0), |(row, most), sent| if sent { (row + 1, most.max(row + 1)) } else { (0, most) }).1
    };
    assert_eq!((row(0), row(1)), (2, 1));
}

#[test]
fn only_the_ratio_of_weights_counts() {
    for scheduler in [SchedulerKind::Drr, SchedulerKind::Wfq] {
        for scale in [1e-6, 1.0, 1e7] {
            let sent = backlogged(scheduler, &[2.0 * scale, scale], &[1500]).pop().unwrap_or_default();
            assert!(sent[0].abs_diff(2 * sent[1]) <= 3 * MTU, "{scheduler:?}, scale {scale}: {sent:?}");
        }
    }
}

#[test]
fn what_just_fits_and_just_reaches_the_threshold_passes_unmarked() {
    let pass = |kind, bytes, room| {
        let params = PortParams {
            scheduler: kind,
            marking_threshold: QueueLength::Packets(2).into(),
            ..PortParams::default()
        };
        let mut port: MultiQueue = MultiQueue::new(&params, &facts(Rate::from_gbps(10)));
        let mut packet = packet(0, 0, bytes, true);
        let ignored = port.ignores(&packet, Bytes::new(room));
        assert_eq!(ignored, kind == SchedulerKind::Strict && u64::from(bytes) <= room.min(3000));
        let passed = port.pass(Time::ZERO, &mut packet, Bytes::new(room), &mut |_, _| {});
        let marked = passed.then_some(packet.ecn() == Ecn::Marked);
        assert_eq!(port.marked(), u64::from(marked == Some(true)));
        marked
    };
    for kind in [SchedulerKind::Strict, SchedulerKind::Drr, SchedulerKind::Wfq] {
        assert_eq!(pass(kind, 3000, 3000), Some(false), "{kind:?}");
        assert_eq!(pass(kind, 3001, 3001), Some(true), "{kind:?}");
        assert_eq!(pass(kind, 3000, 2999), None, "{kind:?}");
    }
}
