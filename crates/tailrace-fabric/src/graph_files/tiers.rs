//! htsim's .topo: a fat tree of two or three tiers by what the switches of each have.

use std::collections::BTreeMap;

use tailrace_config::ScenarioError;

use super::drawn::{Attributes, Drawn, DrawnLink};
use crate::graph::{MAX_HOSTS, MAX_LINKS, MAX_SWITCHES};

fn wrong<T>(line: usize, message: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError { line: Some(line), ..ScenarioError::new("", message) })
}

/// A tier's fields, by name in small letters, with their lines.
type Fields = BTreeMap<String, (u64, usize)>;

const OF_FILE: [&str; 3] = ["nodes", "tiers", "podsize"];
const OF_TIER: [&str; 11] = [
    "downlink_speed_gbps",
    "downlink_latency_ns",
    "radix_down",
    "radix_up",
    "bundle",
    "switch_latency_ns",
    "oversubscribed",
    "queue_up",
    "queue_down",
    "queue_down_kb",
    "queue_up_kb",
];

/// Reads a fat tree. The `j`-th aggregation switch of every pod has its links to the `j`-th part of the core.
pub(super) fn read(text: &str) -> Result<Drawn, ScenarioError> {
    let (file, tiers) = fields(text)?;
    let shape = Shape::of(&file, &tiers)?;
    shape.check()?;
    let Shape { hosts, pods, tors, aggs, cores_of_agg, under_tor, bundles } = shape;
    let upper = if cores_of_agg > 0 { "agg" } else { "spine" };
    let mut drawn = Drawn::default();
    for (name, count) in
        [("host", hosts), ("tor", pods * tors), (upper, pods * aggs), ("core", aggs * cores_of_agg)]
    {
        let role = if name == "host" { "host" } else { "switch" };
        let node = |number| (format!("{name}{number}"), [("type".to_owned(), role.to_owned())].into());
        drawn.nodes.extend((0..count).map(node));
    }
    let mut link = |tier: usize, from: (&str, u64), to: (&str, u64)| -> Result<(), ScenarioError> {
        let ends = [from, to].map(|(name, number)| format!("{name}{number}"));
        let link = DrawnLink { ends, attributes: attributes(&tiers[tier], tier)?, line: None };
        drawn.links.extend(std::iter::repeat_n(link, bundles[tier] as usize));
        Ok(())
    };
    for host in 0..hosts {
        link(0, ("host", host), ("tor", host / under_tor))?;
    }
    for (tor, agg) in (0..pods * tors).flat_map(|tor| (0..aggs).map(move |agg| (tor, agg))) {
        link(1, ("tor", tor), (upper, tor / tors * aggs + agg))?;
    }
    for (agg, core) in (0..pods * aggs).flat_map(|agg| (0..cores_of_agg).map(move |core| (agg, core))) {
        link(2, ("agg", agg), ("core", agg % aggs * cores_of_agg + core))?;
    }
    Ok(drawn)
}

/// Rate and delay of a tier's links down.
fn attributes(tier: &Fields, number: usize) -> Result<Attributes, ScenarioError> {
    let get = |name: &str| match tier.get(name) {
        Some((value, _)) => Ok(value.to_string()),
        None => Err(ScenarioError::new("", format!("{name} of tier {number} is missing"))),
    };
    let rate = ("rate_gbps".to_owned(), get("downlink_speed_gbps")?);
    Ok([rate, ("delay_ns".to_owned(), get("downlink_latency_ns")?)].into())
}

/// How many there are of what.
struct Shape {
    hosts: u64,
    pods: u64,
    /// Of a pod.
    tors: u64,
    aggs: u64,
    /// None in two tiers.
    cores_of_agg: u64,
    /// Hosts.
    under_tor: u64,
    /// Links side by side, by the tier that they lead down from.
    bundles: [u64; 3],
}

