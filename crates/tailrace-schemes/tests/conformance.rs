//! What every registered scheme must do, under random operations. A new scheme is tested by being
//! registered.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde::de::DeserializeOwned;
use tailrace_core::random::Stream;
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Bytes, CongestionLaw, Ecn, Facts, FlowInfo, FlowView, Header, HostPolicy, Loss, Objective,
    Packet, PacketKind, PortFacts, PortPlace, PortPolicy, Rate, Scheme, Segment, SeriesRow, SizeDistribution,
    Slice, Time, Traffic,
};
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};

const NOTHING_SENT: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

fn facts() -> Facts {
    let sizes = SizeDistribution::new(vec![(1_000.0, 0.0), (20_000.0, 0.6), (5_000_000.0, 1.0)]).unwrap();
    Facts {
        hosts: 16,
        host_rate: Rate::from_gbps(10),
        base_rtt: Time::from_us(80),
        longest_path: 4,
        transport: TransportParams::default(),
        traffic: Some(Traffic { sizes, workload: None, load: 0.6, classes: vec![] }),
        published_sizes: |_| None,
        horizon: None,
        slices: vec![Slice { weight: 1.0, objective: Objective::Completion }],
        racks: Vec::new(),
    }
}

fn default_scheme<S: Scheme>() -> S {
    match S::new(S::Params::default(), &facts()) {
        Ok(scheme) => scheme,
        Err(error) => panic!("{}: its own defaults are refused: {error}", S::NAME),
    }
}

/// Runs a check on every scheme.
fn all<V: SchemeVisitor<Output = ()> + Copy>(visitor: V) {
    NAMES.iter().for_each(|name| with_scheme(name, visitor).unwrap());
}

#[derive(Clone, Copy)]
struct Parameters;
impl SchemeVisitor for Parameters {
    type Output = ();
    fn visit<S: Scheme>(self) {
        let written = toml::Table::try_from(S::Params::default()).unwrap();
        default_from::<S, S::Params>(written.clone());
        let mut unknown = written;
        unknown.insert("no-such-field".into(), toml::Value::Integer(1));
        let error = toml::Value::Table(unknown).try_into::<S::Params>().err().map(|e| e.to_string());
        assert!(error.is_some_and(|e| e.contains("no-such-field")), "{} takes unknown fields", S::NAME);
        let schema = schemars::schema_for!(S::Params);
        let fields = schema.as_value()["properties"].as_object().unwrap();
        for (name, field) in fields {
            assert!(field.get("description").is_some(), "{}.{name} has no doc comment", S::NAME);
        }
    }
}

fn default_from<S: Scheme, P: DeserializeOwned + serde::Serialize>(table: toml::Table) {
    let read: P = toml::Value::Table(table.clone()).try_into().unwrap();
    assert_eq!(toml::Table::try_from(read).unwrap(), table, "{}: parameters do not round-trip", S::NAME);
}

#[test]
fn parameters_round_trip_and_are_documented() {
    all(Parameters);
}

#[derive(Clone, Copy)]
struct Laws;
impl SchemeVisitor for Laws {
    type Output = ();
    fn visit<S: Scheme>(self) {
        let scheme = default_scheme::<S>();
        for seed in 0..200 {
            let mut stream = Stream::new(seed, S::NAME, 0);
            let info = FlowInfo {
                id: 0,
                src: 0,
                dst: 1,
                size: Some(Bytes::new(1 << 40)),
                start: Time::ZERO,
                deadline: None,
                slice: 0,
                task: 0,
            };
            let mut law = scheme.law(&S::KNOWS.filter(info));
            let (mut sent, mut acked, mut now) = (Bytes::ZERO, Bytes::ZERO, Time::ZERO);
            for _ in 0..300 {
                now += Time::from_us(u64::from(stream.below(200)));
                let window = law.allowance().window;
                assert!(window.get() < 1 << 40, "{}: window {window} at {now}", S::NAME);
                let flow = FlowView { sent, acked, delivered: acked };
                match stream.below(10) {
                    0 => law.on_loss(now, Loss::Fast, &flow),
                    1 => law.on_loss(now, Loss::Timeout, &flow),
                    2..5 => {
                        let segment = Segment { before: sent, len: 1460, last: false };
                        law.stamp(now, &segment, &flow);
                        sent += Bytes::new(1460);
                    }
                    _ => {
                        let news = Bytes::new(1460 * u64::from(1 + stream.below(3)));
                        acked += news;
                        sent = sent.max(acked);
                        let marked = if stream.below(3) == 0 { news } else { Bytes::ZERO };
                        let sample = AckSample {
                            now,
                            acked: news,
                            marked,
                            in_flight: Bytes::new(sent.get() - acked.get()),
                            rtt: Time::from_us(u64::from(1 + stream.below(5_000))),
                            srtt: Time::from_us(u64::from(1 + stream.below(5_000))),
                            app_limited: stream.below(2) == 0,
                        };
                        let flow = FlowView { sent, acked, delivered: acked };
                        law.on_feedback(now, sample.rtt, &S::Header::NONE, &flow);
                        law.on_ack(&sample, &flow);
                    }
                }
            }
        }
    }
}

#[test]
fn laws_keep_a_finite_window_under_any_sequence() {
    all(Laws);
}

