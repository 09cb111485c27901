//! Links and switches that fail at stated times, and the ways around them.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, suggest};
use tailrace_core::{HostId, Time};

use super::{Fabric, Node, PortId, Routes, SwitchId};

/// A link or a switch that fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The link, by one of its two ports, such as "leaf0->spine1": it fails in both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Or the switch, with all its links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// When it fails.
    pub at: Time,
    /// When it is back; never unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// All of a fabric, and how long its routes take to follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// What fails.
    pub list: Vec<Failure>,
    /// From a failure, or its end, to new routes at all switches at once.
    pub convergence: Time,
}

/// A time in which nothing comes over a port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The port.
    pub port: PortId,
    /// From when on.
    pub from: Time,
    /// Until when; [`Time::MAX`] if it is not over by itself.
    pub until: Time,
}

/// Routes that count from some time on.
#[derive(Clone, Debug)]
pub struct Reroute {
    /// From when on.
    pub at: Time,
    /// As [`Fabric::routes`].
    pub routes: Arc<Routes>,
}

impl Reroute {
    /// The fabric with these routes for good.
    pub(super) fn over(&self, fabric: &Fabric) -> Fabric {
        Fabric { routes: Arc::clone(&self.routes), reroutes: Vec::new(), ..fabric.clone() }
    }
}

impl Fabric {
    /// When the last failure, or the end of one, has had its effect on routes; zero if nothing fails.
    pub fn last_change(&self) -> Time {
        self.reroutes.last().map_or(Time::ZERO, |reroute| reroute.at)
    }

    /// A host that failures leave without a way to some other for good.
    pub fn cut_off(&self) -> Option<HostId> {
        let mut for_good = self.outages.iter().filter(|outage| outage.until == Time::MAX);
        if let Some(host) = for_good.find_map(|outage| self.edge_end(outage)) {
            return Some(host);
        }
        let last = self.reroutes.last()?;
        let edges: BTreeSet<SwitchId> = self.edge_of.iter().copied().collect();
        let reaches = |from: SwitchId, to: SwitchId| from == to || last.routes.next_hops(from, to).count > 0;
        let lost = edges.iter().find(|&&from| edges.iter().any(|&to| !reaches(from, to)))?;
        self.edge_of.iter().position(|edge| edge == lost).map(|host| host as HostId)
    }

    /// The host at an end of a link that fails; none if it joins two switches.
    fn edge_end(&self, outage: &Outage) -> Option<HostId> {
        let spec = &self.ports[outage.port as usize];
        match (spec.from, spec.to) {
            (Node::Host(host), _) | (_, Node::Host(host)) => Some(host),
            _ => None,
        }
    }
}

impl Failure {
    /// The ports of the links that fail. Fields in errors are the failure's.
    fn ports(&self, fabric: &Fabric) -> Result<Vec<PortId>, ScenarioError> {
        match (&self.link, &self.switch) {
            (Some(name), None) => {
                let port = fabric.port_named(name).ok_or_else(|| {
                    let names = (0..fabric.ports.len() as PortId).map(|port| fabric.port_name(port));
                    let names: Vec<String> = names.collect();
                    let message = suggest::unknown("link", name, names.iter().map(String::as_str));
                    ScenarioError::new("link", message)
                })?;
                Ok(vec![port, fabric.twins[port as usize]])
            }
            (None, Some(name)) => {
                if let Some(host) = fabric.host_ids().find(|&host| fabric.host_name(host) == *name) {
                    let port = fabric.port_name(PortId::from(host));
                    let message = format!("is {name}, a host: write link = \"{port}\" for its link");
                    return Err(ScenarioError::new("switch", message));
                }
                let Some(switch) = fabric.switch_names.iter().position(|known| known == name) else {
                    let names = fabric.switch_names.iter().map(String::as_str);
                    return Err(ScenarioError::new("switch", suggest::unknown("switch", name, names)));
                };
                let switch = Node::Switch(switch as u16);
                let ports = (0..fabric.ports.len() as PortId).filter(|&port| {
                    let spec = &fabric.ports[port as usize];
                    spec.from == switch || spec.to == switch
                });
                Ok(ports.collect())
            }
            (None, None) => {
                Err(ScenarioError::new("link", "is missing: say which link fails, or which switch"))
            }
            (Some(_), Some(_)) => {
                Err(ScenarioError::new("switch", "is given beside a link: write a failure for each"))
            }
        }
    }

