//! By what `tailrace measure` groups connections.

use std::collections::BTreeMap;
use std::path::Path;

use tailrace_bpf::{Connection, Rule, cgroup_names};
use tailrace_config::ScenarioError;

use super::known;
use crate::error::in_file;
use crate::{AgentConfig, Error};

/// By what connections are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The port of the end that was asked: the service.
    Port,
    /// The cgroup (version 2) of the socket.
    Cgroup,
    /// The slice, by the rules of an agent's file.
    Slice,
}

/// How connections are grouped, and what groups are called.
pub struct Grouped {
    by: Option<By>,
    /// Those that give slices.
    rules: Vec<Rule>,
    cgroups: Cgroups,
}

/// Paths by number, and numbers by path.
#[derive(Default)]
struct Cgroups {
    names: BTreeMap<u64, String>,
    numbers: BTreeMap<String, u64>,
}

impl Grouped {
    /// Reads the rules of the agent's file `rules`, which groups by slice need.
    pub fn of(by: Option<By>, rules: Option<&Path>) -> Result<Self, Error> {
        let rules = match (by, rules) {
            (Some(By::Slice), None) => {
                let message = "is needed by --by slice: an agent's file, whose [[rule]]s say which connections are of which slice";
                return Err(ScenarioError::new("--rules", message).into());
            }
            (Some(By::Slice), Some(file)) => slice_rules(file)?,
            (_, Some(_)) => return Err(ScenarioError::new("--rules", "is for --by slice only").into()),
            (_, None) => Vec::new(),
        };
        let mut cgroups = Cgroups::default();
        if matches!(by, Some(By::Slice | By::Cgroup)) {
            cgroups.look();
        }
        Ok(Grouped { by, rules, cgroups })
    }

    /// The group of a connection, if they are grouped.
    pub fn group(&mut self, connection: &Connection) -> Option<u64> {
        Some(match self.by? {
            By::Port => connection.service().into(),
            By::Cgroup => connection.cgroup,
            By::Slice => {
                let above = self.cgroups.from(connection.cgroup);
                slice(&self.rules, &above, [connection.local.1, connection.remote.1])
            }
        })
    }

    /// What a group is called. Of cgroups those that are there now have names.
    pub fn name(&self, group: u64) -> String {
        match self.by {
            Some(By::Cgroup) => {
                let name = self.cgroups.names.get(&group).cloned();
                name.unwrap_or_else(|| format!("cgroup {group}, which is gone"))
            }
            Some(By::Slice) if group == 0 => "no slice".to_owned(),
            Some(By::Slice) => format!("slice {group}"),
            Some(By::Port) | None => group.to_string(),
        }
    }

    /// Looks which cgroups there are, for their names.
    pub fn look(&mut self) {
        if self.by == Some(By::Cgroup) {
            self.cgroups.look();
        }
    }
}

fn slice_rules(file: &Path) -> Result<Vec<Rule>, Error> {
    let config = AgentConfig::read(file)?;
    let rules = known::rules(&config).map_err(|error| in_file(error.into(), file))?;
    // What a program alone may say of its flows has no slice.
    let rules: Vec<Rule> =
        rules.into_iter().filter(|rule| rule.slice.is_some() || rule.size.is_some()).collect();
    match rules.is_empty() {
        true => Err(in_file(
            ScenarioError::new("rule", "is missing: no [[rule]] says which connections are of which slice")
                .into(),
            file,
        )),
        false => Ok(rules),
    }
}

impl Cgroups {
    fn look(&mut self) {
        self.names = cgroup_names();
        self.numbers = self.names.iter().map(|(number, name)| (name.clone(), *number)).collect();
    }

    /// A cgroup and those above it, the deepest first.
    fn from(&mut self, number: u64) -> Vec<u64> {
        if number != 0 && !self.names.contains_key(&number) {
            self.look();
            // Once: it may be gone.
            self.names.entry(number).or_insert_with(|| format!("/cgroup {number}, which is gone"));
        }
        let Some(name) = self.names.get(&number) else { return Vec::new() };
        let above =
            Path::new(name).ancestors().skip(1).filter_map(|path| self.numbers.get(path.to_str()?).copied());
        std::iter::once(number).chain(above).collect()
    }
}

/// The slice of a socket with these ports, near and far, by rules as the kernel reads them (bpf/known.h): the deepest cgroup that has
/// one counts, and there one with a port goes before one without.
fn slice(rules: &[Rule], above: &[u64], [near, far]: [u16; 2]) -> u64 {
    let of = |cgroup: Option<u64>, port: Option<u16>| {
        rules.iter().find(|rule| rule.cgroup.map(|cgroup| cgroup.id) == cgroup && rule.port == port)
    };
    let cgroups = above.iter().map(|number| Some(*number)).chain([None]);
    let found = cgroups.flat_map(|cgroup| [Some(near), Some(far), None].map(|port| (cgroup, port)));
    found
        .filter_map(|(cgroup, port)| of(cgroup, port))
        .map(|rule| rule.slice.map_or(0, u64::from))
        .next()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use tailrace_bpf::Cgroup;

    use super::*;

    fn rule(cgroup: Option<u64>, port: Option<u16>, slice: u16) -> Rule {
        let cgroup = cgroup.map(|id| Cgroup { id, level: 1 });
        Rule { cgroup, port, slice: Some(slice), size: None, deadline: None }
    }

    #[test]
    fn the_deepest_cgroup_counts_and_there_a_port() {
        let rules = [
            rule(None, Some(80), 1),
            rule(Some(10), None, 2),
            rule(Some(10), Some(80), 3),
            rule(Some(11), None, 4),
        ];
        // 11 is below 10, which is below the root, 1.
        for (above, ports, expected) in [
            (&[][..], [80, 5_000], 1),
            (&[], [5_000, 80], 1),
            (&[], [5_000, 81], 0),
            (&[10, 1], [5_000, 81], 2),
            (&[10, 1], [5_000, 80], 3),
            (&[11, 10, 1], [80, 5_000], 4),
            (&[12, 1], [80, 5_000], 1),
        ] {
            assert_eq!(slice(&rules, above, ports), expected, "{above:?} {ports:?}");
        }
    }

    #[test]
    fn a_cgroup_is_below_those_of_its_path() {
        let mut cgroups = Cgroups::default();
        for (number, name) in [(1, "/"), (10, "/a"), (11, "/a/b"), (12, "/ab")] {
            cgroups.names.insert(number, name.to_owned());
            cgroups.numbers.insert(name.to_owned(), number);
        }
        assert_eq!(cgroups.from(11), [11, 10, 1]);
        assert_eq!(cgroups.from(12), [12, 1]);
        assert_eq!(cgroups.from(1), [1]);
        assert!(cgroups.from(0).is_empty());
    }
}
