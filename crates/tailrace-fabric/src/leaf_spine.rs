//! Two tiers: every leaf switch has a link to every spine switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::wiring::Wiring;
use super::{Buffer, Fabric, LoadBalancing};

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
        self.wiring().build(load_balancing, buffer)
    }

    fn wiring(&self) -> Wiring {
        let (leaves, spines, each) = (self.leaves, self.spines, self.hosts_per_leaf);
        let named = |name: &'static str, count| (0..count).map(move |number: u16| format!("{name}{number}"));
        let names = named("leaf", leaves).chain(named("spine", spines)).collect();
        let mut wiring = Wiring::new(names);
        for leaf in 0..leaves {
            wiring.hosts(leaf, each, self.host_rate, self.host_delay);
            wiring.switches(leaf, leaves..leaves + spines, self.spine_rate, self.spine_delay);
        }
        wiring
    }
}
