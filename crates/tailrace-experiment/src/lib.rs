//! Experiments: what a file asks for is run, kept, measured, and compared with what was claimed.

mod check;
mod cost;
mod error;
mod file;
mod flow_level;
mod flow_list;
mod fluid;
mod judge;
mod path;
mod pcap;
mod results;
mod run;
mod runner;
mod scale;
mod stats;
mod store;
mod summary;
mod sweep;
mod tables;
mod task_stats;
mod vet;

pub use check::{Line, Outcome, PASSES, check};
pub use cost::packet_hops as expected_packet_hops;
pub use error::Error;
pub use file::{Experiment, Override, Planned};
pub use flow_level::{FlowRunCost, flow_run_cost};
pub use flow_list::{exported_flows, write_flows};
pub use fluid::{FluidFile, FluidFlow, FluidPhase, FluidResult};
pub use judge::{Claim, Direction, Expectation, Figure, Quantity, Verdict};
pub use pcap::Capture;
pub use results::{Finished, Results, STATISTICS, SeriesQuery};
pub use run::{Control, PacketCounts, RunResult, Summary, packet_hops, run, switch_plan};
pub use runner::{Observer, Options, run_all};
pub use scale::GaveWay;
pub use stats::{ClassSummary, METRICS, Measured};
pub use store::{Store, read_parquet, write_parquet, write_run, write_whole};
pub use summary::axis_text;
pub use sweep::Point;
pub use task_stats::{TASK_METRICS, TaskSummary};

use std::path::Path;

use tailrace_config::ScenarioError;

/// The version that results name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs one scenario given as TOML text; files that it names are relative to `base`.
pub fn run_text(text: &str, base: &Path, control: &dyn Control) -> Result<RunResult, Error> {
    let table = text.parse().map_err(|e| ScenarioError::syntax(&e, text))?;
    let scenario = file::read_scenario(table, base).map_err(|e| e.locate(text))?;
    run(&scenario, control, None)
}