impl Shape {
    fn of(file: &Fields, tiers: &[Fields]) -> Result<Self, ScenarioError> {
        let (hosts, count) = (get(file, "nodes", 2)?, get(file, "tiers", 2)?);
        if tiers.len() as u64 != count || count > 3 {
            let message = format!("Tiers is {count}, and there are {}: there must be 2 or 3", tiers.len());
            return Err(ScenarioError::new("", message));
        }
        for (tier, fields) in tiers.iter().enumerate() {
            if let Some(&(latency @ 1.., line)) = fields.get("switch_latency_ns") {
                let message = format!(
                    "Switch_Latency_ns is {latency}: switches take no time here; add it to the links of tier {tier}"
                );
                return wrong(line, message);
            }
        }
        let pod = if count == 3 { get(file, "podsize", 1)? } else { hosts };
        let down = |tier: usize| get(&tiers[tier], "radix_down", 1);
        let up = |tier: usize| get(&tiers[tier], "radix_up", 1);
        let mut bundles = [1; 3];
        for (tier, bundle) in tiers.iter().zip(&mut bundles).filter(|(tier, _)| tier.contains_key("bundle")) {
            *bundle = get(tier, "bundle", 1)?;
        }
        let tors = parts(pod, down(0)?, "Podsize by Radix_Down of tier 0")?;
        let aggs = parts(tors * up(0)?, down(1)?, "links of a pod's first tier by Radix_Down of tier 1")?;
        let pods = parts(hosts, pod, "Nodes by Podsize")?;
        is_that(
            up(0)?,
            "Radix_Up of tier 0",
            aggs * bundles[1],
            "all switches above times Bundle of tier 1",
        )?;
        let mut cores_of_agg = 0;
        if count == 3 {
            cores_of_agg = parts(up(1)?, bundles[2], "Radix_Up of tier 1 by Bundle of tier 2")?;
            is_that(down(2)?, "Radix_Down of tier 2", pods * bundles[2], "all pods times Bundle of tier 2")?;
        }
        Ok(Shape { hosts, pods, tors, aggs, cores_of_agg, under_tor: down(0)?, bundles })
    }

    /// Refuses what would take long to draw only to be refused then.
    fn check(&self) -> Result<(), ScenarioError> {
        let Shape { hosts, pods, tors, aggs, cores_of_agg, bundles, .. } = self;
        let switches = pods * (tors + aggs) + aggs * cores_of_agg;
        if switches > MAX_SWITCHES {
            let message = format!("has {switches} switches, but there may be {MAX_SWITCHES}");
            return Err(ScenarioError::new("", message));
        }
        let links = hosts * bundles[0] + pods * aggs * (tors * bundles[1] + cores_of_agg * bundles[2]);
        if links > MAX_LINKS {
            let message = format!("has {links} links, but there may be {MAX_LINKS}");
            return Err(ScenarioError::new("", message));
        }
        Ok(())
    }
}

fn get(fields: &Fields, name: &str, least: u64) -> Result<u64, ScenarioError> {
    match fields.get(name) {
        Some(&(value, _)) if (least..=MAX_HOSTS).contains(&value) => Ok(value),
        Some(&(value, line)) => wrong(line, format!("{name} is {value}, but must be {least} to {MAX_HOSTS}")),
        None => Err(ScenarioError::new("", format!("{name} is missing"))),
    }
}

fn parts(all: u64, each: u64, what: &str) -> Result<u64, ScenarioError> {
    if all.is_multiple_of(each) {
        return Ok(all / each);
    }
    Err(ScenarioError::new("", format!("{what}: {all} cannot be divided by {each}")))
}

fn is_that(value: u64, field: &str, right: u64, because: &str) -> Result<(), ScenarioError> {
    if value == right {
        return Ok(());
    }
    Err(ScenarioError::new("", format!("{field} is {value}, but must be {right}: {because}")))
}

/// The fields of the file, and those of its tiers.
fn fields(text: &str) -> Result<(Fields, Vec<Fields>), ScenarioError> {
    let (mut file, mut tiers) = (Fields::new(), Vec::<Fields>::new());
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, value] = words[..] else { return wrong(line, "must be a name and a number") };
        let Ok(number) = value.parse::<u64>() else {
            return wrong(line, format!("{value:?} is no whole number"));
        };
        let name = name.to_lowercase();
        if name == "tier" {
            if number as usize != tiers.len() {
                return wrong(line, format!("tier {number} where tier {} is due", tiers.len()));
            }
            tiers.push(Fields::new());
            continue;
        }
        let (fields, known) = match tiers.last_mut() {
            None => (&mut file, &OF_FILE[..]),
            Some(tier) => (tier, &OF_TIER[..]),
        };
        if !known.contains(&name.as_str()) {
            return wrong(line, format!("{name:?} is none of {}", known.join(", ")));
        }
        if fields.insert(name.clone(), (number, line)).is_some() {
            return wrong(line, format!("{name} is there twice"));
        }
    }
    Ok((file, tiers))
}
