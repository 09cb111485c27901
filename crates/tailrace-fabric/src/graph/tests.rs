//! Graphs of any structure against sums and searches that share nothing with them.

use proptest::prelude::*;
use tailrace_core::transport::{FctEnd, TransportParams};
use tailrace_core::{Bytes, Rate, Time};

use super::*;
use crate::ideal_tests::{any_delay, any_leaf_spine, any_rate, any_size, any_tree, formula, simulate};
use crate::{FabricKind, FabricParams};

const BUFFER: Buffer = Buffer::PerPort(Bytes::MAX);

/// Graphs in which no switches are alike, and some in which many are.
fn any_graph() -> impl Strategy<Value = Graph> {
    let of = |fabric: Fabric| Graph::of(&fabric).completed().unwrap();
    prop_oneof![
        3 => any_structure(),
        1 => any_leaf_spine().prop_map(move |kind| of(kind.build(LoadBalancing::Ecmp, BUFFER))),
        1 => any_tree().prop_map(move |kind| of(kind.build(LoadBalancing::Ecmp, BUFFER))),
    ]
}

/// A connected graph: a random tree of switches with links beside it, and hosts anywhere.
fn any_structure() -> impl Strategy<Value = Graph> {
    let link = || (any_rate(), any_delay(), 1u32..4, 1u16..4);
    let switches = prop::collection::vec((any::<u16>(), link()), 1..7);
    let beside = prop::collection::vec((any::<[u16; 2]>(), link()), 0..8);
    let hosts = prop::collection::vec((any::<u16>(), link()), 2..6);
    (switches, beside, hosts).prop_map(|(switches, beside, hosts)| {
        let count = switches.len() as u16;
        let link = |a: String, b: u16, (rate, delay, metric, ecmp_weight)| Link {
            ends: [a, format!("s{b}")],
            rate,
            delay,
            metric,
            ecmp_weight,
        };
        let tree = switches.iter().enumerate().skip(1);
        let tree = tree.map(|(own, (other, of))| link(format!("s{own}"), other % own as u16, *of));
        let beside = beside.iter().map(|(ends, of)| (ends.map(|end| end % count), *of));
        let beside = beside.filter(|([a, b], _)| a != b).map(|([a, b], of)| link(format!("s{a}"), b, of));
        let edges =
            hosts.iter().enumerate().map(|(host, (edge, of))| link(format!("h{host}"), edge % count, *of));
        let graph = Graph {
            hosts: (0..hosts.len()).map(|host| format!("h{host}")).collect(),
            switches: (0..count).map(|switch| format!("s{switch}")).collect(),
            links: tree.chain(beside).chain(edges).collect(),
        };
        graph.completed().unwrap()
    })
}

/// Length of the shortest way between switches by their metrics (Floyd and Warshall).
fn lengths(graph: &Graph) -> Vec<Vec<u64>> {
    let count = graph.switches.len();
    let mut lengths = vec![vec![u64::MAX / 4; count]; count];
    (0..count).for_each(|switch| lengths[switch][switch] = 0);
    let place = |name: &String| graph.switches.iter().position(|other| other == name);
    for link in &graph.links {
        if let (Some(a), Some(b)) = (place(&link.ends[0]), place(&link.ends[1])) {
            for (a, b) in [(a, b), (b, a)] {
                lengths[a][b] = lengths[a][b].min(link.metric.into());
            }
        }
    }
    for via in 0..count {
        for a in 0..count {
            for b in 0..count {
                lengths[a][b] = lengths[a][b].min(lengths[a][via] + lengths[via][b]);
            }
        }
    }
    lengths
}

/// Each way of equal cost, as its ports.
fn all_ways(fabric: &Fabric, src: HostId, dst: HostId) -> Vec<Vec<PortId>> {
    let mut done = Vec::new();
    let mut ahead = vec![vec![PortId::from(src)]];
    while let Some(way) = ahead.pop() {
        match fabric.ports[way[way.len() - 1] as usize].to {
            Node::Host(host) => {
                assert_eq!(host, dst);
                done.push(way);
            }
            Node::Switch(switch) => {
                for port in fabric.routes.ports(fabric.next_hops(switch, dst)) {
                    ahead.push(way.iter().copied().chain([port]).collect());
                }
            }
        }
    }
    done
}

