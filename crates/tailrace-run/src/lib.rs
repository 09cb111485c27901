//! Where schemes and worlds meet: a scenario goes in, it is run at its level, and plain records come out.
//!
//! The packet path is compiled here, once for each scheme of the registry. Nothing here knows of tables, stores or
//! statistics, so that changing those compiles no packet path.

pub mod build;
mod check;
mod control;
mod error;
mod live;
pub mod packets;
mod partition;
mod rates;

pub use build::switch_plan;
pub use check::check;
pub use control::{Control, ThreadPolicy, Threads, Unattended, look, processors};
pub use error::RunError;
pub use live::{LiveRunner, NO_LIVE, live, provide_live, required_live};
pub use packets::{Mutation, TestPartition, run_partitioned, threads_of};
pub use partition::{PartitionStats, partition_stats};
pub use rates::{OwnRule, run_by_rule};
pub use tailrace_core::LiveError;
pub use tailrace_packet::Tap;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, Outcome, PortId};
use tailrace_scenario::{Level, Scenario};
use tailrace_workload::feed::Feed;

/// Runs a scenario with the flows of `feed`. Each tap is told of all that its port sends; at flow level there
/// is nothing to tell, and live runs have no taps. Fails if the scheme cannot run in this scenario, as [`check`] does, or if
/// the level is live and nothing here, or the machine, can run it.
pub fn run(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
    taps: Vec<(PortId, Tap)>,
) -> Result<(Outcome, Ending), RunError> {
    let threads = control.threads();
    if scenario.level != Level::Packet && threads.policy == ThreadPolicy::Requested && threads.at_most > 1 {
        control.note(format!(
            "simulated on one thread, since only packets are run in parts, and not the {} level",
            scenario.level.name()
        ));
    }
    match scenario.level {
        Level::Packet => Ok(packets::run(scenario, feed, control, taps)?),
        Level::Flow => Ok(rates::run(scenario, feed, control)?),
        Level::Live => required_live()?.run(scenario, feed, control),
    }
}

/// The flows of a scenario, unless they are in a Parquet file.
pub fn feed(scenario: &Scenario) -> Result<Feed, ScenarioError> {
    Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed)
}

/// What the scenario asks for that its level cannot express, in words for users: a sentence each.
pub fn leaves_out(scenario: &Scenario) -> Result<Vec<String>, ScenarioError> {
    let mut left_out = match scenario.level {
        Level::Packet => Vec::new(),
        Level::Live => live().map_or(Ok(Vec::new()), |live| live.leaves_out(scenario))?,
        Level::Flow => rates::leaves_out(scenario)?.iter().map(|&what| what.to_owned()).collect(),
    };
    let fields = scenario.without_effect();
    if !fields.is_empty() {
        let why = match scenario.level {
            Level::Flow => "There are no packets, queues or losses",
            _ => "The kernel has its own transport",
        };
        left_out.push(format!("{why}, so nothing depends on {}.", fields.join(", ")));
    }
    Ok(left_out)
}
