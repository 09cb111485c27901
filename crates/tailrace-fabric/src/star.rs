//! One switch with all hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::build::Builder;
use super::{Buffer, Fabric, LoadBalancing, Node};

/// One switch with all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// Number of hosts.
    pub hosts: u16,
    /// Rate of each link.
    pub host_rate: Rate,
    /// Delay of each link.
    pub host_delay: Time,
}

impl Star {
    /// The fabric. Host `h` hangs on the only switch.
    pub fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let mut builder = Builder::new(self.hosts, 1, |_| 0);
        builder.network_cards(self.host_rate, self.host_delay);
        builder.switch("switch0");
        for host in 0..self.hosts {
            builder.port(Node::Host(host), self.host_rate, self.host_delay);
        }
        builder.finish(load_balancing, buffer)
    }
}
