//! A graph as files of others draw it: nodes and links with attributes that are called this or that.

use std::collections::{BTreeMap, BTreeSet};

use tailrace_config::ScenarioError;
use tailrace_core::{Rate, Time};
use toml::{Table, Value};

use crate::graph::Units;

/// Attributes by name.
pub(super) type Attributes = BTreeMap<String, String>;

/// A graph with its attributes, as it stands in a file.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// Nodes by what links call them.
    pub(super) nodes: Vec<(String, Attributes)>,
    pub(super) links: Vec<DrawnLink>,
    /// Whether each link stands there once for either direction.
    pub(super) directed: bool,
    /// Whether the label is a node's name and its id a mere number (GML).
    pub(super) called_by_label: bool,
    /// What the file says of itself.
    pub(super) attributes: Attributes,
}

#[derive(Clone, Debug)]
pub(super) struct DrawnLink {
    pub(super) ends: [String; 2],
    pub(super) attributes: Attributes,
    /// Where it stands in the file, if that helps.
    pub(super) line: Option<usize>,
}

const ROLES: [&str; 7] = ["type", "kind", "role", "node_type", "device", "category", "layer"];
const HOSTS: [&str; 7] = ["host", "server", "end host", "endhost", "compute", "gpu", "h"];
const SWITCHES: [&str; 15] = [
    "switch",
    "tor",
    "leaf",
    "spine",
    "edge",
    "agg",
    "aggr",
    "aggregation",
    "core",
    "router",
    "fabric",
    "superspine",
    "intermediate",
    "s",
    "sw",
];
const RATES: [&str; 5] = ["rate", "capacity", "bandwidth", "speed", "bw"];
const DELAYS: [&str; 4] = ["delay", "latency", "propagation", "propagation_delay"];
const METRICS: [&str; 2] = ["metric", "cost"];
const WEIGHTS: [&str; 1] = ["ecmp_weight"];

/// An attribute by one of its names, in small letters or large ones.
fn get<'a>(attributes: &'a Attributes, names: &[&str]) -> Option<(&'a String, &'a String)> {
    names.iter().find_map(|name| attributes.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)))
}

fn wrong<T>(message: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError::new("", message))
}

impl Drawn {
    /// The fields of `[fabric]` that it amounts to.
    pub(super) fn table(mut self, units: &Units) -> Result<Table, ScenarioError> {
        if self.links.is_empty() {
            return wrong("has no links: hosts need some to send over");
        }
        self.rename()?;
        if self.directed {
            self.links = one_for_both(std::mem::take(&mut self.links))?;
        }
        self.refuse_weights()?;
        let of_file = |unit: &str| self.attributes.get(unit).cloned();
        let units = Units {
            rate: units.rate.clone().or_else(|| of_file("capacity_unit")),
            delay: units.delay.clone().or_else(|| of_file("delay_unit")),
        };
        let hosts = self.are_hosts()?;
        let named = |host: bool| {
            let some = self.nodes.iter().map(|(name, _)| name).filter(|name| hosts[*name] == host);
            Value::Array(some.map(|name| Value::String(name.clone())).collect())
        };
        let links = self
            .links
            .iter()
            .map(|link| link.table(&units).map_err(|error| ScenarioError { line: link.line, ..error }));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let fields = [("hosts", named(true)), ("switches", named(false)), ("link", Value::Array(links))];
        Ok(fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect())
    }

    /// Calls nodes by their labels, if each has its own, and else as the file's links do.
    fn rename(&mut self) -> Result<(), ScenarioError> {
        let mut seen = BTreeSet::new();
        if let Some((twice, _)) = self.nodes.iter().find(|(id, _)| !seen.insert(id)) {
            return wrong(format!("node {twice:?} is there twice"));
        }
        let names = self.labels()?;
        for link in &mut self.links {
            for end in &mut link.ends {
                let Some(name) = names.get(end) else {
                    let message = format!("a link leads to {end:?}, which is no node");
                    return Err(ScenarioError { line: link.line, ..ScenarioError::new("", message) });
                };
                end.clone_from(name);
            }
        }
        self.nodes.iter_mut().for_each(|(id, _)| id.clone_from(&names[id]));
        Ok(())
    }

