//! A flow that has the fabric to itself takes exactly the time of the closed form, and no flow ever less.

use proptest::prelude::*;
use tailrace_core::transport::{FctEnd, LossDetection, TransportParams};
use tailrace_core::{Bytes, HEADER_BYTES, HostId, LinkRate, PortPlace, Time};
use tailrace_fabric::{Buffer, Fabric, FabricParams, Failures, LoadBalancing, PortRules};
use tailrace_schemes::NAMES;

use crate::setup::{
    ENDLESS, MSS, Setup, any_balancing, any_kind, caps_flows, fabric, flow, preset, takes_one_path,
};

/// A transport that never takes waiting for a loss. An endless window keeps packets of a large flow waiting
/// at its own network card for longer than any timeout in use, and spraying reorders.
fn patient(mss: u16) -> TransportParams {
    TransportParams {
        mss,
        min_rto: Time::from_ms(200),
        max_window: u32::MAX,
        loss_detection: LossDetection::TimeoutOnly,
        ..TransportParams::default()
    }
}

fn setup(fabric: &Fabric, transport: TransportParams, dst: HostId, size: u64) -> Setup {
    Setup { transport, ..Setup::new(fabric.clone(), vec![flow(0, dst, size, Time::ZERO)]) }
}

/// The completion time of the lone flow, by the receiver's and by the sender's clock.
fn measured(setup: &Setup, scheme: &str, params: &str) -> [Time; 2] {
    [FctEnd::Receiver, FctEnd::Acked].map(|fct_end| {
        let transport = TransportParams { fct_end, ..setup.transport };
        Setup { transport, ..setup.clone() }.run(scheme, params).only_fct()
    })
}

/// The same two by the closed form.
fn ideal(setup: &Setup) -> [Time; 2] {
    let flow = &setup.flows[0];
    [FctEnd::Receiver, FctEnd::Acked].map(|fct_end| {
        let transport = TransportParams { fct_end, ..setup.transport };
        setup.fabric.ideal_fct(flow.src, flow.dst, 0, flow.size, &transport, HEADER_BYTES)
    })
}

/// Segments in flight that keep a link of the fabric's highest rate busy all the time, and so any other.
fn busy_window(fabric: &Fabric, mss: u16) -> u64 {
    let packet = |rate| LinkRate::new(rate).time_for(mss + HEADER_BYTES).as_ps();
    let fastest = fabric.ports.iter().map(|port| packet(port.rate)).min().unwrap_or(1).max(1);
    fabric.farthest_rtt(mss + HEADER_BYTES, mss + HEADER_BYTES).as_ps().div_ceil(fastest)
}

/// Where the closed form says that it is exact: all packets take one path, or the links over which they may be
/// spread are no slower than the hosts' and take turns, or are changed for pauses only that a lone flow has not.
fn is_exact(fabric: &Fabric, mss: u16) -> bool {
    let mut inside = fabric.ports.iter().filter(|port| port.place() == PortPlace::SwitchToSwitch);
    let keeps_up = inside.all(|port| port.rate >= fabric.host_rate());
    match fabric.load_balancing {
        _ if fabric.routes.choices() == 0 => true,
        LoadBalancing::Ecmp => true,
        LoadBalancing::SprayRoundRobin => keeps_up,
        LoadBalancing::SprayRandom => false,
        LoadBalancing::Flowlet { gap } => {
            keeps_up && LinkRate::new(fabric.host_rate()).time_for(mss + HEADER_BYTES) <= gap
        }
        LoadBalancing::Flowcell { .. } => keeps_up,
    }
}

/// Whether a last packet that may be short is a cell of its own: it waits for the cell before it, and its
/// acknowledgement for that of its packets.
fn ends_with_a_lone_packet(fabric: &Fabric, mss: u16, size: u64) -> bool {
    let cell = fabric.load_balancing.packets_per_cell(mss + HEADER_BYTES);
    let before = size.div_ceil(u64::from(mss)) - 1;
    cell.is_some_and(|cell| before > 0 && before.is_multiple_of(u64::from(cell)))
}

/// Whether packets of several paths end with one that is shorter than its acknowledgement.
fn ends_shorter(setup: &Setup) -> bool {
    let TransportParams { mss, ack_bytes, .. } = setup.transport;
    let last = (setup.flows[0].size.get() - 1) % u64::from(mss) + 1;
    setup.fabric.load_balancing != LoadBalancing::Ecmp
        && last + u64::from(HEADER_BYTES) < u64::from(ack_bytes)
}

