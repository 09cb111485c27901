//! Agents at the hosts of a live fabric. Which programs they have in the kernel is not known here: whoever asks for a run starts them.

use tailrace_config::ScenarioError;
use tailrace_linux::{Hosts, INTERFACE, LiveError};
use tailrace_scenario::{AgentConfig, Scenario};

use crate::agent::{HostPart, for_agent, has_host_law};
use crate::error::RunError;

/// Starts an agent at each of a scenario's hosts.
pub type StartAgents = fn(&Scenario, &Hosts) -> Result<Box<dyn Agents>, RunError>;

/// Agents that run. They end when this value goes, and nothing of them is left.
pub trait Agents {
    /// Fails if one has ended by itself.
    fn check(&self) -> Result<(), LiveError>;
}

/// What the agent of a host of the scenario's fabric is told, and its part of the scheme, if agents can do that.
pub fn for_hosts(scenario: &Scenario) -> Result<(AgentConfig, HostPart), ScenarioError> {
    // Which law sends is said by who names one.
    let has_law = scenario.live.tcp_congestion.is_none() && has_host_law(scenario)?;
    let config = AgentConfig::of_host(INTERFACE, scenario, has_law);
    let part = for_agent(&config).map_err(|error| {
        let message = format!(
            "{}; leave the agents out (live.agent, --agents), or run the scenario with stack = \"tailrace\", whose hosts do \
             whatever schemes ask",
            error.message
        );
        ScenarioError { message, ..error }
    })?;
    Ok((config, part))
}
