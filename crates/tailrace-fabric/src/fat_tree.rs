//! A fat tree by the switches that it is built of: short for the kinds of two and three tiers.

use schemars::JsonSchema;
use serde::Deserialize;
use tailrace_config::ScenarioError;
use tailrace_core::{Rate, Time};

use super::{FabricKind, LeafSpine, Tree, check};

/// The largest switch.
const MAX_RADIX: u16 = 1_024;

/// Switches that are all alike, with as many ports as they have in use: the largest fabric of so many tiers that can be
/// built of them (Al-Fares et al. 2008).
///
/// It is read as the `leaf-spine` or the `tree` that it is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FatTree {
    /// Ports of each switch. With three tiers and no oversubscription radix k gives k³/4 hosts.
    radix: u16,
    /// Tiers of switches, 2 or 3; 3 unless given.
    #[serde(default = "three")]
    tiers: u16,
    /// Hosts of an edge switch for each of its links to other switches; 1 unless given.
    #[serde(default = "one")]
    oversubscription: u16,
    /// Rate of a link between host and switch.
    host_rate: Rate,
    /// Rate of a link between switches; that of the hosts unless given.
    switch_rate: Option<Rate>,
    /// Delay of a link between host and switch.
    host_delay: Time,
    /// Delay of a link between switches.
    switch_delay: Time,
}

fn three() -> u16 {
    3
}

fn one() -> u16 {
    1
}

impl FatTree {
    /// The fabric that it stands for.
    pub(super) fn stands_for(&self) -> Result<FabricKind, ScenarioError> {
        let FatTree { radix, host_rate, host_delay, switch_delay, .. } = *self;
        if !(2..=3).contains(&self.tiers) {
            return Err(ScenarioError::new("tiers", format!("is {}, but must be 2 or 3", self.tiers)));
        }
        let (hosts, up) = self.ports_of_edge()?;
        let switch_rate = self.switch_rate.unwrap_or(host_rate);
        check::rate("switch_rate", switch_rate)?;
        check::delay("switch_delay", switch_delay)?;
        let edges = if self.tiers == 2 { 1 } else { radix / 2 };
        check::hosts("radix", &[radix, edges, hosts])?;
        match self.tiers {
            2 => Ok(FabricKind::LeafSpine(LeafSpine {
                leaves: radix,
                spines: up,
                hosts_per_leaf: hosts,
                host_rate,
                spine_rate: switch_rate,
                host_delay,
                spine_delay: switch_delay,
            })),
            _ => Ok(FabricKind::Tree(Tree {
                pods: radix,
                edges_per_pod: radix / 2,
                hosts_per_edge: hosts,
                aggs_per_pod: up,
                cores: up * (radix / 2),
                host_rate,
                edge_rate: switch_rate,
                core_rate: switch_rate,
                host_delay,
                edge_delay: switch_delay,
                core_delay: switch_delay,
            })),
        }
    }

