//! Where schemes and worlds meet: a scenario goes in, it is run at its level, and plain records come out.
//!
//! The packet path is compiled here, once for each scheme of the registry. Nothing here knows of tables, stores or
//! statistics, so that changing those compiles no packet path.

mod agent;
mod agents;
mod bench;
mod build;
mod check;
mod control;
mod emulate;
mod error;
mod fleet;
mod host_tags;
mod kernel;
mod limits;
mod live;
mod messages;
mod packets;
mod partition;
mod rates;
mod record;
mod replay;
mod switch;

pub use agent::{HostPart, for_agent, for_hosts};
pub use agents::{AGENTS_LOOK_EVERY, Agents, StartAgents};
pub use bench::{carry_bursts, through_port};
pub use build::switch_plan;
pub use check::check;
pub use control::{Control, ThreadPolicy, Threads, Unattended, processors};
pub use emulate::{Programs, emulate, for_programs};
pub use error::RunError;
pub use fleet::{FleetPart, for_all_hosts, for_fleet};
pub use limits::asks_for_much;
pub use live::run_live;
pub use messages::{for_proxies, messages};
pub use packets::{Mutation, TestPartition, run_partitioned, threads_of};
pub use partition::{PartitionStats, partition_stats};
pub use rates::{OwnRule, run_by_rule};
pub use record::Live;
pub use replay::replay;
pub use switch::{for_switch, switch};
pub use tailrace_linux::LiveError;
pub use tailrace_packet::Tap;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, Outcome, PortId};
use tailrace_scenario::{Level, Scenario, Stack};
use tailrace_workload::feed::Feed;

/// Runs a scenario with the flows of `feed`. Each tap is told of all that its port sends; at flow level there
/// is nothing to tell, and live runs have no taps. Fails if the scheme cannot run in this scenario, as [`check`] does, or if
/// the machine cannot run it live.
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
        Level::Live => run_live(scenario, feed, control, &Live::default()),
    }
}

/// The flows of a scenario, unless they are in a Parquet file.
pub fn feed(scenario: &Scenario) -> Result<Feed, ScenarioError> {
    Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed)
}

/// What the scenario asks for that its level cannot express, in words for users: a sentence each.
pub fn leaves_out(scenario: &Scenario) -> Result<Vec<String>, ScenarioError> {
    let mut left_out = match (scenario.level, scenario.live.stack) {
        (Level::Packet, _) | (Level::Live, Stack::Tailrace) => Vec::new(),
        (Level::Live, Stack::Kernel) => kernel::leaves_out(scenario)?,
        (Level::Flow, _) => rates::leaves_out(scenario)?.iter().map(|&what| what.to_owned()).collect(),
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
