//! What a file's rules say of flows, as the programs in the kernel are told it.

use std::path::PathBuf;

use tailrace_bpf::{Cgroup, Chosen, Known, Network, Rule, check_rules, own_cgroup};
use tailrace_config::ScenarioError;
use tailrace_core::Reveals;

use crate::AgentConfig;

/// The rules, with cgroups as the kernel knows them.
pub fn rules(config: &AgentConfig) -> Result<Vec<Rule>, ScenarioError> {
    let rules: Vec<Rule> = found(config).collect::<Result<_, _>>()?;
    check_rules(&rules).map_err(|[field, message]| ScenarioError::new(field, message))?;
    Ok(rules)
}

/// The same, where each whose cgroup is not there is as it was; and what is to be said of the first such one.
pub fn rules_now(config: &AgentConfig, before: &[Rule]) -> (Vec<Rule>, Option<String>) {
    let (mut rules, mut lacks) = (Vec::new(), None);
    for (found, before) in found(config).zip(before) {
        match found {
            Ok(rule) => rules.push(rule),
            Err(error) => {
                rules.push(*before);
                lacks = lacks.or(Some(error.to_string()));
            }
        }
    }
    (rules, lacks)
}

fn found(config: &AgentConfig) -> impl Iterator<Item = Result<Rule, ScenarioError>> {
    config.rules.iter().enumerate().map(|(number, rule)| {
        let cgroup = rule.cgroup.as_deref().map(own_cgroup).transpose();
        let cgroup = cgroup.map_err(|why| ScenarioError::new(format!("rule[{number}].cgroup"), why))?;
        let crate::FlowRule { port, slice, size, deadline, .. } = *rule;
        Ok(Rule { cgroup, port, slice, size, deadline })
    })
}

/// The cgroups whose connections have a law of their own.
fn law_cgroups(config: &AgentConfig) -> Result<Vec<Cgroup>, ScenarioError> {
    let of = |(number, path): (usize, &PathBuf)| {
        own_cgroup(path).map_err(|why| ScenarioError::new(format!("law.cgroups[{number}]"), why))
    };
    config.law.iter().flat_map(|law| law.cgroups.iter().enumerate()).map(of).collect()
}

/// The connections that have the law.
pub fn chosen(config: &AgentConfig) -> Result<Chosen, ScenarioError> {
    let to = config.law.iter().flat_map(|law| &law.to);
    let networks = to.map(|of| Network { address: of.first(), bits: of.bits() }).collect();
    let chosen = Chosen { cgroups: law_cgroups(config)?, networks };
    chosen.check().map_err(|[field, message]| ScenarioError::new(field, message))?;
    Ok(chosen)
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
