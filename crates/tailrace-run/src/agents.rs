//! Agents at the hosts of a live fabric. Which programs they have in the kernel is not known here: whoever asks for a run starts them.

use tailrace_linux::{Hosts, LiveError};
use tailrace_scenario::Scenario;

use crate::error::RunError;

/// Starts an agent at each of a scenario's hosts.
pub type StartAgents = fn(&Scenario, &Hosts) -> Result<Box<dyn Agents>, RunError>;

/// Agents that run. They end when this value goes, and nothing of them is left.
pub trait Agents {
    /// Fails if one has ended by itself.
    fn check(&self) -> Result<(), LiveError>;
}