fn pairs(fabric: &Fabric) -> impl Iterator<Item = (HostId, HostId)> {
    let hosts = fabric.hosts as u32;
    (0..hosts).flat_map(move |src| (0..hosts).filter(move |&dst| dst != src).map(move |dst| (src, dst)))
}

proptest! {
    #![proptest_config(tailrace_cases::cases(500))]

    /// All ways and only those are as short as can be, and ports share by their weights.
    #[test]
    fn ways_are_the_shortest(graph in any_graph()) {
        let (fabric, lengths) = (graph.build(LoadBalancing::Ecmp, BUFFER), lengths(&graph));
        // The ports of switches are in the order of links.
        let metric = |port: PortId| {
            let spec = &fabric.ports[port as usize];
            let name = |node: Node| match node {
                Node::Host(host) => &graph.hosts[host as usize],
                Node::Switch(switch) => &graph.switches[usize::from(switch)],
            };
            let ends = [name(spec.from), name(spec.to)];
            let alike = graph.links.iter().filter(|link| {
                [&link.ends[0], &link.ends[1]] == ends || [&link.ends[1], &link.ends[0]] == ends
            });
            let strand = fabric.strands.get(&port).copied().unwrap_or(1);
            alike.map(|link| (u64::from(link.metric), link.ecmp_weight)).nth(strand as usize - 1).unwrap()
        };
        for (src, dst) in pairs(&fabric) {
            let [from, to] = [src, dst].map(|host| usize::from(fabric.edge_of[host as usize]));
            for way in all_ways(&fabric, src, dst) {
                let length: u64 = way[1..way.len() - 1].iter().map(|&port| metric(port).0).sum();
                prop_assert_eq!(length, lengths[from][to]);
            }
        }
        for switch in 0..fabric.switches as u16 {
            for dst in 0..fabric.hosts as u32 {
                let edge = fabric.edge_of[dst as usize];
                if edge == switch {
                    continue;
                }
                let hops = fabric.next_hops(switch, dst);
                let mut count = vec![0; fabric.ports.len()];
                fabric.routes.ports(hops).for_each(|port| count[port as usize] += 1);
                for (port, spec) in (0..).zip(&fabric.ports).filter(|(_, spec)| spec.from == Node::Switch(switch)) {
                    let Node::Switch(next) = spec.to else { continue };
                    let (step, weight) = metric(port);
                    let short = step + lengths[usize::from(next)][usize::from(edge)]
                        == lengths[usize::from(switch)][usize::from(edge)];
                    prop_assert_eq!(count[port as usize] > 0, short);
                    if short {
                        let first = fabric.routes.port(hops, 0);
                        prop_assert_eq!(
                            count[port as usize] * i32::from(metric(first).1),
                            count[first as usize] * i32::from(weight)
                        );
                    }
                }
            }
        }
    }

    /// What comes back takes the way that went, over the other ends of its links.
    #[test]
    fn flows_come_back_as_they_went(graph in any_graph(), flows in prop::collection::vec(any::<u32>(), 8)) {
        let fabric = graph.build(LoadBalancing::Ecmp, BUFFER);
        for (src, dst) in pairs(&fabric) {
            for &flow in &flows {
                let there: Vec<PortId> = fabric.hashed_path(src, dst, flow).collect();
                let back = fabric.hashed_path(dst, src, flow).map(|port| fabric.twins[port as usize]);
                let mut back: Vec<PortId> = back.collect();
                back.reverse();
                prop_assert_eq!(there, back);
            }
        }
    }

    /// The closed form is exact under ECMP, and never above what sprayed packets take.
    #[test]
    fn a_lone_flow_takes_its_ideal(graph in any_graph(), size in any_size(), spray: bool) {
        let balancing = if spray { LoadBalancing::SprayRoundRobin } else { LoadBalancing::Ecmp };
        let fabric = graph.build(balancing, BUFFER);
        for (src, dst) in pairs(&fabric) {
            let (ideal, simulated) = (formula(&fabric, src, dst, size), simulate(&fabric, src, dst, size));
            if spray {
                prop_assert!(ideal.0 <= simulated.0 && ideal.1 <= simulated.1, "{ideal:?} above {simulated:?}");
            } else {
                prop_assert_eq!(ideal, simulated);
            }
        }
    }

    /// The hosts farthest apart are found, on whatever way.
    #[test]
    fn none_is_farther_than_the_farthest(graph in any_graph()) {
        let fabric = graph.build(LoadBalancing::Ecmp, BUFFER);
        let cost = |port: PortId, bytes: u64| {
            let spec = &fabric.ports[port as usize];
            spec.rate.time_for(Bytes::new(bytes)) + spec.delay
        };
        let round = |way: &Vec<PortId>| {
            let both = |&port: &PortId| cost(port, 1500) + cost(fabric.twins[port as usize], 64);
            way.iter().map(both).fold(Time::ZERO, |sum, time| sum + time)
        };
        let ways: Vec<_> = pairs(&fabric).flat_map(|(src, dst)| all_ways(&fabric, src, dst)).collect();
        let farthest = ways.iter().map(round).max().unwrap();
        let found = fabric.farthest_rtt(1500, 64);
        // Rates that do not divide evenly are rounded a hop at a time.
        prop_assert!(found.as_ps().abs_diff(farthest.as_ps()) <= 64, "{found} is not {farthest}");
        prop_assert_eq!(fabric.longest_path(), ways.iter().map(Vec::len).max().unwrap());
    }

    /// The kinds of fabric are graphs too.
    #[test]
    fn kinds_are_graphs(leaf_spine in any_leaf_spine(), tree in any_tree()) {
        let kinds = [leaf_spine.build(LoadBalancing::Ecmp, BUFFER), tree.build(LoadBalancing::Ecmp, BUFFER)];
        for fabric in &kinds {
            same(fabric, &Graph::of(fabric).completed().unwrap().build(LoadBalancing::Ecmp, BUFFER));
        }
    }
}

