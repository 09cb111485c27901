//! How live networks run, and where they are recorded.

use std::fs::File;
use std::path::PathBuf;

use tailrace_agent::StartAgents;
use tailrace_config::ScenarioError;
use tailrace_core::Scheme;
use tailrace_linux::{Driver, Recorder, Wanted};
use tailrace_scenario::Scenario;

use tailrace_run::RunError;

/// How a scenario's fabric runs live, beyond what the scenario says.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// How frames come in and leave.
    pub frames: Wanted,
    /// Where to write down all that enters the network, leaves it and is dropped, to be [replayed](crate::replay).
    pub record: Option<PathBuf>,
    /// How agents are started at hosts, if this process can do that.
    pub agents: Option<StartAgents>,
}

impl Live {
    /// As the machine does it best, without a record.
    pub const fn new(agents: Option<StartAgents>) -> Self {
        Live { frames: Wanted::Best, record: None, agents }
    }

    /// Lets `driver` write its record, if one is wanted.
    pub(crate) fn record<S: Scheme>(
        &self,
        scenario: &Scenario,
        driver: &mut Driver<'_, S>,
    ) -> Result<(), RunError> {
        let Some(path) = &self.record else { return Ok(()) };
        let failed = |error| ScenarioError::new("--record", format!("{}: {error}", path.display()));
        let file = File::create(path).map_err(failed)?;
        driver.record(Recorder::new(Box::new(file), &scenario.resolved()).map_err(failed)?);
        Ok(())
    }
}
