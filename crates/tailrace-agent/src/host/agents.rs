//! Agents at the hosts of a live fabric. Which programs they have in the kernel is not known here: whoever asks for a run starts them.

use std::time::Duration;

use tailrace_core::LiveError;
use tailrace_linux::Hosts;
use tailrace_scenario::Scenario;

use tailrace_run::RunError;

/// How often agents at hosts of a live fabric look for what there is to do.
pub const AGENTS_LOOK_EVERY: Duration = Duration::from_millis(50);

/// Starts an agent at each of a scenario's hosts.
pub type StartAgents = fn(&Scenario, &Hosts) -> Result<Box<dyn Agents>, RunError>;

/// Agents that run. They end when this value goes, and nothing of them is left.
pub trait Agents {
    /// Fails if one has ended by itself.
    fn check(&self) -> Result<(), LiveError>;
}
