//! Two switches joined by one link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::wiring::Wiring;
use super::{Buffer, Fabric, LoadBalancing};

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
        let mut wiring = Wiring::new(vec!["left".to_owned(), "right".to_owned()]);
        wiring.hosts(0, self.left, self.host_rate, self.host_delay);
        wiring.hosts(1, self.right, self.host_rate, self.host_delay);
        wiring.switches(0, [1], self.bottleneck_rate, self.bottleneck_delay);
        wiring.build(load_balancing, buffer)
    }
}
