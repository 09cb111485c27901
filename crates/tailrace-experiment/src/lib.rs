//! Experiments: what a file asks for is run, kept, measured, and compared with what was claimed.
//!
//! The folders build on one another, and none needs a later one: `output`, `stats`, `spec`, `runs`, `claims`, `plot`,
//! `experiment`. Beside them, [`trace`] needs `output` only, and `fluid` what comes before `claims`.

mod build;
mod claims;
mod error;
mod experiment;
mod fluid;
mod output;
mod plot;
mod runs;
mod spec;
mod stats;
pub mod trace;

pub use build::BUILD;
pub use claims::claim::{Claim, Deviation, Direction, Figure, NumberOverrides, Record, Wrong};
pub use claims::expectation::Expectation;
pub use claims::judge::{Measurement, Standing, Verdict};
pub use claims::quantity::Quantity;
pub use error::Error;
pub use experiment::check::{Line, Outcome, PASSES, check};
pub use experiment::file::{Experiment, Override};
pub use experiment::gather::{Gathered, gather, look};
pub use experiment::plan_table::Entry;
pub use experiment::remote;
pub use experiment::runner::{Folder, Observer, Options, Snapshot, run_all};
pub use fluid::{FluidFile, FluidFlow, FluidPhase, FluidResult};
pub use output::files::{read_parquet, write_parquet, write_whole};
pub use output::flow_list::{exported_flows, write_flows};
pub use output::pcap::Capture;
pub use output::pieces::Pieces;
pub use plot::{Ground, Plot};
pub use runs::cost::{flows as expected_flows, packet_hops as expected_packet_hops};
pub use runs::over_seeds::{AtPoint, Mean, OverSeeds, by_point, over_seeds};
pub use runs::paired;
pub use runs::results::{Finished, Results, SeriesQuery};
pub use runs::run::{RunResult, read_scenario, run, run_by_rule, run_text};
pub use runs::store::{Draft, Kept, Store, kept, run_key, verify, write_run};
pub use spec::plan::{Planned, place as place_in_scheme};
pub use spec::scale::ScaledField;
pub use spec::sweep::{Point, SEED, axis_text};
pub use stats::class_summary::{ClassSummary, METRICS};
pub use stats::groups::Measured;
pub use stats::numbers::{STATISTICS, mean, rounded, student};
pub use stats::run_summary::{Late, LiveSide, PacketCounts, PacketLevel, StrayCounts, Summary};
pub use stats::task_stats::{TASK_METRICS, TaskSummary};

/// The version that results name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
