//! Which hosts share a rack.

use std::ops::Range;

use super::params::{FabricKind, FabricParams};

/// The racks of a fabric: hosts below one edge switch. Hosts are numbered rack by rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Racks {
    /// Hosts in rack 0.
    pub first: u16,
    /// Hosts in each other rack.
    pub each: u16,
}

impl Racks {
    /// The hosts of a rack.
    pub fn hosts(self, rack: u16) -> Range<u16> {
        let start = match rack.checked_sub(1) {
            None => 0,
            Some(others) => self.first + others * self.each,
        };
        start..start + if rack == 0 { self.first } else { self.each }
    }

    /// The rack of a host.
    pub fn of(self, host: u16) -> u16 {
        host.checked_sub(self.first).map_or(0, |beyond| 1 + beyond / self.each)
    }

    /// How many there are in a fabric of so many hosts.
    pub fn count(self, hosts: u16) -> u16 {
        self.of(hosts - 1) + 1
    }
}

impl FabricParams {
    /// Which hosts share a rack.
    pub fn racks(&self) -> Racks {
        let alike = |each| Racks { first: each, each };
        match self.kind {
            FabricKind::Star(kind) => alike(kind.hosts),
            FabricKind::Dumbbell(kind) => Racks { first: kind.left, each: kind.right },
            FabricKind::ParkingLot(kind) => alike(kind.hosts_per_switch),
            FabricKind::LeafSpine(kind) => alike(kind.hosts_per_leaf),
            FabricKind::Tree(kind) => alike(kind.hosts_per_edge),
        }
    }

    /// Racks in a pod; all where the fabric has no pods.
    pub fn racks_per_pod(&self) -> u16 {
        match self.kind {
            FabricKind::Tree(kind) => kind.edges_per_pod,
            _ => self.racks().count(self.hosts()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    #[test]
    fn hosts_of_a_rack_share_an_edge_switch() {
        let own = [
            "kind = \"dumbbell\"\nleft = 3\nright = 5\nhost_rate = \"1Gbps\"\nbottleneck_rate = \"1Gbps\"",
            "kind = \"parking-lot\"\nswitches = 4\nhosts_per_switch = 3\nhost_rate = \"1Gbps\"\nrow_rate = \"1Gbps\"",
        ];
        let tables =
            presets::names().map(|name| format!("preset = \"{name}\"")).chain(own.map(str::to_owned));
        for text in tables {
            let params = FabricParams::from_table(&text.parse().unwrap()).unwrap();
            if params.hosts() > 1000 {
                continue;
            }
            let (fabric, racks) = (params.build(), params.racks());
            for a in 0..params.hosts() {
                assert!(racks.hosts(racks.of(a)).contains(&a), "{text}");
                for b in 0..params.hosts() {
                    let together = fabric.edge_of[usize::from(a)] == fabric.edge_of[usize::from(b)];
                    assert_eq!(racks.of(a) == racks.of(b), together, "{text}: hosts {a} and {b}");
                }
            }
        }
    }
}