    fn outages(&self, fabric: &Fabric) -> Result<impl Iterator<Item = Outage> + use<>, ScenarioError> {
        let (from, until) = (self.at, self.until.unwrap_or(Time::MAX));
        if until <= from {
            let message = format!("is {until}, but must be later than at = {from}");
            return Err(ScenarioError::new("until", message));
        }
        Ok(self.ports(fabric)?.into_iter().map(move |port| Outage { port, from, until }))
    }
}

impl Failures {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// When nothing comes over which links of a fabric. Fields in errors are those of `[fabric]`.
    pub(super) fn outages(&self, fabric: &Fabric) -> Result<Vec<Outage>, ScenarioError> {
        let mut outages = Vec::new();
        for (number, failure) in self.list.iter().enumerate() {
            let found = failure.outages(fabric);
            outages.extend(found.map_err(|error| error.within(&format!("failure[{number}]")))?);
        }
        Ok(outages)
    }
}

/// The routes of a fabric after each failure, and after the end of each.
pub(super) fn reroutes(fabric: &Fabric, outages: &[Outage], convergence: Time) -> Vec<Reroute> {
    let changes: BTreeSet<Time> = outages.iter().flat_map(|outage| [outage.from, outage.until]).collect();
    let around = |at: Time| {
        let mut dead = vec![false; fabric.ports.len()];
        let now = outages.iter().filter(|outage| (outage.from..outage.until).contains(&at));
        now.for_each(|outage| dead[outage.port as usize] = true);
        Reroute { at: at + convergence, routes: Arc::new(Routes::shortest(fabric, &dead)) }
    };
    changes.into_iter().filter(|&at| at < Time::MAX).map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FabricKind, FabricParams, Graph, Link};

    fn read(text: &str) -> Result<FabricParams, String> {
        FabricParams::from_table(&text.parse().unwrap()).map_err(|error| error.to_string())
    }

    /// The names of the ports that may come next at a switch towards a host.
    fn next(fabric: &Fabric, switch: u16, dst: HostId) -> BTreeSet<String> {
        let hops = fabric.next_hops(switch, dst);
        fabric.routes.ports(hops).map(|port| fabric.port_name(port)).collect()
    }

    /// Ways around a link are those of the same fabric without it.
    #[test]
    fn routes_after_a_failure_are_those_of_a_fabric_without_the_link() {
        for (preset, link, ends) in [
            ("fattree64", "edge0->agg0", ["edge0", "agg0"]),
            ("fattree64", "core3->agg1", ["agg1", "core3"]),
            ("spine144", "leaf2->spine1", ["leaf2", "spine1"]),
        ] {
            let text = format!(
                "preset = \"{preset}\"\nconvergence = \"2ms\"\nfailure = [{{ link = \"{link}\", at = \"3ms\", until = \"9ms\" }}]"
            );
            let fabric = read(&text).unwrap().build();
            let whole = read(&format!("preset = \"{preset}\"")).unwrap();
            let mut graph = Graph::of(&whole.build());
            let before = graph.links.len();
            graph.links.retain(|Link { ends: [a, b], .. }| {
                ![[a, b], [b, a]].contains(&[&ends[0].to_owned(), &ends[1].to_owned()])
            });
            assert_eq!(graph.links.len() + 1, before);
            let without = FabricParams { kind: FabricKind::Graph(graph), ..whole.clone() }.build();
            let times: Vec<Time> = fabric.reroutes.iter().map(|reroute| reroute.at).collect();
            assert_eq!(times, [Time::from_ms(5), Time::from_ms(11)]);
            for (reroute, expected) in fabric.reroutes.iter().zip([without, whole.build()]) {
                let around = reroute.over(&fabric);
                for switch in 0..fabric.switches as u16 {
                    for dst in (0..fabric.hosts as u32).step_by(5) {
                        assert_eq!(
                            next(&around, switch, dst),
                            next(&expected, switch, dst),
                            "{link}: {switch} to {dst}"
                        );
                    }
                }
            }
        }
    }

    /// A way around goes down to another switch of the tier and up again: that is two links more.
    #[test]
    fn the_longest_way_is_that_around_a_failure() {
        let longest = |failures: &str| {
            let text = format!("preset = \"fattree64\"\nconvergence = \"0s\"\nfailure = [{failures}]");
            read(&text).unwrap().build().longest_path()
        };
        assert_eq!(longest(""), 6);
        assert_eq!(
            longest("{ link = \"edge0->agg0\", at = \"1ms\" }, { link = \"edge7->agg7\", at = \"2ms\" }"),
            8
        );
    }

    #[test]
    fn a_host_that_is_cut_off_for_good_is_found() {
        let cut_off = |failures: &str| {
            let text =
                format!("preset = \"spine144\"\nspines = 2\nconvergence = \"0s\"\nfailure = [{failures}]");
            let fabric = read(&text).unwrap().build();
            (fabric.cut_off(), fabric.last_change())
        };
        assert_eq!(cut_off(""), (None, Time::ZERO));
        assert_eq!(cut_off("{ switch = \"spine0\", at = \"1ms\" }"), (None, Time::from_ms(1)));
        assert_eq!(cut_off("{ link = \"leaf1->host20\", at = \"1ms\" }").0, Some(20));
        assert_eq!(
            cut_off("{ link = \"leaf1->host20\", at = \"1ms\", until = \"4ms\" }"),
            (None, Time::from_ms(4))
        );
        let both = "{ switch = \"spine0\", at = \"1ms\" }, { link = \"leaf3->spine1\", at = \"2ms\" }";
        assert_eq!(cut_off(both).0, Some(0));
    }

    #[test]
    fn a_switch_fails_with_all_its_links() {
        let text =
            "preset = \"spine144\"\nconvergence = \"0s\"\nfailure = [{ switch = \"spine2\", at = \"1ms\" }]";
        let fabric = read(text).unwrap().build();
        assert_eq!(fabric.outages.len(), 2 * 9);
        let [reroute] = &fabric.reroutes[..] else { panic!("{:?}", fabric.reroutes.len()) };
        let around = reroute.over(&fabric);
        for (switch, dst) in (0..13).flat_map(|switch| (0..144).map(move |dst| (switch, dst))) {
            assert!(!next(&around, switch, dst).iter().any(|name| name.contains("spine2") && switch != 11));
        }
        let read_again = FabricParams::from_table(&read(text).unwrap().to_table()).unwrap();
        assert_eq!(read_again, read(text).unwrap());
    }

    #[test]
    fn mistakes_are_named_with_what_would_be_right() {
        let error = |failure: &str| {
            read(&format!("preset = \"spine144\"\nconvergence = \"1ms\"\nfailure = [{failure}]")).unwrap_err()
        };
        let cases = [
            (
                "{ link = \"leaf0->spine9\", at = \"1ms\" }",
                "failure[0].link: ",
                "did you mean \"leaf0->spine",
            ),
            ("{ switch = \"spin1\", at = \"1ms\" }", "failure[0].switch: ", "did you mean \"spine1\"?"),
            ("{ switch = \"host3\", at = \"1ms\" }", "failure[0].switch: ", "write link = \"host3->leaf0\""),
            ("{ at = \"1ms\" }", "failure[0].link: ", "say which link fails, or which switch"),
            (
                "{ link = \"leaf0->spine1\", switch = \"spine0\", at = \"1ms\" }",
                "failure[0].switch: ",
                "a failure for each",
            ),
            (
                "{ switch = \"spine0\", at = \"2ms\", until = \"1ms\" }",
                "failure[0].until: ",
                "later than at = 2ms",
            ),
        ];
        for (failure, field, what) in cases {
            let said = error(failure);
            assert!(said.starts_with(field) && said.contains(what), "{said}");
        }
        let said = read(
            "preset = \"spine144\"\nload_balancing = \"flowcell\"\nconvergence = \"0s\"\nfailure = [{ switch = \"spine0\", at = \"1ms\" }]",
        );
        assert!(said.unwrap_err().starts_with("load_balancing: is \"flowcell\""));
    }
}
