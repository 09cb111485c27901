//! Nothing is lost or made up, nothing is faster than light, and a run repeats to the last event.

use tailrace_core::Ending;
use tailrace_core::transport::{FctEnd, LossDetection, RtoMode, TransportParams};
use tailrace_core::{Bytes, FlowRecord, HEADER_BYTES, MarkingAt, QueueUnit, Time};
use tailrace_fabric::{Buffer, Fabric, LoadBalancing, PortRules};
use tailrace_schemes::NAMES;
use tailrace_workload::FlowSpec;

use crate::setup::{BALANCINGS, MSS, Run, Setup, fabric, takes_one_path};

/// Small fabrics of every kind.
const FABRICS: [&str; 5] = [
    "kind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"",
    "kind = \"dumbbell\"\nleft = 3\nright = 3\nhost_rate = \"10Gbps\"\nbottleneck_rate = \"10Gbps\"",
    "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\nhost_rate = \"10Gbps\"\nspine_rate = \"10Gbps\"",
    "preset = \"fattree64\"",
    // Ways of different rates and lengths, links side by side, a ring, and a host at a switch in the middle.
    "kind = \"graph\"\nhosts = [\"a\", \"b\", \"c\", \"d\", \"e\"]\nrate = \"10Gbps\"\nlink = [\
     { ends = [\"a\", \"s\"] }, { ends = [\"b\", \"s\"], rate = \"1Gbps\" }, { ends = [\"c\", \"t\"] },\
     { ends = [\"t\", \"d\"], delay = \"7us\" }, { ends = [\"e\", \"x\"], rate = \"40Gbps\" },\
     { ends = [\"s\", \"x\"] }, { ends = [\"y\", \"s\"], rate = \"4Gbps\", delay = \"9us\", ecmp_weight = 2 },\
     { ends = [\"x\", \"t\"] }, { ends = [\"x\", \"t\"], rate = \"2Gbps\" }, { ends = [\"y\", \"t\"] },\
     { ends = [\"t\", \"s\"], rate = \"1Gbps\", metric = 2 }]",
];

const BUFFERS: [Buffer; 2] =
    [Buffer::PerPort(Bytes::new(60_000)), Buffer::Shared { total: Bytes::new(200_000), alpha_percent: 50 }];

/// What ports count, and when they mark.
const RULES: [PortRules; 3] = [
    PortRules { queue_unit: QueueUnit::Packets, marking_at: MarkingAt::Enqueue, cards_mark: true },
    PortRules { queue_unit: QueueUnit::Bytes, marking_at: MarkingAt::Enqueue, cards_mark: true },
    PortRules { queue_unit: QueueUnit::Packets, marking_at: MarkingAt::Dequeue, cards_mark: false },
];

/// Bursts that collide: drops, marks, retransmissions and timeouts.
fn colliding_flows(fabric: &Fabric) -> Vec<FlowSpec> {
    let hosts = fabric.hosts.min(12) as u32;
    let sizes = [1, 700, MSS, MSS + 1, 40_000, 300_000];
    (0..60u64)
        .map(|i| {
            let src = (i % u64::from(hosts)) as u32;
            let dst = if i % 3 == 0 { (src + 1) % hosts } else { u32::from(src == 0) };
            let size = Bytes::new(sizes[(i % 6) as usize]);
            FlowSpec { src, dst, size, start: Time::from_us(3 * (i / 4)), ..FlowSpec::default() }
        })
        .collect()
}

fn transport(fct_end: FctEnd) -> TransportParams {
    TransportParams {
        loss_detection: LossDetection::TimeoutOnly,
        rto: RtoMode::Fixed,
        fct_end,
        ..TransportParams::default()
    }
}

/// Every scheme on every fabric with every buffer; each combination with another way to balance load and other
/// rules for ports.
fn for_all(mut check: impl FnMut(&str, &Setup)) {
    let mut turn = 0;
    for name in NAMES {
        let one_path = takes_one_path(name);
        for fields in FABRICS {
            for buffer in BUFFERS {
                let mut fabric = fabric(fields);
                fabric.buffer = buffer;
                fabric.load_balancing =
                    if one_path { LoadBalancing::Ecmp } else { BALANCINGS[turn % BALANCINGS.len()] };
                fabric.port_rules = RULES[turn % RULES.len()];
                turn += 1;
                let flows = colliding_flows(&fabric);
                check(name, &Setup { transport: transport(FctEnd::Receiver), ..Setup::new(fabric, flows) });
            }
        }
    }
}

fn assert_balance(run: &Run, name: &str) {
    assert!(run.ledger.balances(), "{name}: {}", run.ledger);
    let dropped: u64 = run.ports.iter().map(|port| port.dropped.packets).sum();
    assert_eq!(dropped, run.ledger.dropped().packets, "{name}: ports and ledger count drops differently");
}

#[test]
fn every_packet_is_accounted_for_whenever_the_run_stops() {
    let (mut dropped, mut unfinished) = (0, 0);
    for_all(|name, setup| {
        for horizon_us in [30, 90, 400, 2_500] {
            let setup = Setup { horizon: Some(Time::from_us(horizon_us)), ..setup.clone() };
            let run = setup.run(name, "");
            assert_balance(&run, name);
            dropped += run.ledger.dropped().packets;
            unfinished += usize::from(run.ending == Ending::Horizon);
        }
    });
    assert!(dropped > 100 && unfinished > 100, "too tame: {dropped} drops, {unfinished} runs cut short");
}

#[test]
fn every_flow_finishes_and_none_beats_the_closed_form() {
    for_all(|name, setup| {
        for fct_end in [FctEnd::Receiver, FctEnd::Acked] {
            let setup = Setup { transport: transport(fct_end), ..setup.clone() };
            let run = setup.run(name, "");
            assert_eq!(run.ending, Ending::Finished);
            assert_balance(&run, name);
            for record in &run.records {
                let FlowRecord { src, dst, id, size, .. } = *record;
                let ideal = setup.fabric.ideal_fct(src, dst, id, size, &setup.transport, HEADER_BYTES);
                let fct = record.fct().unwrap_or_else(|| panic!("{name}: {record:?} did not finish"));
                assert!(fct >= ideal, "{name}: {record:?} took {fct}, faster than {ideal}");
            }
        }
    });
}

#[test]
fn a_run_repeats_to_the_last_event() {
    for_all(|name, setup| {
        let (first, second) = (setup.run(name, ""), setup.run(name, ""));
        assert_eq!(first.digest, second.digest, "{name}");
        assert_eq!(first.records, second.records, "{name}");
        assert_eq!(first.ports, second.ports, "{name}");
    });
}

#[test]
fn another_seed_is_another_run_where_chance_decides() {
    let mut setup = Setup::new(fabric(FABRICS[2]), Vec::new());
    setup.flows = colliding_flows(&setup.fabric);
    setup.fabric.load_balancing = BALANCINGS[2];
    let digest = |seed| Setup { seed, ..setup.clone() }.run("dctcp", "").digest;
    assert_ne!(digest(1), digest(2));
    assert_eq!(digest(1), digest(1));
}
