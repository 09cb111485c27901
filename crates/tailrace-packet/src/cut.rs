//! How a fabric is cut into parts.

use std::sync::Arc;

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, HEADER_BYTES, HostId, LinkRate, MTU_BYTES, Time};
use tailrace_fabric::{Fabric, Node, PortId};

/// Which part each host and switch is of. A port is of its node's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    parts: usize,
    hosts: Vec<u8>,
    /// The parts of both ends of each port's link.
    ends: Vec<(u8, u8)>,
    /// Whether each part breaks ties in an order of its own.
    skewed: bool,
}

impl Cut {
    /// Most parts that there may be.
    pub const MOST: usize = 64;

    /// A cut of `fabric` by the part of each host and of each switch, counted from 0.
    ///
    /// # Panics
    ///
    /// If a host or a switch is of no part, or of one beyond [`Self::MOST`].
    pub fn new(fabric: &Fabric, hosts: &[usize], switches: &[usize]) -> Self {
        assert_eq!((hosts.len(), switches.len()), (fabric.hosts, fabric.switches));
        let last = hosts.iter().chain(switches).copied().max().unwrap_or(0);
        assert!(last < Self::MOST, "part {last} of {}", Self::MOST);
        let of = |node: Node| match node {
            Node::Host(host) => hosts[host as usize] as u8,
            Node::Switch(switch) => switches[usize::from(switch)] as u8,
        };
        Cut {
            parts: last + 1,
            hosts: hosts.iter().map(|&part| part as u8).collect(),
            ends: fabric.ports.iter().map(|port| (of(port.from), of(port.to))).collect(),
            skewed: false,
        }
    }

    /// The same, but each part breaks ties in an order of its own, which must not be: for tests that are to notice.
    #[doc(hidden)]
    pub fn skewed(mut self) -> Self {
        self.skewed = true;
        self
    }

    /// The number by which a part breaks ties.
    pub(crate) fn order_of(&self, part: usize) -> u64 {
        if self.skewed { part as u64 } else { 0 }
    }

    /// A cut into `parts` or fewer of about the same work: hosts are with their edge switch, edge switches in their order,
    /// so that pods stay together, and each other switch is where most of its links are, or nearly.
    pub fn by_racks(fabric: &Fabric, parts: usize) -> Self {
        let mut edges: Vec<usize> = fabric.edge_of.iter().map(|&edge| usize::from(edge)).collect();
        edges.sort_unstable();
        edges.dedup();
        let parts = parts.clamp(1, Self::MOST).min(edges.len());
        let work = work(fabric);
        let mut dealt = Dealt::new(fabric, parts);
        let all: u64 = edges.iter().map(|&edge| work[edge]).sum();
        let mut before = 0;
        for &edge in &edges {
            let middle = before + work[edge] / 2;
            dealt.give(
                edge,
                (u128::from(middle) * parts as u128 / u128::from(all.max(1))) as usize,
                work[edge],
            );
            before += work[edge];
        }
        // From the edge on inwards.
        while let Some(next) = dealt.next() {
            let part = dealt.part_for(next);
            dealt.give(next, part, work[next]);
        }
        // Where one rack has most of all work, parts beside it may have got none.
        let mut used: Vec<usize> = dealt.of.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let place = |part: Option<usize>| part.and_then(|part| used.binary_search(&part).ok()).unwrap_or(0);
        let switches: Vec<usize> = dealt.of.into_iter().map(place).collect();
        let hosts: Vec<usize> = fabric.edge_of.iter().map(|&edge| switches[usize::from(edge)]).collect();
        Self::new(fabric, &hosts, &switches)
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// How many ports there are.
    pub(crate) fn ports(&self) -> usize {
        self.ends.len()
    }

    /// The part of a host.
    #[inline]
    pub(crate) fn of_host(&self, host: HostId) -> usize {
        usize::from(self.hosts[host as usize])
    }

    /// The parts of a port and of where its link leads.
    pub fn ends(&self, port: PortId) -> (usize, usize) {
        let (from, to) = self.ends[port as usize];
        (usize::from(from), usize::from(to))
    }

    /// How long before it concerns another part something is known: the least that any link between parts takes for the
    /// shortest packet, and no longer than what has no packet takes.
    pub fn look_ahead(&self, fabric: &Fabric, transport: &TransportParams) -> Time {
        let shortest = transport.ack_bytes.min(HEADER_BYTES);
        let across = fabric.ports.iter().zip(&self.ends).filter(|(_, (from, to))| from != to);
        let links = across.map(|(port, _)| port.delay + LinkRate::new(port.rate).time_for(shortest));
        links.fold(edict_delay(fabric), Time::min)
    }
}

/// Which part of a run a world is to be.
#[derive(Clone, Debug)]
pub struct PartOf {
    /// The cut.
    pub cut: Arc<Cut>,
    /// The part's number.
    pub own: usize,
}

/// How long after it is decreed an edict counts.
pub(crate) fn edict_delay(fabric: &Fabric) -> Time {
    let longest = Bytes::new(MTU_BYTES.into());
    let slowest = fabric.ports.iter().map(|port| port.delay + port.rate.time_for(longest)).max();
    slowest.unwrap_or_default()
}

/// What a run spends at each switch and its hosts, in bits a second that may pass: a port of a host counts twice, since
/// its transport works about as much for a packet as a port does.
fn work(fabric: &Fabric) -> Vec<u64> {
    let mut work = vec![0; fabric.switches];
    for port in &fabric.ports {
        let rate = port.rate.as_bps();
        match port.from {
            Node::Host(host) => work[usize::from(fabric.edge_of[host as usize])] += 2 * rate,
            Node::Switch(switch) => work[usize::from(switch)] += rate,
        }
    }
    work
}

/// Switches that are dealt out to parts.
struct Dealt {
    of: Vec<Option<usize>>,
    work: Vec<u64>,
    /// To which switches each has links.
    neighbours: Vec<Vec<usize>>,
    /// Links of each switch to each part.
    links: Vec<Vec<usize>>,
}

impl Dealt {
    fn new(fabric: &Fabric, parts: usize) -> Self {
        let mut neighbours = vec![Vec::new(); fabric.switches];
        for port in &fabric.ports {
            if let (Node::Switch(from), Node::Switch(to)) = (port.from, port.to) {
                neighbours[usize::from(from)].push(usize::from(to));
            }
        }
        Dealt {
            of: vec![None; fabric.switches],
            work: vec![0; parts],
            neighbours,
            links: vec![vec![0; parts]; fabric.switches],
        }
    }