fn same(a: &Fabric, b: &Fabric) {
    assert_eq!((&a.ports, &a.twins, &a.edge_of, &a.port_to), (&b.ports, &b.twins, &b.edge_of, &b.port_to));
    assert_eq!((&a.routes, &a.switch_names), (&b.routes, &b.switch_names));
    for (src, dst) in pairs(a).step_by(1 + a.hosts / 7) {
        for flow in 0..9 {
            assert!(a.hashed_path(src, dst, flow).eq(b.hashed_path(src, dst, flow)));
        }
    }
}

#[test]
fn presets_are_graphs() {
    for name in ["spine144", "spine144x3", "rack16", "fattree64", "tree5x4", "micro4"] {
        let params = FabricParams::from_table(&format!("preset = \"{name}\"").parse().unwrap()).unwrap();
        let fabric = params.build();
        let graph = FabricParams { kind: FabricKind::Graph(Graph::of(&fabric)), ..params.clone() };
        let again = FabricParams::from_table(&graph.to_table()).unwrap();
        assert_eq!(
            (again.hosts(), again.host_rate(), again.racks()),
            (params.hosts(), params.host_rate(), params.racks())
        );
        assert_eq!(again, graph, "{name}");
        same(&fabric, &again.build());
    }
}

#[test]
fn hosts_of_different_speed() {
    let text = "kind = \"graph\"\nhosts = [\"a\", \"b\", \"c\"]\nlink = [\
        { ends = [\"a\", \"s\"], rate = \"10Gbps\" }, { ends = [\"b\", \"s\"], rate = \"40Gbps\" },\
        { ends = [\"s\", \"c\"], rate = \"10Gbps\", delay = \"5us\" }]";
    let params = FabricParams::from_table(&text.parse().unwrap()).unwrap();
    assert_eq!((params.host_rate(), params.host_speeds()), (Rate::from_gbps(40), vec![0.25, 1.0, 0.25]));
    let fabric = params.build();
    // By hand: 1500 bytes at 10 Gbps are 1.2 µs.
    let transport = TransportParams { mss: 1460, fct_end: FctEnd::Receiver, ..TransportParams::default() };
    let time = |src, dst| fabric.ideal_fct(src, dst, 0, Bytes::new(1460), &transport, 40);
    assert_eq!(time(0, 2), Time::from_ns(1200 + 1000 + 1200 + 5000));
    assert_eq!(time(1, 2), Time::from_ns(300 + 1000 + 1200 + 5000));
    assert_eq!(time(0, 1), Time::from_ns(1200 + 1000 + 300 + 1000));
}