    fn labels(&self) -> Result<BTreeMap<String, String>, ScenarioError> {
        for label in ["name", "label"] {
            let of = |(id, attributes): &(String, Attributes)| {
                Some((id.clone(), get(attributes, &[label])?.1.clone()))
            };
            let labels: BTreeMap<String, String> = self.nodes.iter().filter_map(of).collect();
            let mut seen = BTreeSet::new();
            let twice = labels.values().find(|name| !seen.insert(*name));
            match twice {
                _ if labels.len() < self.nodes.len() => {}
                None => return Ok(labels),
                Some(name) if self.called_by_label && label == "label" => {
                    return wrong(format!("two nodes are called {name:?}: a node has a name of its own"));
                }
                Some(_) => {}
            }
        }
        Ok(self.nodes.iter().map(|(id, _)| (id.clone(), id.clone())).collect())
    }

    /// Whether each node is a host: as its attribute says, or else if it has but one link.
    fn are_hosts(&self) -> Result<BTreeMap<String, bool>, ScenarioError> {
        let role = |attributes: &Attributes| get(attributes, &ROLES).map(|(_, role)| role.clone());
        let said: Vec<Option<String>> = self.nodes.iter().map(|(_, attributes)| role(attributes)).collect();
        let mut links: BTreeMap<&str, usize> = BTreeMap::new();
        self.links.iter().flat_map(|link| &link.ends).for_each(|end| *links.entry(end).or_default() += 1);
        let none_says = said.iter().all(Option::is_none);
        let mut hosts = BTreeMap::new();
        for ((id, _), role) in self.nodes.iter().zip(said) {
            let host = match role.map(|role| role.to_lowercase()) {
                None if none_says => links.get(id.as_str()) == Some(&1),
                None => {
                    return wrong(format!(
                        "node {id:?} does not say what it is, as others do: give it type = \"host\" or \"switch\""
                    ));
                }
                Some(role) if HOSTS.contains(&role.as_str()) => true,
                Some(role) if SWITCHES.contains(&role.as_str()) => false,
                Some(role) => {
                    let message = format!(
                        "node {id:?} is a {role:?}: neither a host ({}) nor a switch ({})",
                        HOSTS.join(", "),
                        SWITCHES.join(", ")
                    );
                    return wrong(message);
                }
            };
            hosts.insert(id.clone(), host);
        }
        if !hosts.values().any(|host| *host) {
            return wrong("has no hosts: no node says type = \"host\", and none has just one link");
        }
        Ok(hosts)
    }

    /// `weight` may be a metric or a share of ECMP.
    fn refuse_weights(&self) -> Result<(), ScenarioError> {
        let weights: BTreeSet<_> = self.links.iter().map(|link| get(&link.attributes, &["weight"])).collect();
        match self.links.iter().find(|link| weights.len() > 1 && get(&link.attributes, &["weight"]).is_some())
        {
            None => Ok(()),
            Some(link) => {
                let message = format!(
                    "the link of {:?} and {:?} has a weight, which may be a way's length or a share of traffic: call it metric or ecmp_weight",
                    link.ends[0], link.ends[1]
                );
                Err(ScenarioError { line: link.line, ..ScenarioError::new("", message) })
            }
        }
    }
}

impl DrawnLink {
    fn table(&self, units: &Units) -> Result<Value, ScenarioError> {
        let mut table = Table::new();
        let ends = self.ends.iter().map(|end| Value::String(end.clone())).collect();
        table.insert("ends".to_owned(), Value::Array(ends));
        if let Some(rate) = self.quantity(&RATES, "rate", units.rate.as_deref(), rate)? {
            table.insert("rate".to_owned(), Value::String(rate.to_string()));
        }
        if let Some(delay) = self.quantity(&DELAYS, "delay", units.delay.as_deref(), delay)? {
            table.insert("delay".to_owned(), Value::String(delay.to_string()));
        }
        for (names, field) in [(&METRICS[..], "metric"), (&WEIGHTS[..], "ecmp_weight")] {
            let Some((name, value)) = get(&self.attributes, names) else { continue };
            match value.parse::<f64>() {
                Ok(number) if number.fract() == 0.0 && (1.0..1e9).contains(&number) => {
                    table.insert(field.to_owned(), Value::Integer(number as i64));
                }
                _ => {
                    return wrong(format!(
                        "{}: {name} is {value:?}, but must be a whole number from 1 on",
                        self.called()
                    ));
                }
            }
        }
        Ok(Value::Table(table))
    }

    fn called(&self) -> String {
        format!("the link of {:?} and {:?}", self.ends[0], self.ends[1])
    }

