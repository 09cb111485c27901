//! Two tiers: every leaf switch has a link to every spine switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::build::Builder;
use super::{Buffer, Fabric, LoadBalancing, Node, SwitchId};

/// Two tiers: every leaf switch has a link to every spine switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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
    /// The fabric. Leaves are switches `0..leaves`, spines follow; host `h` hangs on leaf
    /// `h / hosts_per_leaf`.
    pub fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let per_leaf = self.hosts_per_leaf;
        let leaves: Vec<SwitchId> = (0..self.leaves).collect();
        let spines: Vec<SwitchId> = (self.leaves..self.leaves + self.spines).collect();
        let mut builder =
            Builder::new(self.leaves * per_leaf, self.leaves + self.spines, |host| host / per_leaf);
        builder.network_cards(self.host_rate, self.host_delay);
        for &leaf in &leaves {
            builder.switch(&format!("leaf{leaf}"));
            for host in leaf * per_leaf..(leaf + 1) * per_leaf {
                builder.port(Node::Host(host), self.host_rate, self.host_delay);
            }
            let up = builder.ports(&spines, self.spine_rate, self.spine_delay);
            builder.route(&leaves, up);
        }
        for spine in 0..self.spines {
            builder.switch(&format!("spine{spine}"));
            for &leaf in &leaves {
                let down = builder.ports(&[leaf], self.spine_rate, self.spine_delay);
                builder.route(&[leaf], down);
            }
        }
        builder.finish(load_balancing, buffer)
    }
}
