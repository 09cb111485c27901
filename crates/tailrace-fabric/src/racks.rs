//! Which hosts share a rack.

use std::borrow::Cow;
use std::ops::Range;

use tailrace_core::HostId;

use super::params::{FabricKind, FabricParams};

/// The racks of a fabric: hosts below one edge switch. Hosts are numbered rack by rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racks {
    /// The first host of each rack, and one more than the last of all.
    bounds: Cow<'static, [u32]>,
}

impl Racks {
    /// Racks that begin with these hosts, the last of which only says where the one before ends.
    pub const fn bounded(bounds: &'static [u32]) -> Self {
        Racks { bounds: Cow::Borrowed(bounds) }
    }

    /// Racks of so many hosts.
    pub fn of_sizes(sizes: impl IntoIterator<Item = u32>) -> Self {
        let mut bounds = vec![0];
        sizes.into_iter().for_each(|size| bounds.push(bounds[bounds.len() - 1] + size));
        Racks { bounds: bounds.into() }
    }

    /// The hosts of a rack.
    pub fn hosts(&self, rack: u16) -> Range<HostId> {
        let [first, end] = [0, 1].map(|next| self.bounds[usize::from(rack) + next]);
        first..end
    }

    /// The rack of a host.
    pub fn of(&self, host: HostId) -> u16 {
        self.bounds[1..].partition_point(|&end| end <= host) as u16
    }

    /// How many there are.
    pub fn count(&self) -> u16 {
        (self.bounds.len() - 1) as u16
    }
}

impl FabricParams {
    /// Which hosts share a rack.
    pub fn racks(&self) -> Racks {
        let alike = |racks, each: u16| Racks::of_sizes(std::iter::repeat_n(each.into(), usize::from(racks)));
        match &self.kind {
            FabricKind::Star(kind) => alike(1, kind.hosts),
            FabricKind::Dumbbell(kind) => Racks::of_sizes([kind.left.into(), kind.right.into()]),
            FabricKind::ParkingLot(kind) => alike(kind.switches, kind.hosts_per_switch),
            FabricKind::LeafSpine(kind) => alike(kind.leaves, kind.hosts_per_leaf),
            FabricKind::Tree(kind) => alike(kind.pods * kind.edges_per_pod, kind.hosts_per_edge),
            FabricKind::Graph(graph) => graph.racks(),
        }
    }

    /// Racks in a pod; all where the fabric has no pods.
    pub fn racks_per_pod(&self) -> u16 {
        match &self.kind {
            FabricKind::Tree(kind) => kind.edges_per_pod,
            _ => self.racks().count(),
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
                    let together = fabric.edge_of[a as usize] == fabric.edge_of[b as usize];
                    assert_eq!(racks.of(a) == racks.of(b), together, "{text}: hosts {a} and {b}");
                }
            }
        }
    }
}
