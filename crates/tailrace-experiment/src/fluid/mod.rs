//! Fluid models: a file in, a table and the means of its phases out.

mod file;

use std::path::Path;

use arrow_array::RecordBatch;
use serde::Serialize;
use tailrace_config::ScenarioError;
use tailrace_fluid::{FluidError, Phase, Trajectory};

use crate::error::Error;
use crate::output::tables;
use crate::runs::store::Store;

pub use file::FluidFile;

/// A solved fluid model.
#[derive(Clone, Debug)]
pub struct FluidResult {
    /// The time between two starts of flows, in order.
    pub phases: Vec<FluidPhase>,
    /// One row per sample and flow: `time_s, flow, window_packets, alpha, queue_packets`.
    pub table: RecordBatch,
}

/// What is measured of the time between two starts of flows: its second half, when shares have settled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FluidPhase {
    /// When the phase begins, in seconds.
    pub from_s: f64,
    /// When it is measured from, in seconds.
    pub measured_from_s: f64,
    /// When it ends, in seconds.
    pub to_s: f64,
    /// Mean queue, in packets.
    pub mean_queue_packets: f64,
    /// Longest queue among the samples, in packets.
    pub max_queue_packets: f64,
    /// The flows that have started.
    pub flows: Vec<FluidFlow>,
}

/// A flow in a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FluidFlow {
    /// Its number, from 0.
    pub flow: usize,
    /// Mean window, in packets.
    pub mean_window_packets: f64,
    /// Its share of all flows' windows.
    pub share: f64,
    /// The share that a steady state of its law gives it.
    pub steady_share: f64,
}

impl FluidFile {
    /// Solves the model, unless `interrupted` says to stop.
    pub fn solve(&self, interrupted: &dyn Fn() -> bool) -> Result<FluidResult, Error> {
        let model = self.model()?;
        let trajectory = model.solve_unless(interrupted).map_err(|error| match error {
            FluidError::Input(error) => self.at_field(error).into(),
            FluidError::Interrupted => Error::Interrupted,
            FluidError::Solver(_) => Error::Unsolved(error.to_string()),
        })?;
        let phases = model.phases().into_iter().map(|phase| measure(&phase, &trajectory));
        let phases = phases.collect::<Option<_>>().ok_or_else(|| {
            ScenarioError::new("sample_every", "too long: there is a time between starts without a sample")
        })?;
        Ok(FluidResult { phases, table: tables::fluid(&model, &trajectory) })
    }

    /// Writes a result into `dir`: `fluid.parquet`, `summary.json` and the file, each whole or not at all.
    /// Damage of what the folder held is told to `note`.
    pub fn write(
        &self,
        text: &str,
        result: &FluidResult,
        dir: &Path,
        note: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let store = Store::open(dir, &self.name, &self.title, note)?;
        let summary = serde_json::json!({ "version": crate::VERSION, "phases": result.phases });
        store.write("model.toml", text.as_bytes())?;
        store.write("summary.json", format!("{summary:#}\n").as_bytes())?;
        store.write_table("fluid.parquet", &result.table)
    }
}

fn measure(phase: &Phase, trajectory: &Trajectory) -> Option<FluidPhase> {
    let measured_from_s = (phase.from + phase.to) / 2.0;
    let summary = trajectory.summary(measured_from_s, phase.to)?;
    let flow = |flow: usize| FluidFlow {
        flow,
        mean_window_packets: summary.mean_windows[flow],
        share: summary.shares[flow],
        steady_share: phase.steady_shares[flow],
    };
    let started = (0..summary.shares.len()).filter(|&flow| phase.steady_shares[flow] > 0.0);
    Some(FluidPhase {
        from_s: phase.from,
        measured_from_s,
        to_s: phase.to,
        mean_queue_packets: summary.mean_queue,
        max_queue_packets: summary.max_queue,
        flows: started.map(flow).collect(),
    })
}
