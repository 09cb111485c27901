//! A workflow's stages once it is built, and the most that a task may have.

use tailrace_config::ScenarioError;

use crate::task::placement::Placement;
use crate::task::shape::{Role, Shape};

/// The stages of a workflow, and how hosts are drawn for them.
pub(super) type Built = Result<(Shape, Placement), ScenarioError>;

/// The flows of a task at most.
pub(in crate::task) const MAX_FLOWS: u64 = 1 << 20;

/// Bytes that a stage sends on for each that came in, at most.
const MAX_SENT_ON: f64 = 1e6;

/// Refuses tasks of too many flows.
pub(super) fn check_flows(field: &str, flows: u64) -> Result<(), ScenarioError> {
    if flows <= MAX_FLOWS {
        return Ok(());
    }
    Err(ScenarioError::new(field, format!("makes tasks of {flows} flows, but {MAX_FLOWS} are the most")))
}

/// Refuses tasks of more hosts than there are numbers of roles.
pub(super) fn check_hosts(field: &str, hosts: usize) -> Result<(), ScenarioError> {
    let most = Role::MAX;
    if hosts <= usize::from(most) {
        return Ok(());
    }
    Err(ScenarioError::new(field, format!("makes tasks of {hosts} hosts, but {most} are the most")))
}

/// Refuses a share of its input that nobody can send on.
pub(super) fn check_selectivity(selectivity: f64) -> Result<(), ScenarioError> {
    if selectivity > 0.0 && selectivity <= MAX_SENT_ON {
        return Ok(());
    }
    let message = format!(
        "is {selectivity}, but must be above 0 and at most {MAX_SENT_ON}: bytes sent on for each that came in"
    );
    Err(ScenarioError::new("selectivity", message))
}
