//! Phantom queue, rate and bucket by hand, without a network.

use super::*;
use tailrace_core::{Ecn, PacketKind, PortPolicy, QueueLength, Rate, Reason};

const GBPS: Rate = Rate::from_gbps(1);

fn data(flow: u32, bytes: u16) -> Packet {
    let mut packet = Packet { flow, bytes, ..Packet::EMPTY };
    packet.set(PacketKind::Data, Ecn::Capable);
    packet
}

fn marked_ack(flow: u32) -> Packet {
    let mut packet = Packet { flow, bytes: 40, ..Packet::EMPTY };
    packet.set(PacketKind::AckMarked, Ecn::NotCapable);
    packet
}

/// Of 1,000 full packets that leave a link of 1 Gbps at this part of its rate, the first that is marked and how many
/// are.
fn marks(load: f64, threshold: u64) -> (Option<usize>, usize) {
    let marking_threshold = QueueLength::Bytes(Bytes::new(threshold)).into();
    let mut phantom = Phantom::new(&PhantomParams { drain: 0.95, marking_threshold }, GBPS);
    let marked = (0..1_000).map(|n| {
        let mut packet = data(0, 1500);
        phantom.on_departure(Time::from_ps((f64::from(n) * 12e6 / load) as u64), &mut packet);
        packet.ecn() == Ecn::Marked
    });
    let marked: Vec<bool> = marked.collect();
    let count = marked.iter().filter(|marked| **marked).count();
    assert_eq!(phantom.marked(), count as u64);
    (marked.iter().position(|marked| *marked), count)
}

#[test]
fn a_full_link_fills_its_phantom_queue_by_what_is_given_up() {
    // 75 bytes a packet of 1500: 6 KB are passed by the 62nd packet, 1500 + 61 · 75 = 6075 bytes.
    assert_eq!(marks(1.0, 6_000), (Some(61), 1_000 - 61));
    // At 94 % it drains between packets, and one packet alone is no queue.
    assert_eq!(marks(0.94, 1_500), (None, 0));
    // At 1 KB every full packet is one too many, at whatever load.
    assert_eq!(marks(0.5, 1_000), (Some(0), 1_000));
}

#[test]
fn a_phantom_queue_marks_nothing_that_is_not_ecn_capable() {
    let mut phantom = Phantom::new(&PhantomParams::default(), GBPS);
    let mut ack = marked_ack(0);
    ack.bytes = 1500;
    phantom.on_departure(Time::ZERO, &mut ack);
    assert!(ack.ecn() != Ecn::Marked && phantom.marked() == 0);
}

#[test]
fn the_threshold_is_8_us_of_a_link() {
    for gbps in [1, 10, 25, 40, 100] {
        let link = Rate::from_gbps(gbps);
        let threshold = PhantomParams::default().marking_threshold.at(link).bytes();
        assert_eq!(link.time_for(threshold), Time::from_us(8));
    }
}

fn nic() -> PortFacts {
    PortFacts::new(0, PortPlace::Nic, GBPS, Bytes::MAX)
}

/// A card of 1 Gbps whose pacer paces flow 7.
fn card(params: PacerParams) -> RoutedPort<HullRouter, ()> {
    let mut pacing = Pacing::new(&params, GBPS);
    (0..params.marks_per_flow).for_each(|_| pacing.on_ack(Time::ZERO, &marked_ack(7)));
    let queues = PortParams { queues: pacing::QUEUES, marking: MarkingScope::None, ..PortParams::default() };
    RoutedPort::new(HullRouter::Card(pacing), MultiQueue::new(&queues, &nic()))
}

fn put(port: &mut RoutedPort<HullRouter, ()>, now: Time, packet: Packet) {
    let drop = &mut |_, why: Reason| panic!("dropped: {why:?}");
    port.enqueue(now, packet, Bytes::new(1_000_000), drop);
}

fn rate(port: &RoutedPort<HullRouter, ()>) -> f64 {
    let HullRouter::Card(pacing) = port.router() else { panic!("no pacer") };
    pacing.rate()
}

