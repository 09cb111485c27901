//! Which ports lead where: the shortest ways from each switch to each edge switch.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Fabric, NextHops, Node, PortId, SwitchId};

/// The length of a way that does not exist.
const NONE: u32 = u32::MAX;

/// Next hops, `[switch * switches + edge switch of the destination]`, and the lists of ports that they point into.
/// A port that is to carry `n` times as much as another stands in its list `n` times as often.
/// Links of ports that are `dead` are not taken.
pub(super) fn shortest(
    fabric: &Fabric,
    edges_alike: &[Vec<SwitchId>],
    dead: &[bool],
) -> (Vec<NextHops>, Vec<PortId>) {
    let Fabric { switches, metrics, weights, .. } = fabric;
    let (switches, own) = (*switches, ports_by_switch(fabric, dead));
    let mut groups = Groups { found: vec![BTreeMap::new(); switches], lists: Vec::new() };
    let mut routes = vec![NextHops::default(); switches * switches];
    let (mut lengths, mut ports) = (vec![NONE; switches], Vec::new());
    let mut hops_of = |switch: usize, lengths: &[u32]| {
        ports.clear();
        ports.extend(own[switch].iter().filter_map(|&(port, next)| {
            let beyond = lengths[usize::from(next)];
            (beyond < NONE && beyond + metrics[port as usize] == lengths[switch]).then_some(port)
        }));
        groups.hops(switch, &ports, weights)
    };
    for alike in edges_alike {
        let first = usize::from(alike[0]);
        measure(alike[0], &own, metrics, &mut lengths);
        for switch in (0..switches).filter(|&switch| switch != first && lengths[switch] < NONE) {
            routes[switch * switches + first] = hops_of(switch, &lengths);
        }
        // Others are as far from everything as the first one is, but for one another; so ways differ at the switches
        // around them only.
        let around: Vec<usize> = own[first].iter().map(|&(_, next)| usize::from(next)).collect();
        for &edge in &alike[1..] {
            let edge = usize::from(edge);
            lengths.swap(first, edge);
            for switch in (0..switches).filter(|&switch| switch != edge) {
                routes[switch * switches + edge] = routes[switch * switches + first];
            }
            for &switch in around.iter().chain([&first]) {
                routes[switch * switches + edge] = hops_of(switch, &lengths);
            }
            lengths.swap(first, edge);
        }
    }
    (routes, groups.lists)
}

/// Edge switches in lists of those whose links to other switches are alike and lead to the same ones: either may stand
/// for the other.
pub(super) fn edges_alike(fabric: &Fabric, dead: &[bool]) -> Vec<Vec<SwitchId>> {
    let own = ports_by_switch(fabric, dead);
    let mut edges = fabric.edge_of.clone();
    edges.sort_unstable();
    edges.dedup();
    let mut alike: BTreeMap<Vec<_>, Vec<SwitchId>> = BTreeMap::new();
    for edge in edges {
        let link = |&(port, next): &(PortId, SwitchId)| {
            let (spec, port) = (&fabric.ports[port as usize], port as usize);
            (next, spec.rate, spec.delay, fabric.metrics[port], fabric.weights[port])
        };
        let mut links: Vec<_> = own[usize::from(edge)].iter().map(link).collect();
        links.sort_unstable();
        alike.entry(links).or_default().push(edge);
    }
    alike.into_values().collect()
}

/// The ports of each switch towards other switches, and which; but for those that are dead.
fn ports_by_switch(fabric: &Fabric, dead: &[bool]) -> Vec<Vec<(PortId, SwitchId)>> {
    let mut own = vec![Vec::new(); fabric.switches];
    for ((spec, number), _) in fabric.ports.iter().zip(0..).zip(dead).filter(|(_, dead)| !**dead) {
        if let (Node::Switch(from), Node::Switch(to)) = (spec.from, spec.to) {
            own[usize::from(from)].push((number, to));
        }
    }
    own
}

/// How far each switch is from `edge` (Dijkstra). Links are the same both ways, so this is also how far it is to there.
fn measure(edge: SwitchId, own: &[Vec<(PortId, SwitchId)>], metrics: &[u32], lengths: &mut [u32]) {
    lengths.fill(NONE);
    lengths[usize::from(edge)] = 0;
    let mut ahead = BinaryHeap::from([Reverse((0, edge))]);
    while let Some(Reverse((length, switch))) = ahead.pop() {
        if length > lengths[usize::from(switch)] {
            continue;
        }
        for &(port, next) in &own[usize::from(switch)] {
            let longer = length + metrics[port as usize];
            if longer < lengths[usize::from(next)] {
                lengths[usize::from(next)] = longer;
                ahead.push(Reverse((longer, next)));
            }
        }
    }
}

/// Lists of equal-cost ports, each kept once.
struct Groups {
    /// By switch.
    found: Vec<BTreeMap<Vec<PortId>, NextHops>>,
    lists: Vec<PortId>,
}

impl Groups {
    fn hops(&mut self, switch: usize, ports: &[PortId], weights: &[u16]) -> NextHops {
        if let [port] = ports {
            return NextHops { first: *port, count: 1 };
        }
        if let Some(&known) = self.found[switch].get(ports) {
            return known;
        }
        let weight = |&port: &PortId| weights[port as usize];
        let divisor = ports.iter().map(weight).fold(0, gcd).max(1);
        let first = self.lists.len() as u32;
        for &port in ports {
            self.lists.extend(std::iter::repeat_n(port, usize::from(weights[port as usize] / divisor)));
        }
        let hops = NextHops { first, count: self.lists.len() as u32 - first };
        self.found[switch].insert(ports.to_vec(), hops);
        hops
    }
}

pub(super) fn gcd(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { gcd(b, a % b) }
}
