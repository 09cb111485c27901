//! How large and how fast a fabric is, without building it.

use tailrace_core::Rate;

use super::{FabricKind, FabricParams, Racks};

impl FabricParams {
    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        let product = |factors: &[u16]| factors.iter().map(|&factor| u32::from(factor)).product();
        match &self.kind {
            FabricKind::Star(kind) => kind.hosts.into(),
            FabricKind::Dumbbell(kind) => u32::from(kind.left) + u32::from(kind.right),
            FabricKind::ParkingLot(kind) => product(&[kind.switches, kind.hosts_per_switch]),
            FabricKind::LeafSpine(kind) => product(&[kind.leaves, kind.hosts_per_leaf]),
            FabricKind::Tree(kind) => product(&[kind.pods, kind.edges_per_pod, kind.hosts_per_edge]),
            FabricKind::Graph(graph) => graph.hosts.len() as u32,
        }
    }

    /// Rate of the hosts' links; of the fastest where they differ.
    pub fn host_rate(&self) -> Rate {
        match &self.kind {
            FabricKind::Star(kind) => kind.host_rate,
            FabricKind::Dumbbell(kind) => kind.host_rate,
            FabricKind::ParkingLot(kind) => kind.host_rate,
            FabricKind::LeafSpine(kind) => kind.host_rate,
            FabricKind::Tree(kind) => kind.host_rate,
            FabricKind::Graph(graph) => graph.host_rates().into_iter().max().unwrap_or(Rate::from_bps(1)),
        }
    }

    /// The rate of each host's link as a share of the fastest one's; none where all are alike.
    pub fn host_speeds(&self) -> Vec<f64> {
        let FabricKind::Graph(graph) = &self.kind else { return Vec::new() };
        let (rates, fastest) = (graph.host_rates(), self.host_rate());
        if rates.iter().all(|&rate| rate == fastest) {
            return Vec::new();
        }
        rates.iter().map(|rate| rate.bytes_per_sec() / fastest.bytes_per_sec()).collect()
    }

    /// Rate of the hosts below a tier over the rate of the links out of it, at the worst tier; 0 if there
    /// is but one switch.
    pub fn oversubscription(&self) -> f64 {
        let ratio = |hosts: u32, links: u16, rate: Rate| {
            f64::from(hosts) * self.host_rate().bytes_per_sec() / (f64::from(links) * rate.bytes_per_sec())
        };
        match &self.kind {
            FabricKind::Star(_) => 0.0,
            FabricKind::Dumbbell(kind) => ratio(kind.left.min(kind.right).into(), 1, kind.bottleneck_rate),
            FabricKind::ParkingLot(kind) => {
                ratio(u32::from(kind.switches / 2) * u32::from(kind.hosts_per_switch), 1, kind.row_rate)
            }
            FabricKind::LeafSpine(kind) => ratio(kind.hosts_per_leaf.into(), kind.spines, kind.spine_rate),
            FabricKind::Tree(kind) => {
                let edge = ratio(kind.hosts_per_edge.into(), kind.aggs_per_pod, kind.edge_rate);
                let pod = u32::from(kind.hosts_per_edge) * u32::from(kind.edges_per_pod);
                edge.max(ratio(pod, kind.cores, kind.core_rate))
            }
            FabricKind::Graph(graph) => graph.oversubscription(),
        }
    }

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

    #[test]
    fn oversubscription_is_that_of_the_worst_tier() {
        let of = |preset: &str| {
            let text = format!("preset = \"{preset}\"");
            FabricParams::from_table(&text.parse().unwrap()).unwrap().oversubscription()
        };
        assert_eq!(of("spine144"), 1.0);
        assert_eq!(of("spine144x3"), 3.0);
        assert_eq!(of("fattree64"), 4.0);
        assert_eq!(of("tree36k"), 41.0 / 20.0);
        assert_eq!(of("micro4"), 0.0);
    }
}
