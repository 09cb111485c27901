//! One switch with all hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::wiring::Wiring;
use super::{Buffer, Fabric, LoadBalancing};

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
    /// The fabric.
    pub fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let mut wiring = Wiring::new(vec!["switch0".to_owned()]);
        wiring.hosts(0, self.hosts, self.host_rate, self.host_delay);
        wiring.build(load_balancing, buffer)
    }
}
