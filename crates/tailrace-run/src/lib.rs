//! Where schemes and worlds meet: a scenario goes in, it is run at its level, and plain records come out.
//!
//! The packet path is compiled here, once for each scheme of the registry. Nothing here knows of tables, files or
//! statistics, so that changing those compiles no packet path.

mod build;
mod packets;
mod rates;

pub use build::{check, switch_plan};
pub use tailrace_packet::Tap;

use std::ops::ControlFlow;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, Outcome, PortId, Progress};
use tailrace_scenario::{Level, Scenario};
use tailrace_traffic::Feed;

/// Who follows a run and may stop it.
pub trait Control: Sync {
    /// How far the run is; called now and then.
    fn progress(&self, progress: &Progress);
    /// Whether the run should stop.
    fn interrupted(&self) -> bool;
}

/// Follows nothing and stops nothing.
pub struct Unattended;

impl Control for Unattended {
    fn progress(&self, _: &Progress) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// Runs a scenario with the flows of `feed`. `tap` is told of all that one port sends; at flow level there is
/// nothing to tell. Fails if the scheme cannot run in this scenario, as [`check`] does.
pub fn run(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
    tap: Option<(PortId, Tap)>,
) -> Result<(Outcome, Ending), ScenarioError> {
    match scenario.level {
        Level::Packet => packets::run(scenario, feed, control, tap),
        Level::Flow => rates::run(scenario, feed, control),
    }
}

/// The flows of a scenario, unless they are in a Parquet file.
pub fn feed(scenario: &Scenario) -> Result<Feed, ScenarioError> {
    Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed)
}

/// What the scenario's scheme does that its level cannot express, in words for users: a sentence each.
pub fn leaves_out(scenario: &Scenario) -> Result<&'static [&'static str], ScenarioError> {
    match scenario.level {
        Level::Packet => Ok(&[]),
        Level::Flow => rates::leaves_out(scenario),
    }
}

/// Tells `control` how far a run is, and hears whether it should go on.
fn look(control: &dyn Control, progress: &Progress) -> ControlFlow<()> {
    control.progress(progress);
    if control.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