#[test]
fn acknowledgements_are_as_long_as_the_transport_has_them() {
    for ack_bytes in [40, 52, 1500] {
        let setup =
            setup(&preset("rack16"), TransportParams { ack_bytes, ..patient(MSS as u16) }, 3, 10 * MSS);
        let run = setup.run("fifo", "window = 20");
        let back = run.ports[3].sent;
        assert_eq!((back.packets, back.bytes), (10, 10 * u64::from(ack_bytes)));
        // The last acknowledgement takes longer by what it is longer, at each of its two links.
        let longer = setup.fabric.host_rate().time_for(Bytes::new(u64::from(ack_bytes) - 40)) * 2;
        let acked = |ack_bytes| {
            let transport = TransportParams { ack_bytes, fct_end: FctEnd::Acked, ..setup.transport };
            Setup { transport, ..setup.clone() }.run("fifo", "window = 20").only_fct()
        };
        assert_eq!(acked(ack_bytes), acked(40) + longer);
    }
}

#[test]
fn presets_are_exact_with_a_window_of_one_round_trip() {
    for name in ["spine144", "spine144x3", "micro4", "fattree64", "rack16", "tree5x4", "tree36k"] {
        let fabric = preset(name);
        let packet = fabric.host_rate().time_for(Bytes::new(1500)).as_ps();
        let window = fabric.base_rtt().as_ps().div_ceil(packet);
        let last = fabric.hosts as u32 - 1;
        for size in [1, MSS - 1, MSS, MSS + 1, 2 * MSS + 1, 100_000, 1_000_001] {
            for dst in [1, last] {
                let setup = setup(&fabric, patient(MSS as u16), dst, size);
                let measured = measured(&setup, "fifo", &format!("window = {window}"));
                assert_eq!(measured, ideal(&setup), "{name}, {size} B to {dst}");
            }
        }
    }
}

#[test]
fn a_hundred_megabytes_are_exact_to_the_picosecond() {
    for name in ["spine144", "spine144x3", "micro4", "fattree64", "rack16"] {
        let fabric = preset(name);
        let setup = setup(&fabric, patient(MSS as u16), fabric.hosts as u32 - 1, 100_000_000);
        assert_eq!(measured(&setup, "fifo", "window = 100"), ideal(&setup), "{name}");
    }
}

#[test]
fn flowcells_are_exact_although_order_counts() {
    for name in ["spine144", "micro4", "fattree64"] {
        let mut fabric = preset(name);
        fabric.load_balancing = LoadBalancing::Flowcell { size: Bytes::new(65_536) };
        let transport =
            TransportParams { loss_detection: LossDetection::DuplicateAcks, ..patient(MSS as u16) };
        // Within a cell, at the end of one, beyond it, and many.
        for size in [1, 43 * MSS, 44 * MSS, 44 * MSS + 1, 10_000_000] {
            let setup = setup(&fabric, transport, fabric.hosts as u32 - 1, size);
            assert_eq!(measured(&setup, "fifo", "window = 100"), ideal(&setup), "{name}, {size} B");
        }
    }
}

#[test]
fn every_scheme_with_a_window_is_exact_within_its_first() {
    // 60 packets stay below every scheme's marking threshold at the sender's own port. Schemes that keep state
    // of flows at ports wait for their rates first: rates.rs. Caps of hosts are below the link's rate: caps.rs.
    for scheme in NAMES.iter().filter(|name| !takes_one_path(name) && !caps_flows(name)) {
        for name in ["spine144", "spine144x3", "micro4", "fattree64", "rack16", "tree5x4"] {
            let fabric = preset(name);
            let transport = TransportParams { initial_window: 60, ..patient(MSS as u16) };
            for size in [1, MSS - 1, MSS, MSS + 1, 20_000, 60 * MSS] {
                let setup = setup(&fabric, transport, fabric.hosts as u32 - 1, size);
                assert_eq!(measured(&setup, scheme, ""), ideal(&setup), "{scheme} on {name}, {size} B");
            }
        }
    }
}

