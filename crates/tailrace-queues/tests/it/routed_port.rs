//! A routed port is its queues, with a router that sees what comes, what goes and when.

use tailrace_core::{
    Bytes, Ecn, Packet, PacketKind, PortFacts, PortPlace, PortPolicy, QueueLength, Rate, SeriesSink, Time,
};
use tailrace_queues::{MultiQueue, PortParams, RoutedPort, Router};

/// Writes down what it is told, sets priorities by parity, and holds packets back for a microsecond.
#[derive(Default)]
struct Scribe {
    told: Vec<(&'static str, u32, u64)>,
    wakes: u64,
}

impl Router<()> for Scribe {
    const REVERSE: bool = true;
    const WORK_CONSERVING: bool = false;
    fn next_ready(&self, now: Time, _: &MultiQueue) -> Option<Time> {
        Some(now + Time::from_us(1))
    }
    fn on_arrival(&mut self, _: Time, packet: &mut Packet, backlog: Bytes) {
        packet.priority = (packet.seq % 2) as u8;
        self.told.push(("arrival", packet.seq, backlog.get()));
    }
    fn on_departure(&mut self, _: Time, packet: &mut Packet, queues: &MultiQueue) {
        self.told.push(("departure", packet.seq, queues.backlog().get()));
    }
    fn marked(&self) -> u64 {
        100
    }
    fn on_reverse(&mut self, _: Time, packet: &mut Packet) {
        self.told.push(("reverse", packet.seq, 0));
    }
    fn next_wake(&self) -> Option<Time> {
        Some(Time::from_us(self.wakes))
    }
    fn on_wake(&mut self, _: Time, _: &mut dyn SeriesSink) {
        self.wakes += 7;
    }
}

/// Does nothing but what is the default.
struct Idle;

impl Router<()> for Idle {
    fn on_arrival(&mut self, _: Time, _: &mut Packet, _: Bytes) {}
}

const NOW: Time = Time::from_us(3);
const ROOM: Bytes = Bytes::new(4_000);

fn packet(number: u32) -> Packet {
    let mut packet = Packet { seq: number, bytes: 1500, ..Packet::EMPTY };
    packet.set(PacketKind::Data, Ecn::Capable);
    packet
}

/// A port that marks above one packet and holds two.
fn port<R>(router: R) -> RoutedPort<R, ()> {
    let params = PortParams { marking_threshold: QueueLength::Packets(1).into(), ..PortParams::default() };
    let facts = PortFacts::new(0, PortPlace::SwitchToHost, Rate::from_gbps(10), ROOM);
    RoutedPort::new(router, MultiQueue::new(&params, &facts))
}

#[test]
fn the_router_sees_each_packet_come_and_go() {
    let mut port = port(Scribe::default());
    let mut lost = 0;
    for number in [4, 5, 6] {
        port.enqueue(NOW, packet(number), ROOM, &mut |_, _| lost += 1);
    }
    assert_eq!((lost, port.backlog(), port.backlog_packets()), (1, Bytes::new(3_000), 2));
    // What the router set is what the queues go by; what does not fit, it has seen.
    assert_eq!([0, 1, 2].map(|priority| port.backlog_of(priority).get()), [1_500, 1_500, 0]);
    port.on_reverse(NOW, &mut packet(9));
    let left = [(); 3].map(|()| port.dequeue(NOW).map(|packet| packet.seq));
    assert_eq!(left, [Some(4), Some(5), None]);
    let mut passes = packet(7);
    assert!(port.pass(NOW, &mut passes, ROOM, &mut |_, _| lost += 1));
    assert_eq!(passes.seq, 7);
    assert!(!port.pass(NOW, &mut packet(8), Bytes::new(1_499), &mut |_, _| lost += 1));
    assert_eq!(lost, 2);
    assert_eq!(
        port.router().told,
        [
            ("arrival", 4, 0),
            ("arrival", 5, 1_500),
            ("arrival", 6, 3_000),
            ("reverse", 9, 0),
            ("departure", 4, 1_500),
            ("departure", 5, 0),
            ("arrival", 7, 0),
            ("departure", 7, 0),
            ("arrival", 8, 0),
        ]
    );
    // Packet 5 by the queues, a hundred by the router.
    assert_eq!(port.marked(), 101);
}

#[test]
fn a_router_that_holds_back_says_from_when_on() {
    let mut port = port(Scribe::default());
    assert_eq!(port.next_ready(NOW), None);
    port.enqueue(NOW, packet(0), ROOM, &mut |_, _| {});
    assert_eq!(port.next_ready(NOW), Some(NOW + Time::from_us(1)));
    assert_eq!(port.next_wake(), Some(Time::ZERO));
    port.on_wake(NOW, &mut Vec::new());
    assert_eq!(port.next_wake(), Some(Time::from_us(7)));
}

#[test]
fn a_router_of_which_nothing_is_said_holds_back_nothing() {
    let mut port = port(Idle);
    assert_eq!((port.next_ready(NOW), port.next_wake(), port.marked()), (None, None, 0));
    port.enqueue(NOW, packet(0), ROOM, &mut |_, _| {});
    assert_eq!(port.next_ready(NOW), Some(NOW));
}
