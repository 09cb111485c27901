//! Fabrics of any structure: hosts, switches and links by name.

mod check;
mod file_fields;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::{HostId, Rate, Time};
use toml::{Table, Value};

use super::routes::gcd;
use super::wiring::{Wire, Wiring};
use super::{Buffer, Fabric, LoadBalancing, Node, PortId, Racks};

pub(super) use check::{MAX_HOSTS, MAX_LINKS, MAX_SWITCHES};
pub(super) use file_fields::{FileFields, SHORTHANDS, Units};

/// A fabric of any structure: hosts with one link each, to a switch; switches and the links between them.
///
/// Packets take the ways of least metric. Hosts are numbered rack by rack: those of the switch that the first host
/// hangs on, then those of the next host's switch, and so on, else in the order given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The hosts' names.
    pub hosts: Vec<String>,
    /// The switches' names; those that links name, in their order, unless given.
    #[serde(default)]
    pub switches: Vec<String>,
    /// The links.
    #[serde(rename = "link")]
    pub links: Vec<Link>,
}

/// A link, the same in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The names of the nodes that it joins.
    pub ends: [String; 2],
    /// Its rate; that of `[fabric]` unless given.
    pub rate: Rate,
    /// Its delay; that of `[fabric]` unless given.
    pub delay: Time,
    /// What it adds to the length of a way: packets take the shortest. 1 unless given.
    #[serde(default = "one_u32", skip_serializing_if = "is_one")]
    pub metric: u32,
    /// How much it carries of what is divided among equal-cost links, beside the others. 1 unless given.
    #[serde(default = "one_u16", skip_serializing_if = "is_one")]
    pub ecmp_weight: u16,
}

fn one_u32() -> u32 {
    1
}

fn one_u16() -> u16 {
    1
}

fn is_one<T: PartialEq + From<u8>>(value: &T) -> bool {
    *value == T::from(1)
}

impl Graph {
    /// Puts switches that only links name into the list, and hosts rack by rack.
    pub(super) fn completed(mut self) -> Result<Self, ScenarioError> {
        self.check_names()?;
        let hosts: BTreeSet<&String> = self.hosts.iter().collect();
        if self.switches.is_empty() {
            let mut seen = BTreeSet::new();
            let named = self.links.iter().flat_map(|link| &link.ends);
            let switches = named.filter(|name| !hosts.contains(name) && seen.insert(*name));
            self.switches = switches.cloned().collect();
        }
        // A host's only link shares with no other.
        let (of_hosts, others): (Vec<_>, Vec<_>) =
            self.links.iter_mut().partition(|link| link.ends.iter().any(|end| hosts.contains(end)));
        of_hosts.into_iter().for_each(|link| link.ecmp_weight = 1);
        let divisor = others.iter().map(|link| link.ecmp_weight).fold(0, gcd).max(1);
        others.into_iter().for_each(|link| link.ecmp_weight /= divisor);
        self.check()?;
        let edges = self.edges();
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        let mut first = BTreeMap::new();
        edges.iter().enumerate().for_each(|(host, edge)| {
            first.entry(*edge).or_insert(host);
        });
        order.sort_by_key(|&host| first[&edges[host]]);
        self.hosts = order.into_iter().map(|host| self.hosts[host].clone()).collect();
        Ok(self)
    }

    /// That of a fabric: built, it is the same again.
    pub fn of(fabric: &Fabric) -> Self {
        let name = |node: Node| match node {
            Node::Host(host) => fabric.host_name(host).into_owned(),
            Node::Switch(switch) => fabric.switch_names[usize::from(switch)].clone(),
        };
        // A switch's ports are in the order of its links, so a link is due when its ports are at both ends.
        let mut next: BTreeMap<Node, PortId> = BTreeMap::new();
        fabric.ports.iter().zip(0..).for_each(|(spec, port)| {
            next.entry(spec.from).or_insert(port);
        });
        let mut links = Vec::with_capacity(fabric.ports.len() / 2);
        let mut ahead: Vec<PortId> = (0..fabric.ports.len() as PortId).rev().collect();
        while let Some(port) = ahead.pop() {
            let twin = fabric.twins[port as usize];
            let [spec, other] = [port, twin].map(|port| fabric.ports[port as usize]);
            if next[&spec.from] != port || next[&other.from] != twin {
                continue;
            }
            let ends = [name(other.from), name(spec.from)];
            let (metric, ecmp_weight) = (fabric.metrics[port as usize], fabric.weights[port as usize]);
            links.push(Link { ends, rate: spec.rate, delay: spec.delay, metric, ecmp_weight });
            for (node, port) in [(spec.from, port), (other.from, twin)] {
                next.insert(node, port + 1);
                let follows = fabric.ports.get(port as usize + 1).is_some_and(|spec| spec.from == node);
                ahead.extend(follows.then_some(port + 1));
            }
        }
        Graph {
            hosts: fabric.host_ids().map(|host| name(Node::Host(host))).collect(),
            switches: fabric.switch_names.clone(),
            links,
        }
    }

