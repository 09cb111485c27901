//! The closed form against a tiny simulation that shares nothing with it, and routes against their promise.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use tailrace_core::random::Stream;
use tailrace_core::transport::{FctEnd, TransportParams};
use tailrace_core::{Bytes, LinkRate, Rate, Time};

use super::*;

const MSS: u16 = 1460;
const HEADER: u16 = 40;
const BUFFER: Buffer = Buffer::PerPort(Bytes::MAX);

/// Time, port whose link delivers, packet, wire bytes, whether it is an acknowledgement.
type Delivery = (u64, u32, u64, u16, bool);

/// Simulates a lone flow event by event: when the receiver has all of it and when the sender knows.
pub(crate) fn simulate(fabric: &Fabric, src: HostId, dst: HostId, size: u64) -> (Time, Time) {
    let mut free = vec![0u64; fabric.ports.len()];
    let mut turns = vec![0u32; fabric.ports.len().max(fabric.routes.choices())];
    let mut random = Stream::new(1, "spray", 0);
    let mut events: BinaryHeap<Reverse<Delivery>> = BinaryHeap::new();
    let mut send = |events: &mut BinaryHeap<_>, now: u64, port: u32, packet: u64, bytes: u16, ack: bool| {
        let spec = &fabric.ports[port as usize];
        let start = now.max(free[port as usize]);
        free[port as usize] = start + LinkRate::new(spec.rate).time_for(bytes).as_ps();
        events.push(Reverse((free[port as usize] + spec.delay.as_ps(), port, packet, bytes, ack)));
    };
    let packets = size.div_ceil(u64::from(MSS));
    let cell = fabric.load_balancing.packets_per_cell(MSS + HEADER).map_or(1, u64::from);
    for packet in 0..packets {
        let payload = (size - packet * u64::from(MSS)).min(u64::from(MSS)) as u16;
        send(&mut events, 0, src, packet, payload + HEADER, false);
    }
    let (mut arrived, mut received) = (0, 0);
    while let Some(Reverse((now, port, packet, bytes, ack))) = events.pop() {
        match fabric.ports[port as usize].to {
            Node::Host(host) if host == dst && !ack => {
                arrived += 1;
                received = now;
                send(&mut events, now, dst, arrived, 40, true);
            }
            Node::Host(_) if packet == packets => return (Time::from_ps(received), Time::from_ps(now)),
            Node::Host(_) => {}
            Node::Switch(switch) => {
                let group = fabric.next_hops(switch, if ack { src } else { dst });
                let choice = match fabric.load_balancing {
                    _ if group.count == 1 => 0,
                    LoadBalancing::SprayRoundRobin => {
                        let turn = &mut turns[group.first as usize];
                        *turn += 1;
                        (*turn - 1) % group.count
                    }
                    LoadBalancing::Flowcell { .. } => {
                        // Number of the path, in which the second switch reads the second digit.
                        let path = if ack { 0 } else { (packet / cell) as u32 };
                        let first = fabric.next_hops(fabric.edge_of[src as usize], dst).count;
                        let digit = if switch == fabric.edge_of[src as usize] { path } else { path / first };
                        digit % group.count
                    }
                    LoadBalancing::SprayRandom => random.below(group.count),
                    _ => group.count - 1,
                };
                let port = match fabric.load_balancing {
                    LoadBalancing::Ecmp if ack => fabric.hashed_port(switch, dst, src, 0),
                    LoadBalancing::Ecmp => fabric.hashed_port(switch, src, dst, 0),
                    _ => fabric.routes.port(group, choice),
                };
                send(&mut events, now, port, packet, bytes, ack);
            }
        }
    }
    panic!("the flow did not end");
}

pub(crate) fn formula(fabric: &Fabric, src: HostId, dst: HostId, size: u64) -> (Time, Time) {
    let to = |fct_end| {
        let transport = TransportParams { mss: MSS, fct_end, ..TransportParams::default() };
        fabric.ideal_fct(src, dst, 0, Bytes::new(size), &transport, HEADER)
    };
    (to(FctEnd::Receiver), to(FctEnd::Acked))
}

pub(crate) fn any_rate() -> impl Strategy<Value = Rate> {
    let usual = prop::sample::select(vec![1u64, 10, 25, 40, 100]).prop_map(Rate::from_gbps);
    prop_oneof![4 => usual, 1 => (10_000_000u64..200_000_000_000).prop_map(Rate::from_bps)]
}

pub(crate) fn any_delay() -> impl Strategy<Value = Time> {
    (0u64..30_000).prop_map(Time::from_ns)
}

fn any_dumbbell() -> impl Strategy<Value = Dumbbell> {
    (any_rate(), any_rate(), any_delay(), any_delay()).prop_map(
        |(host_rate, bottleneck_rate, host_delay, bottleneck_delay)| Dumbbell {
            left: 2,
            right: 1,
            host_rate,
            bottleneck_rate,
            host_delay,
            bottleneck_delay,
        },
    )
}

