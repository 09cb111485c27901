//! Two switches joined by one link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::build::Builder;
use super::{Buffer, Fabric, LoadBalancing, Node};

/// Two switches joined by one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Hosts at the left switch.
    pub left: u16,
    /// Hosts at the right switch.
    pub right: u16,
    /// Rate of a link between host and switch.
    pub host_rate: Rate,
    /// Rate of the link between the switches.
    pub bottleneck_rate: Rate,
    /// Delay of a link between host and switch.
    pub host_delay: Time,
    /// Delay of the link between the switches.
    pub bottleneck_delay: Time,
}

impl Dumbbell {
    /// The fabric. Hosts `0..left` hang on the left switch, which is switch 0; the others on the right.
    pub fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let left = self.left;
        let mut builder = Builder::new(left + self.right, 2, |host| u16::from(host >= left));
        builder.network_cards(self.host_rate, self.host_delay);
        for (side, hosts) in [(0, 0..left), (1, left..left + self.right)] {
            builder.switch(["left", "right"][side]);
            for host in hosts {
                builder.port(Node::Host(host), self.host_rate, self.host_delay);
            }
            let other = 1 - side as u16;
            let across = builder.ports(&[other], self.bottleneck_rate, self.bottleneck_delay);
            builder.route(&[other], across);
        }
        builder.finish(load_balancing, buffer)
    }
}
