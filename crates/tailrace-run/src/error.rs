//! Why a run has no results.

use tailrace_config::ScenarioError;
use tailrace_core::LiveError;

/// Why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The machine cannot run it live.
    #[error(transparent)]
    Live(#[from] LiveError),
}
