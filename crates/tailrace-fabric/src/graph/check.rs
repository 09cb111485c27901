//! Whether nodes and links make a fabric.

use std::collections::BTreeMap;

use tailrace_config::{ScenarioError, suggest};

use super::Graph;
use crate::Node;
use crate::check::{self, Checked};

/// A way's length has 32 bits.
const LONGEST_METRIC: u32 = 1_000_000;
/// No two switches of a graph need be alike, and then route tables grow with the square of this.
pub(crate) const MAX_SWITCHES: u64 = 4_096;
/// What a file may have; none that is known comes near.
pub(crate) const MAX_HOSTS: u64 = 65_536;
/// A list of equal-cost ports has as many entries as their weights together.
const MAX_WEIGHT: u16 = 100;
/// Each has two ports.
pub(crate) const MAX_LINKS: u64 = 1 << 19;

fn wrong<T>(field: impl Into<String>, message: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError::new(field, message))
}

impl Graph {
    /// Each name is that of one node.
    pub(super) fn check_names(&self) -> Checked {
        let mut seen = BTreeMap::new();
        let lists = [("hosts", &self.hosts), ("switches", &self.switches)];
        for (list, names) in lists {
            for (place, name) in names.iter().enumerate() {
                let field = format!("{list}[{place}]");
                if name.trim().is_empty() {
                    return wrong(field, "is empty: a node needs a name");
                }
                if let Some(other) = seen.insert(name, field.clone()) {
                    return wrong(
                        field,
                        format!("is {name:?}, which {other} is too: a node has a name of its own"),
                    );
                }
            }
        }
        match self.hosts.len() as u64 {
            0 | 1 => wrong("hosts", format!("has {} of them, but flows need at least 2", self.hosts.len())),
            many if many > MAX_HOSTS => {
                wrong("hosts", format!("has {many} of them, but there may be {MAX_HOSTS}"))
            }
            _ => Ok(()),
        }
    }

    /// Links join nodes that there are, each host has one, and there is a way from every node to every other.
    pub(super) fn check(&self) -> Checked {
        let switches = self.switches.len() as u64;
        if switches > MAX_SWITCHES {
            return wrong("switches", format!("has {switches} of them, but there may be {MAX_SWITCHES}"));
        }
        let links = self.links.len() as u64;
        if links > MAX_LINKS {
            return wrong("link", format!("has {links} of them, but there may be {MAX_LINKS}"));
        }
        let nodes = self.nodes();
        for (place, link) in self.links.iter().enumerate() {
            self.check_link(&nodes, place).map_err(|error| error.within(&format!("link[{place}]")))?;
            check::rate("rate", link.rate).map_err(|error| error.within(&format!("link[{place}]")))?;
            check::delay("delay", link.delay).map_err(|error| error.within(&format!("link[{place}]")))?;
        }
        self.check_host_links(&nodes)?;
        self.check_reach(&nodes)
    }

    fn check_link(&self, nodes: &BTreeMap<&str, Node>, place: usize) -> Checked {
        let link = &self.links[place];
        let [a, b] = &link.ends;
        for end in &link.ends {
            if !nodes.contains_key(end.as_str()) {
                let message = suggest::unknown("node", end, nodes.keys().copied());
                return wrong("ends", message);
            }
        }
        if a == b {
            return wrong("ends", format!("are {a:?} twice: a link joins two nodes"));
        }
        if let [Node::Host(_), Node::Host(_)] = [nodes[a.as_str()], nodes[b.as_str()]] {
            return wrong("ends", format!("are the hosts {a:?} and {b:?}: a host's link leads to a switch"));
        }
        if !(1..=LONGEST_METRIC).contains(&link.metric) {
            return wrong("metric", format!("is {}, but must be 1 to {LONGEST_METRIC}", link.metric));
        }
        if !(1..=MAX_WEIGHT).contains(&link.ecmp_weight) {
            return wrong(
                "ecmp_weight",
                format!(
                    "is {} where all have no common divisor, but must be 1 to {MAX_WEIGHT}",
                    link.ecmp_weight
                ),
            );
        }
        Ok(())
    }

    fn check_host_links(&self, nodes: &BTreeMap<&str, Node>) -> Checked {
        let mut links = vec![0_u32; self.hosts.len()];
        for (place, end) in self
            .links
            .iter()
            .enumerate()
            .flat_map(|(place, link)| link.ends.iter().map(move |end| (place, end)))
        {
            if let Node::Host(host) = nodes[end.as_str()] {
                links[host as usize] += 1;
                if links[host as usize] == 2 {
                    let message = format!(
                        "is another of host {end:?}: a host has one link; leave out all others of its"
                    );
                    return wrong(format!("link[{place}]"), message);
                }
            }
        }
        match links.iter().position(|&links| links == 0) {
            Some(host) => {
                wrong(format!("hosts[{host}]"), format!("is {:?}, which has no link", self.hosts[host]))
            }
            None => Ok(()),
        }
    }

    /// From the first host's switch all others are reached.
    fn check_reach(&self, nodes: &BTreeMap<&str, Node>) -> Checked {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.switches.len()];
        for link in &self.links {
            if let [Node::Switch(a), Node::Switch(b)] =
                [&link.ends[0], &link.ends[1]].map(|end| nodes[end.as_str()])
            {
                next[usize::from(a)].push(usize::from(b));
                next[usize::from(b)].push(usize::from(a));
            }
        }
        let start = usize::from(self.edges()[0]);
        let (mut reached, mut ahead) = (vec![false; self.switches.len()], vec![start]);
        while let Some(switch) = ahead.pop() {
            if !std::mem::replace(&mut reached[switch], true) {
                ahead.extend(&next[switch]);
            }
        }
        match reached.iter().position(|&reached| !reached) {
            Some(switch) => {
                let (from, to) = (&self.switches[start], &self.switches[switch]);
                wrong(
                    format!("switches[{switch}]"),
                    format!("is {to:?}, to which no links lead from {from:?}"),
                )
            }
            None => Ok(()),
        }
    }
}
