//! What a file's rules say of flows, as the programs in the kernel are told it.

use std::path::PathBuf;

use tailrace_agent::{Cgroup, Known, Rule, own_cgroup};
use tailrace_config::ScenarioError;
use tailrace_core::Reveals;
use tailrace_scenario::AgentConfig;

/// The rules, with cgroups as the kernel knows them.
pub fn rules(config: &AgentConfig) -> Result<Vec<Rule>, ScenarioError> {
    let of = |(number, rule): (usize, &tailrace_scenario::FlowRule)| {
        let cgroup = rule.cgroup.as_deref().map(own_cgroup).transpose();
        let cgroup = cgroup.map_err(|why| ScenarioError::new(format!("rule[{number}].cgroup"), why))?;
        let tailrace_scenario::FlowRule { port, slice, size, deadline, .. } = *rule;
        Ok(Rule { cgroup, port, slice, size, deadline })
    };
    config.rules.iter().enumerate().map(of).collect()
}

/// The cgroups whose connections have a law of their own.
pub fn law_cgroups(config: &AgentConfig) -> Result<Vec<Cgroup>, ScenarioError> {
    let of = |(number, path): (usize, &PathBuf)| {
        own_cgroup(path).map_err(|why| ScenarioError::new(format!("law.cgroups[{number}]"), why))
    };
    config.law.iter().flat_map(|law| law.cgroups.iter().enumerate()).map(of).collect()
}

/// Those of them that are there now, and what is to be said of the first that is not.
pub fn law_cgroups_there(config: &AgentConfig) -> (Vec<Cgroup>, Option<String>) {
    let paths = config.law.iter().flat_map(|law| &law.cgroups);
    let (mut there, mut lacks) = (Vec::new(), None);
    for found in paths.map(|path| own_cgroup(path)) {
        match found {
            Ok(cgroup) => there.push(cgroup),
            Err(why) => lacks = lacks.or(Some(why)),
        }
    }
    (there, lacks)
}

/// What a flow has revealed.
pub fn revealed(known: &Known) -> Reveals {
    match known {
        Known { size: None, .. } => Reveals::Nothing,
        Known { deadline: false, .. } => Reveals::Size,
        Known { deadline: true, .. } => Reveals::Deadline,
    }
}
