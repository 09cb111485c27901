//! What a file's rules say of flows, as the programs in the kernel are told it.

use std::path::{Path, PathBuf};

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

/// The same as an agent that runs has them: the law stays with those with which it began, for a program is attached to each.
pub struct LawCgroups {
    began: Vec<Option<Cgroup>>,
    gone: Vec<bool>,
}

impl LawCgroups {
    pub fn of(config: &AgentConfig) -> Self {
        let began: Vec<_> = paths(config).map(|path| own_cgroup(path).ok()).collect();
        LawCgroups { gone: vec![false; began.len()], began }
    }

    /// Of each that is another one than at the start, once.
    pub fn notes(&mut self, config: &AgentConfig) -> Vec<String> {
        let all = paths(config).zip(&self.began).zip(&mut self.gone);
        let note = |((path, began), gone): ((&Path, &Option<Cgroup>), &mut bool)| {
            let is_gone = own_cgroup(path).ok() != *began;
            (is_gone && !std::mem::replace(gone, is_gone)).then(|| {
                format!(
                    "the cgroup {} of [law] is not the one with which the agent began: connections there do not have the law any \
                     more; start the agent again",
                    path.display()
                )
            })
        };
        all.filter_map(note).collect()
    }
}

fn paths(config: &AgentConfig) -> impl Iterator<Item = &Path> {
    config.law.iter().flat_map(|law| law.cgroups.iter().map(PathBuf::as_path))
}

/// What a flow has revealed.
pub fn revealed(known: &Known) -> Reveals {
    match known {
        Known { size: None, .. } => Reveals::Nothing,
        Known { deadline: false, .. } => Reveals::Size,
        Known { deadline: true, .. } => Reveals::Deadline,
    }
}
