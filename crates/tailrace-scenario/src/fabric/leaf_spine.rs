//! Two tiers: every leaf switch has a link to every spine switch.

use tailrace_core::{Rate, Time};

use super::{Buffer, Fabric, LoadBalancing, NextHops, Node, PortId, PortSpec};

/// A leaf-spine fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Number of leaf switches.
    pub leaves: u16,
    /// Number of spine switches.
    pub spines: u16,
    /// Hosts under each leaf.
    pub hosts_per_leaf: u16,
    /// Rate of a link between host and leaf.
    pub host_rate: Rate,
    /// Rate of a link between leaf and spine.
    pub spine_rate: Rate,
    /// Delay of a link between host and leaf.
    pub host_delay: Time,
    /// Delay of a link between leaf and spine.
    pub spine_delay: Time,
}

impl LeafSpine {
    /// The fabric. Leaves are switches `0..leaves`, spines follow; host `h` hangs on leaf `h / hosts_per_leaf`.
    pub fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let hosts = self.leaves * self.hosts_per_leaf;
        let switches = usize::from(self.leaves + self.spines);
        let leaf_of = |h: u16| h / self.hosts_per_leaf;
        let host_link = |from, to| PortSpec { from, to, rate: self.host_rate, delay: self.host_delay };
        let spine_link = |from, to| PortSpec { from, to, rate: self.spine_rate, delay: self.spine_delay };

        let mut ports: Vec<PortSpec> =
            (0..hosts).map(|h| host_link(Node::Host(h), Node::Switch(leaf_of(h)))).collect();
        let mut port_to = vec![0; usize::from(hosts)];
        let mut routes = vec![NextHops::default(); switches * switches];
        for leaf in 0..self.leaves {
            for h in leaf * self.hosts_per_leaf..(leaf + 1) * self.hosts_per_leaf {
                port_to[usize::from(h)] = ports.len() as PortId;
                ports.push(host_link(Node::Switch(leaf), Node::Host(h)));
            }
            let up = NextHops { first: ports.len() as PortId, count: u32::from(self.spines) };
            for other in (0..self.leaves).filter(|&other| other != leaf) {
                routes[usize::from(leaf) * switches + usize::from(other)] = up;
            }
            for spine in 0..self.spines {
                ports.push(spine_link(Node::Switch(leaf), Node::Switch(self.leaves + spine)));
            }
        }
        for spine in self.leaves..self.leaves + self.spines {
            for leaf in 0..self.leaves {
                routes[usize::from(spine) * switches + usize::from(leaf)] =
                    NextHops { first: ports.len() as PortId, count: 1 };
                ports.push(spine_link(Node::Switch(spine), Node::Switch(leaf)));
            }
        }
        let edge_of = (0..hosts).map(leaf_of).collect();
        Fabric { hosts: usize::from(hosts), switches, ports, edge_of, port_to, routes, load_balancing, buffer }
    }
}