    /// An attribute by one of its names, which may end in a unit.
    fn quantity<T>(
        &self,
        names: &[&str],
        what: &str,
        unit: Option<&str>,
        parse: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ScenarioError> {
        let mut found = self.attributes.iter().filter_map(|(attribute, value)| {
            let lower = attribute.to_lowercase();
            let of = names.iter().filter(|name| lower.starts_with(**name)).max_by_key(|name| name.len())?;
            // Its capitals tell bytes from bits.
            let rest = attribute.get(of.len()..)?;
            let unit = rest.trim_start_matches(['_', ' ', '(', '-']).trim_end_matches(')');
            let is_unit = unit.len() < rest.len() || parse(&format!("1{unit}")).is_some();
            (rest.is_empty() || is_unit).then(|| (attribute, value, unit.to_owned()))
        });
        let Some((attribute, value, own)) = found.next() else { return Ok(None) };
        if let Some((other, ..)) = found.next() {
            return wrong(format!("{} has {attribute} and {other}: give one of them", self.called()));
        }
        let text = value.trim();
        let unit = if own.is_empty() { unit } else { Some(own.as_str()) };
        let number = text.parse::<f64>().is_ok();
        let read = match (number, unit) {
            (false, _) => parse(text),
            (true, Some(unit)) => parse(&format!("{text}{unit}")),
            (true, None) => {
                let example = if what == "rate" { "rate = \"Gbps\"" } else { "delay = \"us\"" };
                let message = format!(
                    "{}: {attribute} is {text}, of what? Give it a unit, or [fabric] units = {{ {example} }}",
                    self.called()
                );
                return wrong(message);
            }
        };
        match read {
            Some(read) => Ok(Some(read)),
            None => wrong(format!(
                "{}: {attribute} is {text:?}, which is no {what} such as {}",
                self.called(),
                if what == "rate" { "\"10Gbps\"" } else { "\"1us\"" }
            )),
        }
    }
}

/// A rate in the ways in which people write one: bits a second, since with B it would be bytes.
pub(super) fn rate(text: &str) -> Option<Rate> {
    let (number, unit) = split(text)?;
    if unit.contains('B') {
        return None;
    }
    let unit = unit.to_lowercase();
    let unit =
        unit.trim_end_matches("/s").trim_end_matches("ps").trim_end_matches("its").trim_end_matches("it");
    let factor = match unit {
        "b" | "" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        _ => return None,
    };
    let bps = (number * factor).round();
    ((bps - number * factor).abs() < 1e-3 && (1.0..1e16).contains(&bps)).then(|| Rate::from_bps(bps as u64))
}

/// A delay in the ways in which people write one.
pub(super) fn delay(text: &str) -> Option<Time> {
    let (number, unit) = split(text)?;
    let factor = match unit.to_lowercase().as_str() {
        "ps" => 1.0,
        "ns" => 1e3,
        "us" | "µs" | "μs" => 1e6,
        "ms" => 1e9,
        "s" => 1e12,
        _ => return None,
    };
    (0.0..1e18).contains(&(number * factor)).then(|| Time::from_ps((number * factor).round() as u64))
}

/// A number, which may have an exponent, and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let ends = (1..=text.len()).rev().filter(|&end| text.is_char_boundary(end));
    let number = ends.filter_map(|end| Some((text[..end].parse::<f64>().ok()?, end))).next();
    number.map(|(number, end)| (number, text[end..].trim()))
}

/// Of links that stand there for each direction, those from the node that comes first; both must say the same.
fn one_for_both(links: Vec<DrawnLink>) -> Result<Vec<DrawnLink>, ScenarioError> {
    let mut waiting: BTreeMap<[String; 2], Vec<usize>> = BTreeMap::new();
    let mut kept: Vec<DrawnLink> = Vec::new();
    for link in links {
        let [a, b] = link.ends.clone();
        let other = waiting.get_mut(&[b.clone(), a.clone()]).filter(|some| !some.is_empty());
        match other {
            None => {
                waiting.entry([a, b]).or_default().push(kept.len());
                kept.push(link);
            }
            Some(places) => {
                let place = places.remove(0);
                if kept[place].attributes != link.attributes {
                    let message = format!(
                        "the link from {a:?} to {b:?} is another than that back: links are the same both ways"
                    );
                    return Err(ScenarioError { line: link.line, ..ScenarioError::new("", message) });
                }
            }
        }
    }
    match waiting.iter().find(|(_, places)| !places.is_empty()) {
        Some(([a, b], _)) => wrong(format!(
            "is a directed graph in which a link leads from {a:?} to {b:?} and none back: links lead both ways"
        )),
        None => Ok(kept),
    }
}
