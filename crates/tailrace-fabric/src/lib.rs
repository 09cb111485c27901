//! Fabrics: hosts, switches, their ports, and the routes between them.

mod cache;
mod check;
mod common;
mod dumbbell;
mod extent;
mod failures;
mod farthest;
mod fat_tree;
mod graph;
mod graph_files;
mod ideal;
#[cfg(test)]
mod ideal_tests;
mod kind;
mod leaf_spine;
mod listing;
mod params;
mod parking_lot;
mod presets;
mod racks;
mod routes;
mod star;
mod tree;
mod wiring;

pub use check::{MAX_HOSTS, check_link};
pub use dumbbell::Dumbbell;
pub use failures::{Failure, Failures, Outage, Reroute};
pub use graph::{Graph, Link};
pub use graph_files::{graph_of_text, read_files};
pub use kind::FabricKind;
pub use leaf_spine::LeafSpine;
pub use listing::{ListedFabric, list};
pub use params::FabricParams;
pub use parking_lot::ParkingLot;
pub use racks::Racks;
pub use routes::{EdgePlace, NextHops, Routes};
pub use star::Star;
pub use tree::Tree;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use tailrace_core::PortId;
use tailrace_core::random::mix;
use tailrace_core::{Bytes, HostId, MarkingAt, PortPlace, QueueUnit, Rate, Time};

/// A switch's number within its fabric.
pub type SwitchId = u16;

/// What a port's link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A host.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

/// One direction of a link, with the egress port at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Where the port is.
    pub from: Node,
    /// Where its link leads.
    pub to: Node,
    /// The link's rate.
    pub rate: Rate,
    /// The link's propagation delay.
    pub delay: Time,
}

impl PortSpec {
    /// The kind of place that this port is at.
    pub fn place(&self) -> PortPlace {
        match (self.from, self.to) {
            (Node::Host(_), _) => PortPlace::Nic,
            (_, Node::Host(_)) => PortPlace::SwitchToHost,
            _ => PortPlace::SwitchToSwitch,
        }
    }
}

/// How a switch chooses among equal-cost ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadBalancing {
    /// By a hash of the flow: all packets of a flow take one path.
    #[default]
    Ecmp,
    /// Each packet takes the next port in turn, one counter per switch and group of equal-cost ports.
    SprayRoundRobin,
    /// Each packet takes a random port.
    SprayRandom,
    /// Each burst of a flow takes a random port; a pause longer than `gap` ends a burst (LetFlow).
    Flowlet {
        /// The pause.
        gap: Time,
    },
    /// Each cell of a flow takes the next path from end to end in turn, from one that a hash of the flow says
    /// (Presto).
    Flowcell {
        /// Bytes on the wire that end a cell before the packet that would exceed them.
        size: Bytes,
    },
}

impl LoadBalancing {
    /// Packets of `bytes` on the wire that make a cell; `None` if flows are not cut into cells.
    pub fn packets_per_cell(self, bytes: u16) -> Option<u32> {
        let LoadBalancing::Flowcell { size } = self else { return None };
        Some(u32::try_from(size.get() / u64::from(bytes.max(1))).unwrap_or(u32::MAX).max(1))
    }
}

/// The memory of a switch (or network card).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// Each port has its own, in the fabric's [`QueueUnit`].
    PerPort(Bytes),
    /// The switch's ports share `total`; a port may hold at most `alpha_percent` % of what is free
    /// (dynamic thresholds, Choudhury and Hahne 1998). Network cards hold `total` each.
    Shared {
        /// What the whole switch holds, in the fabric's [`QueueUnit`].
        total: Bytes,
        /// α in per cent.
        alpha_percent: u32,
    },
}

/// How ports count what they hold, and when they mark, whatever the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRules {
    /// What buffers and marking thresholds count.
    pub queue_unit: QueueUnit,
    /// When packets are marked.
    pub marking_at: MarkingAt,
    /// Whether network cards mark as switches do.
    pub cards_mark: bool,
}

impl PortRules {
    /// When a port at such a place marks, if it does.
    pub fn marking(self, place: PortPlace) -> Option<MarkingAt> {
        (self.cards_mark || place != PortPlace::Nic).then_some(self.marking_at)
    }
}

impl Default for PortRules {
    fn default() -> Self {
        PortRules { queue_unit: QueueUnit::Bytes, marking_at: MarkingAt::Enqueue, cards_mark: true }
    }
}

/// A fabric ready to run.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// Number of hosts.
    pub hosts: usize,
    /// Number of switches.
    pub switches: usize,
    /// All ports: those of the hosts by their numbers, then those of each switch.
    pub ports: Vec<PortSpec>,
    /// For each port the one at the other end of its link.
    pub twins: Vec<PortId>,
    /// The switch that each host hangs on.
    pub edge_of: Vec<SwitchId>,
    /// The switch port towards each host.
    pub port_to: Vec<PortId>,
    /// What each port's link adds to the length of a way.
    pub metrics: Vec<u32>,
    /// Each port's part of what its switch divides among equal-cost ports.
    pub weights: Vec<u16>,
    /// The shortest ways from each switch to each host's.
    pub routes: Arc<Routes>,
    /// How switches choose among equal-cost ports.
    pub load_balancing: LoadBalancing,
    /// Seed of ECMP's hash: another one gives the same flows other paths.
    pub ecmp_seed: u64,
    /// Of each switch, what else its hash depends on: flows that one switch has chosen must not be of one mind at the next. In
    /// fabrics of tiers it is the tier, so that a flow's acknowledgements come back on the way that its packets took; in others
    /// the switch.
    pub ecmp_place: Vec<u16>,
    /// Switch and network card memory.
    pub buffer: Buffer,
    /// How ports count and mark.
    pub port_rules: PortRules,
    /// The hosts' names; none where they are `host0`, `host1` and so on.
    pub host_names: Vec<String>,
    /// The switches' names, such as `leaf0`.
    pub switch_names: Vec<String>,
    /// The numbers, from 2, of links side by side with another.
    pub strands: BTreeMap<PortId, u32>,
    /// Whether packets that come back must ask which way those that went had taken, since switches are not numbered in
    /// tiers.
    pub two_way: bool,
    /// When nothing comes over which links.
    pub outages: Vec<Outage>,
    /// Routes that take the place of `routes` later, in order of time.
    pub reroutes: Vec<Reroute>,
}

