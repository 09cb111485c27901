//! The live level, which a crate above this one has: drivers for real packets depend on the machine's system.

use std::sync::OnceLock;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, LiveError, Outcome};
use tailrace_scenario::Scenario;
use tailrace_workload::feed::Feed;

use crate::control::Control;
use crate::error::RunError;

/// What runs scenarios whose level is live.
pub trait LiveRunner: Sync {
    /// Fails if the scenario cannot run on real packets.
    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError>;
    /// What the scenario asks for that real packets do not get, in words for users: a sentence each.
    fn leaves_out(&self, scenario: &Scenario) -> Result<Vec<String>, ScenarioError>;
    /// Runs the scenario with the flows of `feed`.
    fn run(
        &self,
        scenario: &Scenario,
        feed: Feed,
        control: &dyn Control,
    ) -> Result<(Outcome, Ending), RunError>;
    /// The identity of the sources that decide what a live run leaves, beside those of this crate: 16 hexadecimal digits.
    fn build(&self) -> &'static str;
}

static LIVE: OnceLock<&'static dyn LiveRunner> = OnceLock::new();

/// Gives this process a live level, as `log::set_logger` gives it a log. The first one stays.
pub fn provide_live(runner: &'static dyn LiveRunner) {
    let _ = LIVE.set(runner);
}

/// The live level of this process, if it has one.
pub fn live() -> Option<&'static dyn LiveRunner> {
    LIVE.get().copied()
}

/// The live level of this process, or the line that names what is missing.
pub fn required_live() -> Result<&'static dyn LiveRunner, RunError> {
    live().ok_or_else(|| RunError::Live(LiveError::SetUp(NO_LIVE.to_owned())))
}

/// What a build without the live half answers.
pub const NO_LIVE: &str = "this build of Tailrace has no live half (level = \"live\", emulate, switch, agent): on Linux `make live` builds it, \
                           or cargo build -p tailrace-cli";