    /// The nodes by their names.
    fn nodes(&self) -> BTreeMap<&str, Node> {
        let hosts =
            self.hosts.iter().enumerate().map(|(number, name)| (name.as_str(), Node::Host(number as HostId)));
        let switches =
            self.switches.iter().zip(0..).map(|(name, number)| (name.as_str(), Node::Switch(number)));
        hosts.chain(switches).collect()
    }

    /// The switch that each host hangs on.
    fn edges(&self) -> Vec<u16> {
        let nodes = self.nodes();
        let mut edges = vec![0; self.hosts.len()];
        for link in &self.links {
            let [a, b] = [&link.ends[0], &link.ends[1]].map(|end| nodes[end.as_str()]);
            for ends in [(a, b), (b, a)] {
                if let (Node::Host(host), Node::Switch(edge)) = ends {
                    edges[host as usize] = edge;
                }
            }
        }
        edges
    }

    /// Which hosts share a switch.
    pub(super) fn racks(&self) -> Racks {
        Racks::of_sizes(self.edges().chunk_by(|a, b| a == b).map(|rack| rack.len() as u32))
    }

    /// Rates of the hosts' links.
    pub(super) fn host_rates(&self) -> Vec<Rate> {
        let nodes = self.nodes();
        let mut rates = vec![Rate::from_bps(1); self.hosts.len()];
        for link in &self.links {
            for end in &link.ends {
                if let Node::Host(host) = nodes[end.as_str()] {
                    rates[host as usize] = link.rate;
                }
            }
        }
        rates
    }

    /// Rate of a switch's hosts over the rate of its links to other switches, at the worst switch; 0 if there is but
    /// one switch.
    pub(super) fn oversubscription(&self) -> f64 {
        let nodes = self.nodes();
        let mut of_switch = vec![[0.0; 2]; self.switches.len()];
        for link in &self.links {
            let [a, b] = [&link.ends[0], &link.ends[1]].map(|end| nodes[end.as_str()]);
            for ends in [(a, b), (b, a)] {
                if let (Node::Switch(switch), other) = ends {
                    let side = usize::from(matches!(other, Node::Switch(_)));
                    of_switch[usize::from(switch)][side] += link.rate.bytes_per_sec();
                }
            }
        }
        of_switch.iter().filter(|[_, up]| *up > 0.0).map(|[down, up]| down / up).fold(0.0, f64::max)
    }

    /// The fabric. Switches are numbered in their order; a switch's ports are in the order of its links.
    pub(super) fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let nodes = self.nodes();
        let mut wiring = Wiring::new(self.switches.clone());
        wiring.name_hosts(self.hosts.clone());
        for Link { ends, rate, delay, metric, ecmp_weight: weight } in &self.links {
            let ends = [&ends[0], &ends[1]].map(|end| nodes[end.as_str()]);
            wiring.wire(Wire { ends, rate: *rate, delay: *delay, metric: *metric, weight: *weight });
        }
        let fabric = wiring.build(load_balancing, buffer);
        Fabric { two_way: fabric.routes.choices() > 0, ..fabric }
    }
}

/// `rate` and `delay` of `[fabric]` are short for those of all links that have none. A link without delay has
/// `delay`.
pub(super) fn spread(fields: &mut Table, delay: &Value) -> Result<(), ScenarioError> {
    if let Some(file) = fields.get("file") {
        let message =
            format!("is {file}, which has not been read: a graph's file is read with the scenario's own");
        return Err(ScenarioError::new("file", message));
    }
    // A mistake is this field's, not that of the links it stands for.
    let rate = FileFields::of(fields)?.rate.map(|rate| Value::String(rate.to_string()));
    fields.remove("rate");
    let Some(Value::Array(links)) = fields.get_mut("link") else { return Ok(()) };
    for (number, link) in links.iter_mut().enumerate() {
        let Value::Table(link) = link else { continue };
        for (field, value) in [("rate", rate.as_ref()), ("delay", Some(delay))] {
            if let (false, Some(value)) = (link.contains_key(field), value) {
                link.insert(field.to_owned(), value.clone());
            }
        }
        if !link.contains_key("rate") {
            let message = "is missing: give the link a rate, or [fabric] one for all links that have none";
            return Err(ScenarioError::new(format!("link[{number}].rate"), message));
        }
    }
    Ok(())
}
