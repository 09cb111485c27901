//! Fabrics: hosts, switches, their ports, and the routes between them.

mod build;
mod check;
mod common;
mod dumbbell;
mod ideal;
#[cfg(test)]
mod ideal_tests;
mod leaf_spine;
mod params;
mod parking_lot;
mod presets;
mod racks;
mod star;
mod tree;

pub use check::check_link;
pub use dumbbell::Dumbbell;
pub use leaf_spine::LeafSpine;
pub use params::{FabricKind, FabricParams};
pub use parking_lot::ParkingLot;
pub use presets::{ListedFabric, list};
pub use racks::Racks;
pub use star::Star;
pub use tree::Tree;

use std::borrow::Cow;

pub use tailrace_core::PortId;
use tailrace_core::random::{mix, scale};
use tailrace_core::{Bytes, MarkingAt, PortPlace, QueueUnit, Rate, Time};

/// A switch's number within its fabric.
pub type SwitchId = u16;

/// What a port's link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A host.
    Host(u16),
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

/// The equal-cost ports of a switch towards a destination: consecutive port numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextHops {
    /// The first port.
    pub first: PortId,
    /// How many; 0 if the destination cannot be reached.
    pub count: u32,
}

impl NextHops {
    /// The port that ECMP chooses for a flow, by the [`Fabric::ecmp_salt`], the flow and the number of choices, not
    /// by switch. A flow's acknowledgements come back on the way that its packets took, as explicit feedback needs
    /// it (PDQ).
    #[inline]
    pub fn hashed(self, salt: u64, flow: u32) -> PortId {
        let key = u64::from(flow) | u64::from(self.count) << 32;
        self.first + scale(mix(key ^ salt), self.count)
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
    /// All ports; those of a switch are consecutive, equal-cost ones side by side.
    pub ports: Vec<PortSpec>,
    /// The switch that each host hangs on.
    pub edge_of: Vec<SwitchId>,
    /// The switch port towards each host.
    pub port_to: Vec<PortId>,
    /// Next hops, `[switch * switches + edge switch of the destination]`.
    pub routes: Vec<NextHops>,
    /// How switches choose among equal-cost ports.
    pub load_balancing: LoadBalancing,
    /// Seed of ECMP's hash: another one gives the same flows other paths.
    pub ecmp_seed: u64,
    /// Switch and network card memory.
    pub buffer: Buffer,
    /// How ports count and mark.
    pub port_rules: PortRules,
    /// The switches' names, such as `leaf0`.
    pub switch_names: Vec<String>,
}

impl Fabric {
    /// The next hops at `switch` towards host `dst`.
    pub fn next_hops(&self, switch: SwitchId, dst: u16) -> NextHops {
        let edge = self.edge_of[usize::from(dst)];
        if edge == switch {
            NextHops { first: self.port_to[usize::from(dst)], count: 1 }
        } else {
            self.routes[usize::from(switch) * self.switches + usize::from(edge)]
        }
    }

    /// What ECMP's hash mixes into its keys: nothing for seed 0.
    pub fn ecmp_salt(&self) -> u64 {
        mix(self.ecmp_seed) ^ mix(0)
    }

    /// The ports that a flow's packets pass under ECMP.
    pub fn hashed_path(&self, src: u16, dst: u16, flow: u32) -> impl Iterator<Item = PortId> {
        std::iter::successors(Some(PortId::from(src)), move |&port| match self.ports[port as usize].to {
            Node::Host(_) => None,
            Node::Switch(switch) => Some(self.next_hops(switch, dst).hashed(self.ecmp_salt(), flow)),
        })
    }

    /// How much of what pairs of hosts send, `(source, destination, amount)`, each port carries, if switches divide it evenly among
    /// equal-cost ports.
    pub fn divided(&self, demands: impl IntoIterator<Item = (u16, u16, f64)>) -> Vec<f64> {
        let mut carried = vec![0.0; self.ports.len()];
        let mut ahead: Vec<(PortId, f64)> = Vec::new();
        for (src, dst, amount) in demands {
            ahead.push((PortId::from(src), amount));
            while let Some((port, amount)) = ahead.pop() {
                carried[port as usize] += amount;
                if let Node::Switch(switch) = self.ports[port as usize].to {
                    let NextHops { first, count } = self.next_hops(switch, dst);
                    ahead.extend((first..first + count).map(|next| (next, amount / f64::from(count))));
                }
            }
        }
        carried
    }

    /// Rate of the hosts' links.
    pub fn host_rate(&self) -> Rate {
        self.ports[0].rate
    }

    /// The name of a port, such as `leaf0->host3`.
    pub fn port_name(&self, port: PortId) -> String {
        let spec = &self.ports[port as usize];
        format!("{}->{}", self.node_name(spec.from), self.node_name(spec.to))
    }

    /// The port of that name.
    pub fn port_named(&self, name: &str) -> Option<PortId> {
        let (from, to) = name.split_once("->")?;
        let found = |spec: &PortSpec| self.node_name(spec.from) == from && self.node_name(spec.to) == to;
        self.ports.iter().position(found).map(|port| port as PortId)
    }

    fn node_name(&self, node: Node) -> Cow<'_, str> {
        match node {
            Node::Host(host) => Cow::Owned(format!("host{host}")),
            Node::Switch(switch) => Cow::Borrowed(&self.switch_names[usize::from(switch)]),
        }
    }
}
