//! The live level, as a run asks for it.

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, Outcome};
use tailrace_run::{Control, LiveRunner, RunError};
use tailrace_scenario::{Scenario, Stack};
use tailrace_workload::feed::Feed;

use crate::kernel;
use crate::live::run_live;
use crate::record::Live;

impl LiveRunner for Live {
    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        match scenario.live.stack {
            Stack::Kernel => kernel::check(scenario),
            Stack::Tailrace => Ok(()),
        }
    }

    fn leaves_out(&self, scenario: &Scenario) -> Result<Vec<String>, ScenarioError> {
        match scenario.live.stack {
            Stack::Kernel => kernel::leaves_out(scenario),
            Stack::Tailrace => Ok(Vec::new()),
        }
    }

    fn run(
        &self,
        scenario: &Scenario,
        feed: Feed,
        control: &dyn Control,
    ) -> Result<(Outcome, Ending), RunError> {
        run_live(scenario, feed, control, self)
    }

    fn build(&self) -> &'static str {
        env!("TAILRACE_LIVE_BUILD")
    }
}