#[test]
fn a_rate_follows_what_arrives_and_what_waits() {
    let mut port = card(PacerParams::default());
    let mut rows: Vec<tailrace_core::SeriesRow> = Vec::new();
    (0..10).for_each(|_| put(&mut port, Time::ZERO, data(7, 1500)));
    port.on_wake(Time::from_us(64), &mut rows);
    // 15,000 bytes in 64 µs are 1.875 Gbps; they all wait, 120,000 bits at 16 a second.
    let first = 0.875 * 1e9 + 0.125 * 1.875e9 + 16.0 * 120_000.0;
    assert!((rate(&port) - first).abs() < 1.0, "{}", rate(&port));
    // Two leave at once, as the bucket holds two; the third waits for 12,000 bits at that rate.
    let now = Time::from_us(64);
    for _ in 0..2 {
        assert_eq!(port.next_ready(now), Some(now));
        assert_eq!(port.dequeue(now).map(|packet| (packet.flow, packet.priority)), Some((7, 0)));
    }
    let wait = port.next_ready(now).map(|at| at.saturating_sub(now).as_secs_f64());
    assert!(wait.is_some_and(|wait| (wait - 12_000.0 / first).abs() < 1e-9), "{wait:?}");
    port.on_wake(Time::from_us(128), &mut rows);
    // Nothing has come, and eight packets are left: 96,000 bits.
    assert!((rate(&port) - (0.875 * first + 16.0 * 96_000.0)).abs() < 1.0, "{}", rate(&port));
}

#[test]
fn what_is_not_paced_passes_what_waits() {
    let mut port = card(PacerParams::default());
    (0..3).for_each(|_| put(&mut port, Time::ZERO, data(7, 1500)));
    (0..2).for_each(|_| assert!(port.dequeue(Time::ZERO).is_some()));
    let later = Time::from_us(5);
    assert!(port.next_ready(later).is_some_and(|at| at > later));
    for packet in [data(8, 1500), marked_ack(7)] {
        put(&mut port, later, packet);
        assert_eq!(port.next_ready(later), Some(later));
        assert_eq!(port.dequeue(later).map(|sent| sent.flow), Some(packet.flow));
    }
    assert_eq!((port.backlog_packets(), port.backlog_of(1)), (1, Bytes::new(1500)));
}

#[test]
fn every_eighth_marked_acknowledgement_has_its_flow_paced_for_10_ms() {
    let mut pacing = Pacing::new(&PacerParams::default(), GBPS);
    let paced = |pacing: &mut Pacing, flow| {
        let mut packet = data(flow, 1500);
        pacing.on_arrival(&mut packet);
        packet.priority == 1
    };
    let mut unmarked = marked_ack(5);
    unmarked.set(PacketKind::Ack, Ecn::NotCapable);
    (0..100).for_each(|_| pacing.on_ack(Time::ZERO, &unmarked));
    (1..8).for_each(|flow| pacing.on_ack(Time::ZERO, &marked_ack(flow)));
    assert!((1..9).all(|flow| !paced(&mut pacing, flow)));
    pacing.on_ack(Time::from_us(6), &marked_ack(3));
    assert_eq!((1..9).filter(|flow| paced(&mut pacing, *flow)).collect::<Vec<_>>(), [3]);
    // What waits keeps the flow in line after its time; then it is forgotten.
    pacing.end_turn(Time::from_us(10_007));
    assert!(paced(&mut pacing, 3));
    let empty = MultiQueue::new(&PortParams::default(), &nic());
    let mut packet = Packet { priority: 1, ..data(3, 1500) };
    pacing.on_departure(Time::from_us(10_008), &mut packet, &empty);
    assert!(pacing.rate() < 0.9e9);
    pacing.end_turn(Time::from_us(10_071));
    assert!(!paced(&mut pacing, 3) && pacing.rate() == 1e9, "{}", pacing.rate());
}

#[test]
fn parameters_out_of_range_are_refused() {
    let error = |params: PacerParams| params.check().map_err(|error| error.field);
    let usual = PacerParams::default();
    assert_eq!(error(usual), Ok(()));
    assert_eq!(error(PacerParams { interval: Time::ZERO, ..usual }), Err("interval".to_owned()));
    assert_eq!(error(PacerParams { gain: 0.0, ..usual }), Err("gain".to_owned()));
    assert_eq!(error(PacerParams { backlog_gain: f64::NAN, ..usual }), Err("backlog_gain".to_owned()));
    assert_eq!(error(PacerParams { bucket: Bytes::new(1_499), ..usual }), Err("bucket".to_owned()));
    assert_eq!(error(PacerParams { marks_per_flow: 0, ..usual }), Err("marks_per_flow".to_owned()));
    let phantom = |drain| PhantomParams { drain, ..PhantomParams::default() }.check().is_ok();
    assert_eq!([0.0, 0.01, 1.0, 1.01, f64::NAN].map(phantom), [false, true, true, false, false]);
}