    /// How many ports of an edge switch lead to hosts, and how many up.
    fn ports_of_edge(&self) -> Result<(u16, u16), ScenarioError> {
        let FatTree { radix, oversubscription, .. } = *self;
        if !(2..=MAX_RADIX).contains(&radix) {
            let message = format!("is {radix}, but must be 2 to {MAX_RADIX}");
            return Err(ScenarioError::new("radix", message));
        }
        if self.tiers == 3 && !radix.is_multiple_of(2) {
            let message = "must be even with three tiers: half of a switch's ports lead up";
            return Err(ScenarioError::new("radix", format!("is {radix}, but {message}")));
        }
        if oversubscription == 0 || oversubscription >= radix {
            let message =
                format!("is {oversubscription}, but must be 1 to {}, less than the radix", radix - 1);
            return Err(ScenarioError::new("oversubscription", message));
        }
        let of_each = oversubscription + 1;
        if !radix.is_multiple_of(of_each) {
            let message = format!(
                "is {oversubscription}, but the radix {radix} is no multiple of {of_each}: so many ports are the hosts \
                 for each link up, and the link"
            );
            return Err(ScenarioError::new("oversubscription", message));
        }
        let up = radix / of_each;
        Ok((radix - up, up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FabricParams, Node};

    fn read(fields: &str) -> Result<FabricParams, String> {
        let text = format!("kind = \"fat-tree\"\nhost_rate = \"10Gbps\"\ndelay = \"1us\"\n{fields}");
        FabricParams::from_table(&text.parse().unwrap()).map_err(|error| error.to_string())
    }

    /// What Al-Fares et al. say of k: k³/4 hosts, 5k²/4 switches; and all ports of each switch are used.
    #[test]
    fn all_ports_are_used() {
        for (fields, radix, hosts, switches) in [
            ("radix = 4", 4, 16, 20),
            ("radix = 8", 8, 128, 80),
            ("radix = 32", 32, 8_192, 1_280),
            ("radix = 8\noversubscription = 3", 8, 192, 8 * 4 + 8 * 2 + 8),
            ("radix = 6\ntiers = 2", 6, 18, 9),
            ("radix = 64\ntiers = 2\noversubscription = 3", 64, 64 * 48, 64 + 16),
        ] {
            let params = read(fields).unwrap();
            assert_eq!(params.hosts(), hosts, "{fields}");
            let fabric = params.build();
            assert_eq!((fabric.hosts, fabric.switches), (hosts as usize, switches), "{fields}");
            let mut used = vec![0; switches];
            for port in &fabric.ports {
                if let Node::Switch(switch) = port.from {
                    used[usize::from(switch)] += 1;
                }
            }
            assert!(used.iter().all(|&ports| ports == radix), "{fields}: {used:?}");
        }
    }

    #[test]
    fn oversubscription_is_by_links_and_counts_their_rates() {
        assert_eq!(read("radix = 8").unwrap().oversubscription(), 1.0);
        assert_eq!(read("radix = 8\noversubscription = 3").unwrap().oversubscription(), 3.0);
        let faster = read("radix = 8\noversubscription = 3\nswitch_rate = \"40Gbps\"\ntiers = 2").unwrap();
        assert_eq!(faster.oversubscription(), 0.75);
    }

    #[test]
    fn it_is_read_as_what_it_stands_for() {
        let params = read("radix = 4\nswitch_delay = \"2us\"").unwrap();
        let FabricKind::Tree(tree) = &params.kind else { panic!("{params:?}") };
        assert_eq!((tree.host_delay, tree.core_delay), (Time::from_us(1), Time::from_us(2)));
        assert_eq!(FabricParams::from_table(&params.to_table()), Ok(params));
    }

    #[test]
    fn mistakes_are_named_with_what_would_be_right() {
        for (fields, said) in [
            ("radix = 5", "radix: is 5, but must be even with three tiers"),
            ("radix = 1", "radix: is 1, but must be 2 to 1024"),
            ("radix = 8\ntiers = 4", "tiers: is 4, but must be 2 or 3"),
            ("radix = 8\noversubscription = 0", "oversubscription: is 0, but must be 1 to 7"),
            (
                "radix = 8\noversubscription = 2",
                "oversubscription: is 2, but the radix 8 is no multiple of 3",
            ),
            ("radix = 162", "radix: gives 1062882 hosts, but there must be 2 to 1048576"),
            ("hosts = 3", "hosts: "),
        ] {
            let error = read(fields).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    /// As many hosts as packets know: three tiers of switches with 64 ports.
    #[test]
    fn routes_of_the_largest_are_no_square() {
        let params = read("radix = 64").unwrap();
        let fabric = params.build();
        assert_eq!((fabric.hosts, fabric.switches), (65_536, 5_120));
        assert_eq!(fabric.longest_path(), 6);
        assert!(fabric.routes.memory() < 5_120 * 5_120);
        for (src, dst) in [(0, 65_535), (65_535, 0), (1_023, 1_024), (31, 32), (40_000, 40_001)] {
            let way: Vec<_> = fabric.hashed_path(src, dst, 7).collect();
            let last = fabric.ports[way[way.len() - 1] as usize].to;
            assert_eq!(last, Node::Host(dst));
        }
    }
}
