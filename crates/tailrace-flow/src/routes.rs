//! Which links a flow takes.
//!
//! Under ECMP these are the ports that its packets would pass. Where packets are spread over equal-cost ports, those
//! of a tier between two switches count as one link of their total rate: as if packets were spread perfectly.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use tailrace_core::{Cap, HostId};
use tailrace_fabric::{Fabric, LoadBalancing, Node, PortId, SwitchId};

use crate::lookup::Lookup;
use crate::solver::{LinkId, MAX_HOPS};

/// Links on a path at most: one more is the flow's own.
pub const LONGEST_PATH: usize = MAX_HOPS - 1;

/// The links of a path, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    links: [LinkId; MAX_HOPS],
    length: u8,
    /// Whether the first link is the flow's own.
    own: bool,
}

impl Path {
    pub(crate) fn links(&self) -> &[LinkId] {
        &self.links[..usize::from(self.length)]
    }

    /// A link that no other flow takes, as narrow as the flow is to be slow.
    pub(crate) fn own_link(&self) -> Option<LinkId> {
        self.own.then_some(self.links[0])
    }
}

/// By its links, two at a time.
impl Hash for Path {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for two in self.links().chunks(2) {
            let [first, second] = [two[0], two.get(1).copied().unwrap_or_default()];
            state.write_u64(u64::from(first) << 32 | u64::from(second));
        }
    }
}

impl FromIterator<LinkId> for Path {
    fn from_iter<I: IntoIterator<Item = LinkId>>(links: I) -> Self {
        let mut path = Path { links: [0; MAX_HOPS], length: 0, own: false };
        for link in links {
            path.links[usize::from(path.length)] = link;
            path.length += 1;
        }
        path
    }
}

/// The links of a fabric, and the ways through them.
pub(crate) struct Routes<'a> {
    fabric: &'a Fabric,
    /// Links that are several ports, by these; numbered on after the ports.
    joint: BTreeMap<Vec<PortId>, LinkId>,
    /// What lies between two edge switches, where it does not depend on the flow.
    between: Lookup<(SwitchId, SwitchId), Vec<LinkId>>,
    /// Bytes a second of each link.
    capacities: Vec<f64>,
    /// Links of flows' own that were made, and those that no flow has now.
    own: usize,
    spare: Vec<LinkId>,
    /// Links that stand for what a host lets a group of its flows send.
    caps: BTreeMap<(HostId, u8), LinkId>,
}

impl<'a> Routes<'a> {
    /// A link for each port.
    pub(crate) fn new(fabric: &'a Fabric) -> Self {
        let capacities = fabric.ports.iter().map(|port| port.rate.bytes_per_sec()).collect();
        Routes {
            fabric,
            joint: BTreeMap::new(),
            between: Lookup::default(),
            capacities,
            own: 0,
            spare: Vec::new(),
            caps: BTreeMap::new(),
        }
    }

    /// Bytes a second of each link; there may be more after a path was asked for.
    pub(crate) fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// The links that a flow takes.
    pub(crate) fn path(&mut self, src: HostId, dst: HostId, flow: u32) -> Path {
        let fabric = self.fabric;
        if fabric.load_balancing == LoadBalancing::Ecmp {
            return fabric.hashed_path(src, dst, flow).collect();
        }
        let edges = (fabric.edge_of[src as usize], fabric.edge_of[dst as usize]);
        if !self.between.contains_key(&edges) {
            let links = self.tiers(edges.0, dst);
            self.between.insert(edges, links);
        }
        let ends = [PortId::from(src), fabric.port_to[dst as usize]];
        let inside = self.between[&edges].iter().copied();
        std::iter::once(ends[0]).chain(inside).chain(std::iter::once(ends[1])).collect()
    }

    /// The path with a link of the flow's own before it, as wide as the first.
    pub(crate) fn with_own_link(&mut self, path: Path) -> Path {
        let width = self.capacities[path.links()[0] as usize];
        let own = self.spare.pop().unwrap_or_else(|| {
            self.own += 1;
            self.capacities.push(width);
            self.capacities.len() as LinkId - 1
        });
        self.capacities[own as usize] = width;
        let links = std::iter::once(own).chain(path.links().iter().copied());
        Path { own: true, ..links.collect() }
    }

    /// The path with a link before it that all flows under this cap of its host share.
    pub(crate) fn under_cap(&mut self, path: Path, host: HostId, cap: Cap) -> Path {
        let capacities = &mut self.capacities;
        let link = *self.caps.entry((host, cap.group)).or_insert_with(|| {
            capacities.push(0.0);
            capacities.len() as LinkId - 1
        });
        capacities[link as usize] = cap.rate.bytes_per_sec();
        std::iter::once(link).chain(path.links().iter().copied()).collect()
    }

    /// Whether any flow has a link of its own.
    pub(crate) fn some_are_own(&self) -> bool {
        self.own > self.spare.len()
    }

    /// Takes back the flow's own link, if there is one.
    pub(crate) fn give_back(&mut self, path: Path) {
        self.spare.extend(path.own_link());
    }

    /// From an edge switch to that of `dst`: all ports of a tier that lead there are one link.
    fn tiers(&mut self, from: SwitchId, dst: HostId) -> Vec<LinkId> {
        let (mut switches, mut links) = (vec![from], Vec::new());
        while switches != [self.fabric.edge_of[dst as usize]] {
            let hops = |&switch: &SwitchId| self.fabric.next_hops(switch, dst);
            let ports = switches.iter().map(hops).flat_map(|hops| self.fabric.routes.ports(hops));
            let ports: Vec<PortId> = ports.collect();
            switches = ports.iter().filter_map(|&port| self.leads_to(port)).collect();
            switches.sort_unstable();
            switches.dedup();
            links.push(self.link_of(ports));
        }
        links
    }

    fn leads_to(&self, port: PortId) -> Option<SwitchId> {
        match self.fabric.ports[port as usize].to {
            Node::Switch(switch) => Some(switch),
            Node::Host(_) => None,
        }
    }

    fn link_of(&mut self, ports: Vec<PortId>) -> LinkId {
        if let [port] = ports.as_slice() {
            return *port;
        }
        let capacities = &mut self.capacities;
        let total = ports.iter().map(|&port| capacities[port as usize]).sum();
        *self.joint.entry(ports).or_insert_with(|| {
            capacities.push(total);
            capacities.len() as LinkId - 1
        })
    }

    /// Spreads what passed each link over its ports.
    pub(crate) fn bytes_of_ports(&self, mut of_links: Vec<u64>) -> Vec<u64> {
        let several = of_links.split_off(self.fabric.ports.len().min(of_links.len()));
        for (ports, &link) in &self.joint {
            let bytes = several.get(link as usize - self.fabric.ports.len()).copied().unwrap_or(0);
            let (each, rest) = (bytes / ports.len() as u64, bytes % ports.len() as u64);
            for (number, &port) in ports.iter().enumerate() {
                of_links[port as usize] += each + u64::from((number as u64) < rest);
            }
        }
        of_links
    }
}
