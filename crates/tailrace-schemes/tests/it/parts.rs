//! What parts every scheme has by default: as its README says, on links of 10 Gbps with a round trip of 80 µs.

use tailrace_core::{
    Bytes, CongestionLaw, Ecn, Facts, FlowInfo, HostPolicy, Objective, Packet, PacketKind, PortFacts,
    PortPlace, PortPolicy, Rate, Scheme, Slice, Time,
};
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};
use toml::Table;

/// Packets that fill a port further than any threshold.
const MANY: u32 = 400;

struct Parts;

impl SchemeVisitor for Parts {
    type Output = String;
    fn visit<S: Scheme>(self) -> String {
        let scheme = built::<S>();
        let parts = [hosts(&scheme), ports(&scheme), plan(&scheme)];
        let several = if S::ONE_PATH { ", one path" } else { "" };
        let controller = if scheme.controller().is_some() { ", a controller" } else { "" };
        format!("{}: {}{several}{controller}", S::NAME, parts.join("; "))
    }
}

fn built<S: Scheme>() -> S {
    let slices = vec![Slice { weight: 1.0, objective: Objective::Completion }];
    let facts = Facts {
        slices,
        racks: (0..16).map(|host| host / 8).collect(),
        ..Facts::new(16, Rate::from_gbps(10), Time::from_us(80), 4)
    };
    let mut params = Table::try_from(S::Params::default()).expect("a table");
    let thresholds = match S::NAME {
        "pias" => "thresholds = [\"1KB\", \"2KB\", \"3KB\", \"4KB\", \"5KB\", \"6KB\", \"7KB\"]",
        "karuna" => "thresholds = { splitting = [\"1KB\"], sieving = [\"1KB\"] }\nport = { queues = 3 }",
        _ => "",
    };
    params.extend(thresholds.parse::<Table>().expect("a table"));
    let scheme = S::new(params.try_into().expect("parameters"), &facts);
    scheme.unwrap_or_else(|error| panic!("{}: {error}", S::NAME))
}

/// A flow of 2 MB that is due in 10 ms.
fn flow() -> FlowInfo {
    let (size, deadline) = (Some(Bytes::new(2_000_000)), Some(Time::from_ms(10)));
    FlowInfo { id: 1, src: 0, dst: 9, size, start: Time::ZERO, deadline, slice: 1, task: 0 }
}

/// The window and rate of a new flow, and the priorities of its first and last packets and acknowledgements.
fn hosts<S: Scheme>(scheme: &S) -> String {
    let law = scheme.law(&flow());
    let allowance = law.allowance();
    let pacing = allowance.pacing.map_or(String::new(), |rate| format!(" at {rate}"));
    let window = match allowance.window.get() {
        bytes if bytes.is_multiple_of(1460) => format!("{} segments", bytes / 1460),
        bytes => format!("{bytes} B"),
    };
    let probe = if law.probe_at() == Time::ZERO { " after a request" } else { "" };
    let directive = scheme.host().directive(&flow());
    let tag = |sent| directive.tags.priority(sent);
    let cap = directive.cap.map_or(String::new(), |cap| format!(" capped at {}", cap.rate));
    let ecn = if scheme.ecn() { "ECN" } else { "no ECN" };
    format!(
        "{window}{pacing}{probe}{cap}, {ecn}, tags {}-{}, acks {}, weight {}",
        tag(0),
        tag(2_000_000),
        directive.acks,
        directive.weight.get()
    )
}

/// How many queues a port has, and how many packets it holds before it marks one.
fn ports<S: Scheme>(scheme: &S) -> String {
    let facts = PortFacts::new(3, PortPlace::SwitchToHost, Rate::from_gbps(10), Bytes::new(10_000_000));
    let mut port = scheme.port(&facts);
    let (mut marked, mut lost) = (None, 0);
    for seq in 0..MANY {
        let mut packet =
            Packet { flow: 1, seq, bytes: 1500, priority: 7, header: scheme_header::<S>(), ..Packet::EMPTY };
        packet.set(PacketKind::Data, Ecn::Capable);
        port.enqueue(Time::ZERO, packet, facts.buffer, &mut |_, _| lost += 1);
        if port.marked() > 0 {
            marked.get_or_insert(seq);
        }
    }
    assert_eq!((lost, port.backlog_packets()), (0, MANY as usize), "{}", S::NAME);
    let queues = (0..8).find(|&queue| port.backlog_of(queue) > Bytes::ZERO).map_or(0, |queue| queue + 1);
    let marks = marked.map_or("no marks".to_owned(), |count| format!("marks above {count}"));
    let wakes = port.next_wake().map_or(String::new(), |at| format!(", woken at {at}"));
    format!("{queues} queues, {marks}{wakes}")
}

fn scheme_header<S: Scheme>() -> S::Header {
    <S::Header as tailrace_core::Header>::NONE
}

fn plan<S: Scheme>(scheme: &S) -> String {
    let Some(plan) = scheme.switch_plan(Rate::from_gbps(10)) else {
        return "no plan for switches".to_owned();
    };
    let marking = plan
        .marking
        .map_or("no marks".to_owned(), |marking| format!("marks above {} B", marking.above_bytes));
    format!("switches {:?} of {}, {marking}", plan.service, plan.queues.len())
}

#[test]
fn every_scheme_has_the_parts_that_it_says() {
    let parts: Vec<String> = NAMES.iter().filter_map(|name| with_scheme(name, Parts).ok()).collect();
    let expected: Vec<&str> = include_str!("parts.txt").lines().collect();
    assert_eq!(parts, expected, "\n{}", parts.join("\n"));
}