impl Fabric {
    /// All hosts.
    pub fn host_ids(&self) -> impl DoubleEndedIterator<Item = HostId> + ExactSizeIterator + use<> {
        (0..self.hosts).map(|host| host as HostId)
    }

    /// The next hops at `switch` towards host `dst`.
    pub fn next_hops(&self, switch: SwitchId, dst: HostId) -> NextHops {
        let edge = self.edge_of[dst as usize];
        if edge == switch {
            NextHops { first: self.port_to[dst as usize], count: 1 }
        } else {
            self.routes.next_hops(switch, edge)
        }
    }

    /// What ECMP's hash mixes into its keys: nothing for seed 0.
    pub fn ecmp_salt(&self, switch: SwitchId) -> u64 {
        mix(self.ecmp_seed) ^ mix(u64::from(self.ecmp_place[usize::from(switch)]))
    }

    /// The port by which a flow's packets from `src` to `dst` leave `switch` under ECMP. A flow's acknowledgements
    /// come back on the way that its packets took, as explicit feedback needs it (PDQ).
    pub fn hashed_port(&self, switch: SwitchId, src: HostId, dst: HostId, flow: u32) -> PortId {
        let [from, to] = [src, dst].map(|host| self.edge_of[host as usize]);
        if self.two_way && from > to && switch != to {
            // From the edge switch with the lower number, each choice is its switch's; back the same links are taken.
            let mut at = to;
            while let Some((port, next)) = self.hashed_step(at, src, flow) {
                if next == switch {
                    return self.twins[port as usize];
                }
                at = next;
            }
        }
        let hops = self.next_hops(switch, dst);
        self.routes.port(hops, hops.hashed(self.ecmp_salt(switch), flow))
    }

    /// The port that a switch's own choice is, and the switch that it leads to.
    fn hashed_step(&self, switch: SwitchId, dst: HostId, flow: u32) -> Option<(PortId, SwitchId)> {
        let hops = self.next_hops(switch, dst);
        if hops.count == 0 {
            return None;
        }
        let port = self.routes.port(hops, hops.hashed(self.ecmp_salt(switch), flow));
        match self.ports[port as usize].to {
            Node::Host(_) => None,
            Node::Switch(next) => Some((port, next)),
        }
    }

    /// The ports that a flow's packets pass under ECMP.
    pub fn hashed_path(&self, src: HostId, dst: HostId, flow: u32) -> impl Iterator<Item = PortId> {
        std::iter::successors(Some(PortId::from(src)), move |&port| match self.ports[port as usize].to {
            Node::Host(_) => None,
            Node::Switch(switch) => Some(self.hashed_port(switch, src, dst, flow)),
        })
    }

    /// How much of what pairs of hosts send, `(source, destination, amount)`, each port carries, if switches divide it evenly among
    /// equal-cost ports.
    pub fn divided(&self, demands: impl IntoIterator<Item = (HostId, HostId, f64)>) -> Vec<f64> {
        let mut carried = vec![0.0; self.ports.len()];
        let mut ahead: Vec<(PortId, f64)> = Vec::new();
        for (src, dst, amount) in demands {
            ahead.push((PortId::from(src), amount));
            while let Some((port, amount)) = ahead.pop() {
                carried[port as usize] += amount;
                if let Node::Switch(switch) = self.ports[port as usize].to {
                    let hops = self.next_hops(switch, dst);
                    let each = amount / f64::from(hops.count);
                    ahead.extend(self.routes.ports(hops).map(|next| (next, each)));
                }
            }
        }
        carried
    }

    /// Rate of the hosts' links; of the fastest where they differ.
    pub fn host_rate(&self) -> Rate {
        self.ports[..self.hosts].iter().map(|port| port.rate).max().unwrap_or(Rate::from_bps(1))
    }

    /// The name of a port, such as `leaf0->host3`; links side by side are told apart as in `a->b#2`.
    pub fn port_name(&self, port: PortId) -> String {
        let spec = &self.ports[port as usize];
        let name = format!("{}->{}", self.node_name(spec.from), self.node_name(spec.to));
        match self.strands.get(&port) {
            None => name,
            Some(strand) => format!("{name}#{strand}"),
        }
    }

    /// The port of that name.
    pub fn port_named(&self, name: &str) -> Option<PortId> {
        // Names of nodes may contain anything.
        (0..self.ports.len() as PortId).find(|&port| self.port_name(port) == name)
    }

    /// What a host is called.
    pub fn host_name(&self, host: HostId) -> Cow<'_, str> {
        match self.host_names.get(host as usize) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("host{host}")),
        }
    }

    fn node_name(&self, node: Node) -> Cow<'_, str> {
        match node {
            Node::Host(host) => self.host_name(host),
            Node::Switch(switch) => Cow::Borrowed(&self.switch_names[usize::from(switch)]),
        }
    }
}
