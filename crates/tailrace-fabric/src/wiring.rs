//! From nodes and links to a fabric: what all kinds say of themselves, and what follows from it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tailrace_core::{HostId, Rate, Time};

use super::{Buffer, Fabric, LoadBalancing, Node, PortId, PortRules, PortSpec, Routes, SwitchId};

/// A link: the same in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) ends: [Node; 2],
    pub(super) rate: Rate,
    pub(super) delay: Time,
    /// What the link adds to the length of a path.
    pub(super) metric: u32,
    /// Its part of what its switches divide among equal-cost ports.
    pub(super) weight: u16,
}

/// The nodes and links of a fabric.
pub(super) struct Wiring {
    hosts: usize,
    /// What hosts are called; none where their number says it.
    host_names: Vec<String>,
    switch_names: Vec<String>,
    wires: Vec<Wire>,
}

impl Wiring {
    /// Switches of these names, and no hosts yet.
    pub(super) fn new(switch_names: Vec<String>) -> Self {
        Wiring { hosts: 0, host_names: Vec::new(), switch_names, wires: Vec::new() }
    }

    /// Hosts of these names, without links.
    pub(super) fn name_hosts(&mut self, names: Vec<String>) {
        self.hosts = names.len();
        self.host_names = names;
    }

    /// A link. A switch's ports are in the order of its links.
    pub(super) fn wire(&mut self, wire: Wire) {
        self.wires.push(wire);
    }

    /// The next hosts, so many, with links to a switch that are all alike.
    pub(super) fn hosts(&mut self, switch: SwitchId, count: u16, rate: Rate, delay: Time) {
        for _ in 0..count {
            self.link(Node::Host(self.hosts as HostId), switch, rate, delay);
            self.hosts += 1;
        }
    }

    /// Links between a switch and others, all alike.
    pub(super) fn switches(
        &mut self,
        switch: SwitchId,
        others: impl IntoIterator<Item = SwitchId>,
        rate: Rate,
        delay: Time,
    ) {
        others.into_iter().for_each(|other| self.link(Node::Switch(switch), other, rate, delay));
    }

    fn link(&mut self, from: Node, to: SwitchId, rate: Rate, delay: Time) {
        self.wire(Wire { ends: [from, Node::Switch(to)], rate, delay, metric: 1, weight: 1 });
    }

    /// The fabric. Each host must have one link, to a switch, and no two switches be without a way between them.
    pub(super) fn build(self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let Wiring { hosts, host_names, switch_names, wires } = self;
        let Ports { ports, twins, metrics, weights } = Ports::of(hosts, switch_names.len(), &wires);
        let (mut edge_of, mut port_to) = (vec![0; hosts], vec![0; hosts]);
        for (spec, number) in ports.iter().zip(0..) {
            if let (Node::Switch(edge), Node::Host(host)) = (spec.from, spec.to) {
                (edge_of[host as usize], port_to[host as usize]) = (edge, number);
            }
        }
        let strands = strands(&ports);
        let mut fabric = Fabric {
            hosts,
            switches: switch_names.len(),
            ports,
            twins,
            edge_of,
            port_to,
            metrics,
            weights,
            routes: Arc::default(),
            load_balancing,
            ecmp_seed: 0,
            ecmp_place: Vec::new(),
            buffer,
            port_rules: PortRules::default(),
            host_names,
            switch_names,
            strands,
            two_way: false,
            outages: Vec::new(),
            reroutes: Vec::new(),
        };
        let none_is_dead = vec![false; fabric.ports.len()];
        fabric.ecmp_place = ecmp_place(&fabric);
        fabric.routes = Arc::new(Routes::shortest(&fabric, &none_is_dead));
        fabric
    }
}

/// The tier of each switch, 0 at the edge, if each link between switches is between two tiers; else its number.
fn ecmp_place(fabric: &Fabric) -> Vec<u16> {
    let links = || {
        fabric.ports.iter().filter_map(|port| match (port.from, port.to) {
            (Node::Switch(from), Node::Switch(to)) => Some((usize::from(from), usize::from(to))),
            _ => None,
        })
    };
    let mut tiers = vec![u16::MAX; fabric.switches];
    fabric.edge_of.iter().for_each(|&edge| tiers[usize::from(edge)] = 0);
    let mut neighbours = vec![Vec::new(); fabric.switches];
    links().for_each(|(from, to)| neighbours[from].push(to));
    let mut reached: VecDeque<usize> = (0..fabric.switches).filter(|&switch| tiers[switch] == 0).collect();
    while let Some(switch) = reached.pop_front() {
        for &next in &neighbours[switch] {
            if tiers[next] == u16::MAX {
                tiers[next] = tiers[switch] + 1;
                reached.push_back(next);
            }
        }
    }
    if links().all(|(from, to)| tiers[from] != tiers[to]) {
        return tiers;
    }
    (0..fabric.switches).map(|switch| switch as u16).collect()
}

/// The ports at both ends of all links: those of hosts by their numbers, then those of each switch.
struct Ports {
    ports: Vec<PortSpec>,
    twins: Vec<PortId>,
    metrics: Vec<u32>,
    weights: Vec<u16>,
}

impl Ports {
    fn of(hosts: usize, switches: usize, wires: &[Wire]) -> Self {
        let place = |node: Node| match node {
            Node::Host(host) => host as usize,
            Node::Switch(switch) => hosts + usize::from(switch),
        };
        let mut next = vec![0; hosts + switches + 1];
        wires.iter().flat_map(|wire| wire.ends).for_each(|end| next[place(end) + 1] += 1);
        (1..next.len()).for_each(|node| next[node] += next[node - 1]);
        let count = 2 * wires.len();
        let nowhere =
            PortSpec { from: Node::Host(0), to: Node::Host(0), rate: Rate::from_bps(1), delay: Time::ZERO };
        let (mut ports, mut twins) = (vec![nowhere; count], vec![0; count]);
        let (mut metrics, mut weights) = (vec![0; count], vec![0; count]);
        for &Wire { ends, rate, delay, metric, weight } in wires {
            let numbers = ends.map(|end| {
                next[place(end)] += 1;
                next[place(end)] - 1
            });
            for (side, other) in [(0, 1), (1, 0)] {
                let number = numbers[side];
                ports[number] = PortSpec { from: ends[side], to: ends[other], rate, delay };
                twins[number] = numbers[other] as PortId;
                (metrics[number], weights[number]) = (metric, weight);
            }
        }
        Ports { ports, twins, metrics, weights }
    }
}

/// Of links side by side, all but the first have a number, from 2.
fn strands(ports: &[PortSpec]) -> BTreeMap<PortId, u32> {
    let mut seen: BTreeMap<(Node, Node), u32> = BTreeMap::new();
    let mut strands = BTreeMap::new();
    let between = |spec: &PortSpec| matches!((spec.from, spec.to), (Node::Switch(_), Node::Switch(_)));
    for (spec, number) in ports.iter().zip(0..).filter(|(spec, _)| between(spec)) {
        let count = seen.entry((spec.from, spec.to)).or_default();
        *count += 1;
        if *count > 1 {
            strands.insert(number, *count);
        }
    }
    strands
}