    fn give(&mut self, switch: usize, part: usize, work: u64) {
        self.of[switch] = Some(part);
        self.work[part] += work;
        self.neighbours[switch].iter().for_each(|&neighbour| self.links[neighbour][part] += 1);
    }

    /// The switch without a part that has the most links to those that have one, the first of several.
    fn next(&self) -> Option<usize> {
        let open = (0..self.of.len()).filter(|&switch| self.of[switch].is_none());
        open.rev().max_by_key(|&switch| self.links[switch].iter().sum::<usize>())
    }

    /// The part with the least work of those that a switch has about as many links to as to any.
    fn part_for(&self, switch: usize) -> usize {
        let links = &self.links[switch];
        let most = links.iter().max().copied().unwrap_or(0);
        let near = (0..links.len()).filter(|&part| 2 * links[part] >= most);
        near.min_by_key(|&part| self.work[part]).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use tailrace_core::Rate;
    use tailrace_fabric::FabricParams;

    use super::*;

    fn shares(text: &str, parts: usize) -> Vec<f64> {
        let table = text.parse().expect("a table");
        let fabric = FabricParams::from_table(&table).expect("a fabric").build();
        let cut = Cut::by_racks(&fabric, parts);
        let mut shares = vec![0.0; cut.parts()];
        for (port, &(from, _)) in fabric.ports.iter().zip(&cut.ends) {
            let host = matches!(port.from, Node::Host(_));
            shares[usize::from(from)] += port.rate.bytes_per_sec() * if host { 2.0 } else { 1.0 };
        }
        let all: f64 = shares.iter().sum();
        shares.iter().map(|share| share / all).collect()
    }

    /// A port's own rounding counts: a picosecond too much, and packets would arrive in the past.
    #[test]
    fn a_look_ahead_is_no_longer_than_what_a_port_takes() {
        for gbps in 1..=400 {
            let text = format!(
                "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nhost_rate = \"{gbps}Gbps\"\n\
                 spine_rate = \"{gbps}Gbps\"\nhost_delay = \"1us\"\nspine_delay = \"1us\""
            );
            let fabric = FabricParams::from_table(&text.parse().expect("a table")).expect("a fabric").build();
            let transport = TransportParams::default();
            let port = LinkRate::new(Rate::from_gbps(gbps));
            let ahead = Cut::by_racks(&fabric, 2).look_ahead(&fabric, &transport);
            assert_eq!(ahead, Time::from_us(1) + port.time_for(transport.ack_bytes.min(HEADER_BYTES)));
        }
    }

    #[test]
    fn parts_have_about_the_same_work() {
        for (text, parts, most) in [
            ("preset = \"spine144\"", 2, 0.51),
            // Four spines for three parts.
            ("preset = \"spine144\"", 3, 0.37),
            ("preset = \"fattree64\"", 4, 0.26),
        ] {
            let shares = shares(text, parts);
            assert_eq!(shares.len(), parts);
            assert!(shares.iter().all(|&share| share < most), "{text} in {parts}: {shares:?}");
        }
    }
}
