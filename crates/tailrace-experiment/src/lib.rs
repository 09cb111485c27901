//! Experiments: what a file asks for is run, kept, measured, and compared with what was claimed.

mod check;
mod claim;
mod class_summary;
mod columns;
mod cost;
pub mod elsewhere;
mod error;
mod expectation;
mod file;
mod files;
mod flow_list;
mod fluid;
mod gather;
mod groups;
mod in_order;
mod judge;
mod name;
mod numbers;
mod over_seeds;
pub mod paired;
mod path;
mod pcap;
mod pieces;
mod plan;
mod plan_table;
mod plot;
mod quantity;
mod results;
mod run;
mod run_summary;
mod runner;
mod scale;
mod stats;
mod stop;
mod store;
mod summary;
mod sweep;
mod tables;
mod tally;
mod task_stats;
pub mod trace;
mod values;
mod vet;

pub use check::{Line, Outcome, PASSES, check};
pub use claim::{Claim, Deviation, Direction, Figure, Otherwise, Record, Wrong};
pub use class_summary::{ClassSummary, METRICS};
pub use cost::{flows as expected_flows, packet_hops as expected_packet_hops};
pub use error::Error;
pub use expectation::Expectation;
pub use file::{Experiment, Override};
pub use files::{read_parquet, write_parquet, write_whole};
pub use flow_list::{exported_flows, write_flows};
pub use fluid::{FluidFile, FluidFlow, FluidPhase, FluidResult};
pub use gather::{Gathered, gather, look};
pub use groups::Measured;
pub use judge::{Measurement, Standing, Verdict};
pub use numbers::{STATISTICS, mean, rounded, student};
pub use over_seeds::{AtPoint, Mean, OverSeeds, by_point, over_seeds};
pub use pcap::Capture;
pub use pieces::Pieces;
pub use plan::{Planned, place as place_in_scheme};
pub use plan_table::Entry;
pub use plot::{Ground, Plot};
pub use quantity::Quantity;
pub use results::{Finished, Results, SeriesQuery};
pub use run::{RunResult, read_scenario, run, run_by_rule, run_text};
pub use run_summary::{Late, LiveSide, PacketCounts, PacketLevel, StrayCounts, Summary};
pub use runner::{Folder, Observer, Options, Sight, run_all};
pub use scale::GaveWay;

pub use store::{Draft, Kept, Store, kept, run_key, verify, write_run};
pub use sweep::{Point, SEED, axis_text};
pub use task_stats::{TASK_METRICS, TaskSummary};

/// The version that results name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The build that results name: 16 hexadecimal digits that depend on the sources that decide what a run leaves,
/// on the versions of the libraries that they use, and on nothing of the machine or the day. Edits of tests,
/// prose and smoke files do not change it.
pub const BUILD: &str = env!("TAILRACE_BUILD");
