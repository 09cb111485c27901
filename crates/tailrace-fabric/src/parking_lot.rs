//! Switches in a row, each with hosts: a flow along the row meets others at every link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::wiring::Wiring;
use super::{Buffer, Fabric, LoadBalancing};

/// Switches in a row, each with hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// Number of switches.
    pub switches: u16,
    /// Hosts at each switch.
    pub hosts_per_switch: u16,
    /// Rate of a link between host and switch.
    pub host_rate: Rate,
    /// Rate of a link between neighbours in the row.
    pub row_rate: Rate,
    /// Delay of a link between host and switch.
    pub host_delay: Time,
    /// Delay of a link between neighbours in the row.
    pub row_delay: Time,
}

impl ParkingLot {
    /// The fabric. Hosts are numbered switch by switch; switch 0 is at an end of the row.
    pub fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let Self { switches, hosts_per_switch: each, .. } = *self;
        let mut wiring = Wiring::new((0..switches).map(|n| format!("row{n}")).collect());
        for switch in 0..switches {
            wiring.hosts(switch, each, self.host_rate, self.host_delay);
        }
        for above in 1..switches {
            wiring.switches(above - 1, [above], self.row_rate, self.row_delay);
        }
        wiring.build(load_balancing, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Node;
    use tailrace_core::Bytes;

    #[test]
    fn paths_go_along_the_row() {
        let (host_rate, row_rate) = (Rate::from_gbps(10), Rate::from_gbps(1));
        let (host_delay, row_delay) = (Time::from_us(1), Time::from_us(2));
        let row = ParkingLot { switches: 5, hosts_per_switch: 2, host_rate, row_rate, host_delay, row_delay };
        let fabric = row.build(LoadBalancing::Ecmp, Buffer::PerPort(Bytes::new(100_000)));
        assert_eq!(fabric.ports.len(), 10 + 10 + 8);
        for (src, dst, between) in [(0, 1, 0), (0, 9, 4), (9, 0, 4), (2, 5, 1), (7, 3, 2)] {
            let path: Vec<_> = fabric.hashed_path(src, dst, 7).collect();
            assert_eq!(path.len(), 2 + between, "{src} to {dst}");
            assert!(path[1..=between].iter().all(|&port| fabric.ports[port as usize].rate == row_rate));
            assert_eq!(fabric.ports[path[1 + between] as usize].to, Node::Host(dst));
        }
        assert_eq!(fabric.longest_path(), 6);
    }
}