#[derive(Clone, Copy)]
struct Ports;
impl SchemeVisitor for Ports {
    type Output = ();
    fn visit<S: Scheme>(self) {
        let scheme = default_scheme::<S>();
        for seed in 0..60 {
            let mut stream = Stream::new(seed, S::NAME, 1);
            let facts = PortFacts {
                number: 0,
                place: PortPlace::SwitchToHost,
                rate: Rate::from_gbps(10),
                buffer: Bytes::new(30_000),
            };
            fuzz_port::<S>(&mut scheme.port(&facts), &mut stream, facts.buffer);
        }
    }
}

/// Everything that goes in comes out once or is dropped; the counters agree; room is never exceeded.
fn fuzz_port<S: Scheme>(port: &mut S::Port, stream: &mut Stream, room: Bytes) {
    let (mut inside, mut bytes, mut now) = (std::collections::BTreeSet::new(), 0u64, Time::ZERO);
    let mut law = default_scheme::<S>().law(&FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: None,
        start: Time::ZERO,
        deadline: None,
        slice: 0,
        task: 0,
    });
    for number in 0..1_000u32 {
        now += Time::from_us(u64::from(stream.below(300)));
        while port.next_wake().is_some_and(|at| at <= now) {
            port.on_wake(now, &mut Vec::<SeriesRow>::new());
        }
        if stream.below(3) > 0 {
            let before = u64::from(stream.below(1 << 20));
            let last = stream.below(8) == 0;
            let len = 1 + stream.below(1460) as u16;
            let mut packet = Packet {
                flow: stream.below(20),
                bytes: len + 40,
                priority: stream.below(10) as u8,
                seq: number,
                header: law.stamp(now, &Segment { before: Bytes::new(before), len, last }, &NOTHING_SENT),
                ..Packet::EMPTY
            };
            packet.set(if last { PacketKind::LastData } else { PacketKind::Data }, Ecn::Capable);
            inside.insert(number);
            bytes += u64::from(packet.bytes);
            let mut drop = |lost: Packet<S::Header>, _| {
                assert!(inside.remove(&lost.seq), "{}: dropped what it does not hold", S::NAME);
                bytes -= u64::from(lost.bytes);
            };
            port.enqueue(now, packet, room, &mut drop);
        } else if let Some(packet) = port.dequeue(now) {
            assert!(inside.remove(&packet.seq), "{}: sent packet {} twice", S::NAME, packet.seq);
            bytes -= u64::from(packet.bytes);
        } else {
            assert!(inside.is_empty(), "{}: holds packets but sends none", S::NAME);
        }
        assert_eq!((port.backlog().get(), port.backlog_packets()), (bytes, inside.len()), "{}", S::NAME);
        assert!(port.backlog() <= room, "{}: {} in a room of {room}", S::NAME, port.backlog());
        let by_queue: u64 = (0..8).map(|queue| port.backlog_of(queue).get()).sum();
        assert_eq!(by_queue, bytes, "{}: queues do not add up to the port", S::NAME);
    }
}

#[test]
fn ports_lose_and_invent_nothing() {
    all(Ports);
}

#[derive(Clone, Copy)]
struct Switches;
impl SchemeVisitor for Switches {
    type Output = ();
    fn visit<S: Scheme>(self) {
        for gbps in [1, 10, 40, 400] {
            let scheme = default_scheme::<S>();
            let Some(plan) = scheme.switch_plan(Rate::from_gbps(gbps)) else { continue };
            assert!((1..=8).contains(&plan.queues.len()), "{}: {} queues", S::NAME, plan.queues.len());
            for (number, queue) in plan.queues.iter().enumerate() {
                assert_eq!(usize::from(queue.dscp), 7 - number, "{}", S::NAME);
                assert!(!queue.holds.is_empty(), "{}: queue {number} is for nothing", S::NAME);
            }
            assert!(scheme.ecn() || plan.marking.is_none(), "{}: marks what cannot be marked", S::NAME);
        }
    }
}

#[test]
fn switch_plans_name_every_queue() {
    all(Switches);
}

#[derive(Clone, Copy)]
struct Hosts;
impl SchemeVisitor for Hosts {
    type Output = ();
    fn visit<S: Scheme>(self) {
        let mut host = default_scheme::<S>().host();
        let info = S::KNOWS.filter(FlowInfo {
            id: 0,
            src: 0,
            dst: 1,
            size: Some(Bytes::new(9_000)),
            start: Time::ZERO,
            deadline: None,
            slice: 0,
            task: 0,
        });
        let mut now = Time::ZERO;
        for step in 0..50 {
            host.on_flow_end(now, Bytes::new(1 + step * 1_000));
            now = host.next_wake().unwrap_or(now + Time::from_ms(1));
            host.on_wake(now, &mut Vec::<SeriesRow>::new());
            assert!(host.next_wake().is_none_or(|next| next > now), "{}: asks for the past", S::NAME);
            let tags: Vec<u8> =
                [0, 1_460, 100_000, 1 << 40].map(|b| host.directive(&info).tags.priority(b)).into();
            assert!(tags.is_sorted() && tags[3] < 8, "{}: {tags:?}", S::NAME);
        }
    }
}

#[test]
fn hosts_tag_downwards_and_wake_forwards() {
    all(Hosts);
}
