//! What a file's rules say of flows, as the programs in the kernel are told it.

use tailrace_agent::{Known, Rule, own_cgroup};
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

/// What a flow has revealed.
pub fn revealed(known: &Known) -> Reveals {
    match known {
        Known { size: None, .. } => Reveals::Nothing,
        Known { deadline: false, .. } => Reveals::Size,
        Known { deadline: true, .. } => Reveals::Deadline,
    }
}