pub(crate) fn any_leaf_spine() -> impl Strategy<Value = LeafSpine> {
    (2u16..4, 1u16..6, any_rate(), any_rate(), any_delay(), any_delay()).prop_map(
        |(leaves, spines, host_rate, spine_rate, host_delay, spine_delay)| LeafSpine {
            leaves,
            spines,
            hosts_per_leaf: 2,
            host_rate,
            spine_rate,
            host_delay,
            spine_delay,
        },
    )
}

pub(crate) fn any_tree() -> impl Strategy<Value = Tree> {
    let rates = (any_rate(), any_rate(), any_rate());
    (1u16..4, 1u16..4, rates, any_delay()).prop_map(
        |(aggs_per_pod, cores_per_agg, (host_rate, edge_rate, core_rate), delay)| Tree {
            pods: 2,
            edges_per_pod: 2,
            hosts_per_edge: 2,
            aggs_per_pod,
            cores: aggs_per_pod * cores_per_agg,
            host_rate,
            edge_rate,
            core_rate,
            host_delay: delay,
            edge_delay: delay,
            core_delay: delay,
        },
    )
}

/// Sizes of a few packets, where the short last one matters most, and of some more.
pub(crate) fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..12_000, 1u64..300_000, (1u64..10).prop_map(|packets| packets * u64::from(MSS))]
}

/// Cells of so many full packets.
fn flowcell(packets: u64) -> LoadBalancing {
    LoadBalancing::Flowcell { size: Bytes::new(packets * u64::from(MSS + HEADER)) }
}

/// Whether no link between switches is slower than the hosts' links.
fn keeps_up(fabric: &Fabric) -> bool {
    fabric.ports.iter().all(|port| port.rate >= fabric.host_rate())
}

fn check(fabric: &Fabric, src: HostId, dst: HostId, size: u64) -> Result<(), TestCaseError> {
    let (ideal, simulated) = (formula(fabric, src, dst, size), simulate(fabric, src, dst, size));
    let exact = match fabric.load_balancing {
        LoadBalancing::SprayRoundRobin => keeps_up(fabric),
        balancing @ LoadBalancing::Flowcell { .. } => {
            let cell = balancing.packets_per_cell(MSS + HEADER).map_or(0, u64::from);
            keeps_up(fabric) || size.div_ceil(u64::from(MSS)) <= cell
        }
        LoadBalancing::SprayRandom => false,
        _ => true,
    };
    if exact {
        prop_assert_eq!(ideal, simulated);
    }
    prop_assert!(ideal.0 <= simulated.0 && ideal.1 <= simulated.1, "{ideal:?} above {simulated:?}");
    Ok(())
}

proptest! {
    #![proptest_config(tailrace_cases::cases(2_000))]

    #[test]
    fn one_path_is_exact_at_any_rates(kind in any_dumbbell(), size in any_size()) {
        let fabric = kind.build(LoadBalancing::Ecmp, BUFFER);
        check(&fabric, 0, 1, size)?;
        check(&fabric, 0, 2, size)?;
    }

    #[test]
    fn ecmp_is_exact_at_any_rates(kind in any_tree(), size in any_size()) {
        let fabric = kind.build(LoadBalancing::Ecmp, BUFFER);
        check(&fabric, 0, 3, size)?;
        check(&fabric, 0, 7, size)?;
    }

    #[test]
    fn spraying_over_two_tiers(kind in any_leaf_spine(), size in any_size()) {
        for balancing in [LoadBalancing::SprayRoundRobin, LoadBalancing::SprayRandom] {
            let fabric = kind.build(balancing, BUFFER);
            check(&fabric, 0, 1, size)?;
            check(&fabric, 0, 2, size)?;
        }
    }

    #[test]
    fn spraying_over_three_tiers(kind in any_tree(), size in any_size()) {
        for balancing in [LoadBalancing::SprayRoundRobin, LoadBalancing::SprayRandom] {
            let fabric = kind.build(balancing, BUFFER);
            check(&fabric, 0, 3, size)?;
            check(&fabric, 0, 7, size)?;
        }
    }

    #[test]
    fn flowcells_over_two_tiers(kind in any_leaf_spine(), size in any_size(), packets in 1u64..8) {
        let fabric = kind.build(flowcell(packets), BUFFER);
        check(&fabric, 0, 1, size)?;
        check(&fabric, 0, 2, size)?;
    }

    #[test]
    fn flowcells_over_three_tiers(kind in any_tree(), size in any_size(), packets in 1u64..8) {
        let fabric = kind.build(flowcell(packets), BUFFER);
        check(&fabric, 0, 3, size)?;
        check(&fabric, 0, 7, size)?;
    }

    #[test]
    fn spraying_over_equal_links(
        spines in 1u16..4,
        aggs in 1u16..4,
        size in 1u64..20_000,
        balancing in prop_oneof![Just(LoadBalancing::SprayRoundRobin), (1u64..4).prop_map(flowcell)],
    ) {
        // Where the last packet can pass most others: no link is faster than the hosts'.
        let (rate, delay) = (Rate::from_gbps(1), Time::from_us(1));
        let flat = LeafSpine {
            leaves: 2, spines, hosts_per_leaf: 1,
            host_rate: rate, spine_rate: rate, host_delay: delay, spine_delay: delay,
        };
        check(&flat.build(balancing, BUFFER), 0, 1, size)?;
        let tree = Tree {
            pods: 2, edges_per_pod: 1, hosts_per_edge: 1, aggs_per_pod: aggs, cores: aggs * spines,
            host_rate: rate, edge_rate: rate, core_rate: rate,
            host_delay: delay, edge_delay: delay, core_delay: delay,
        };
        check(&tree.build(balancing, BUFFER), 0, 1, size)?;
    }

    #[test]
    fn a_larger_flow_takes_longer(kind in any_leaf_spine(), size in 1u64..1_000_000, more in 1u64..10_000) {
        let kind = LeafSpine { spine_rate: kind.spine_rate.max(kind.host_rate), ..kind };
        let fabric = kind.build(LoadBalancing::SprayRoundRobin, BUFFER);
        prop_assert!(formula(&fabric, 0, 3, size) <= formula(&fabric, 0, 3, size + more));
    }
}