/// A segment size, and sizes of a few segments, where the short last one matters most, and of some more.
fn any_size() -> impl Strategy<Value = (u16, u64)> {
    prop::sample::select(vec![536u16, 1460, 8960]).prop_flat_map(|mss| {
        let segments = (1u64..40).prop_map(move |n| n * u64::from(mss));
        let size = prop_oneof![1u64..12_000, 1u64..300_000, segments];
        (Just(mss), size)
    })
}

proptest! {
    #![proptest_config(tailrace_cases::cases(1_500))]

    #[test]
    fn any_fabric_is_exact_or_bounded(
        kind in any_kind(),
        load_balancing in any_balancing(),
        (mss, size) in any_size(),
        whole in any::<bool>(),
        ack_bytes in prop_oneof![Just(40u16), 40u16..=576],
    ) {
        let fabric = FabricParams { kind, load_balancing, ecmp_seed: 0, buffer: ENDLESS, port_rules: PortRules::default(), failures: Failures::default() }.build();
        let window = if whole { size.div_ceil(u64::from(mss)) } else { busy_window(&fabric, mss) };
        for dst in [1, fabric.hosts as u32 - 1] {
            let setup = setup(&fabric, TransportParams { ack_bytes, ..patient(mss) }, dst, size);
            let (measured, ideal) = (measured(&setup, "fifo", &format!("window = {window}")), ideal(&setup));
            if is_exact(&fabric, mss) {
                prop_assert_eq!(measured[0], ideal[0]);
                let bound = ends_with_a_lone_packet(&fabric, mss, size) || ends_shorter(&setup);
                prop_assert!(measured[1] == ideal[1] || bound, "{:?} {:?}", measured, ideal);
            }
            prop_assert!(ideal[0] <= measured[0] && ideal[1] <= measured[1], "{:?} < {:?}", measured, ideal);
        }
    }

    #[test]
    fn no_scheme_beats_the_closed_form(
        kind in any_kind(),
        load_balancing in any_balancing(),
        (mss, size) in any_size(),
        scheme in prop::sample::select(NAMES),
        buffer_packets in 2u64..300,
        initial_window in 1u32..80,
        ack_every in 1u32..4,
        duplicates in any::<bool>(),
    ) {
        let packet = u64::from(mss + HEADER_BYTES);
        let buffer = Buffer::PerPort(Bytes::new(buffer_packets * packet));
        let fabric = FabricParams { kind, load_balancing, ecmp_seed: 0, buffer, port_rules: PortRules::default(), failures: Failures::default() }.build();
        let loss_detection =
            if duplicates { LossDetection::DuplicateAcks } else { LossDetection::TimeoutOnly };
        let transport =
            TransportParams { mss, initial_window, ack_every, loss_detection, ..TransportParams::default() };
        let setup = setup(&fabric, transport, fabric.hosts as u32 - 1, size);
        let (measured, ideal) = (measured(&setup, scheme, ""), ideal(&setup));
        prop_assert!(ideal[0] <= measured[0] && ideal[1] <= measured[1], "{:?} < {:?}", measured, ideal);
    }
}

#[test]
fn flowlets_over_slow_links_do_not_beat_the_closed_form() {
    // A flow that pauses uses several of the slow links at once.
    let fields = r#"kind = "leaf-spine"
        leaves = 2
        spines = 4
        hosts_per_leaf = 1
        host_rate = "10Gbps"
        spine_rate = "1Gbps"
        delay = "1us"
        load_balancing = "flowlet"
        flowlet_gap = "12us""#;
    let transport = TransportParams { initial_window: 2, ..patient(MSS as u16) };
    let setup = setup(&fabric(fields), transport, 1, 100_000);
    let (measured, ideal) = (measured(&setup, "tcp", ""), ideal(&setup));
    assert!(ideal[0] <= measured[0], "{measured:?} < {ideal:?}");
}

#[test]
fn a_flow_may_start_at_any_time() {
    let fields = r#"kind = "star"
        hosts = 2
        host_rate = "100Gbps"
        delay = "0us""#;
    for start in [Time::from_ms(1_000), Time::from_ms(100_000), Time::from_ms(1_000_000_000)] {
        let mut setup = setup(&fabric(fields), TransportParams::default(), 1, 10 * MSS);
        setup.flows[0].start = start;
        assert_eq!(measured(&setup, "fifo", ""), ideal(&setup), "start at {start}");
    }
}