fn preset(name: &str) -> Fabric {
    FabricParams::from_table(&format!("preset = \"{name}\"").parse().unwrap())
        .unwrap()
        .build()
        .as_ref()
        .clone()
}

#[test]
fn presets_are_exact_from_a_byte_to_a_hundred_megabytes() {
    for name in ["spine144", "spine144x3", "micro4", "fattree64", "rack16", "tree5x4"] {
        let fabric = preset(name);
        let last = fabric.hosts as u32 - 1;
        for size in [1, 1459, 1460, 1461, 2921, 3000, 4400, 100_000, 1_000_001, 100_000_000] {
            for dst in [1, last] {
                assert_eq!(
                    formula(&fabric, 0, dst, size),
                    simulate(&fabric, 0, dst, size),
                    "{name}, {size} B to {dst}"
                );
            }
        }
    }
}

#[test]
fn the_longest_flow_on_the_slowest_link_stays_in_range() {
    let rate = Rate::from_bps(1_000_000);
    let fabric =
        Star { hosts: 2, host_rate: rate, host_delay: Time::ZERO }.build(LoadBalancing::Ecmp, BUFFER);
    let transport = TransportParams { mss: 1, ..TransportParams::default() };
    assert_eq!(fabric.ideal_fct(0, 1, 0, Bytes::MAX, &transport, 40), Time::MAX);
}

#[test]
fn every_next_hop_leads_to_the_destination() {
    let dumbbell = Dumbbell {
        left: 3,
        right: 2,
        host_rate: Rate::from_gbps(10),
        bottleneck_rate: Rate::from_gbps(1),
        host_delay: Time::from_us(1),
        bottleneck_delay: Time::from_us(10),
    };
    let mut fabrics = vec![dumbbell.build(LoadBalancing::Ecmp, BUFFER)];
    fabrics.extend(["micro4", "spine144", "fattree64", "tree5x4"].map(preset));
    for fabric in &fabrics {
        for src in 0..fabric.hosts as u32 {
            for dst in (0..fabric.hosts as u32).filter(|&dst| dst != src) {
                follow(fabric, src, dst, 6);
            }
        }
    }
}

/// Follows every next hop from `port`; panics if the destination is not reached within `hops` links.
fn follow(fabric: &Fabric, port: PortId, dst: HostId, hops: usize) {
    assert!(hops > 0, "a loop on the way to {dst}");
    match fabric.ports[port as usize].to {
        Node::Host(host) => assert_eq!(host, dst),
        Node::Switch(switch) => {
            let group = fabric.next_hops(switch, dst);
            assert!(group.count > 0, "switch {switch} knows no way to {dst}");
            for next in fabric.routes.ports(group) {
                assert_eq!(fabric.ports[next as usize].from, Node::Switch(switch));
                follow(fabric, next, dst, hops - 1);
            }
        }
    }
}

#[test]
fn ports_are_named() {
    let fabric = preset("spine144");
    assert_eq!(fabric.port_name(0), "host0->leaf0");
    for port in [0, 143, 144, 200, 300] {
        assert_eq!(fabric.port_named(&fabric.port_name(port)), Some(port));
    }
    assert_eq!(fabric.port_named("leaf0->leaf1"), None);
    assert_eq!(fabric.port_named("leaf0"), None);
    let switch_ports = fabric.ports.iter().skip(fabric.hosts).map(|port| port.from);
    let order: Vec<SwitchId> = switch_ports
        .map(|from| match from {
            Node::Switch(switch) => switch,
            Node::Host(_) => panic!("a network card among switch ports"),
        })
        .collect();
    assert!(order.is_sorted(), "ports of a switch are consecutive");
}
