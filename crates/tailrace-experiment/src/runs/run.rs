//! One run: a scenario in, tables and a summary out.

use std::ops::Range;
use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, FlowRecord, FlowRecords, HEADER_BYTES, Outcome, Time};
use tailrace_fabric::Fabric;
use tailrace_run::{Control, OwnRule};
use tailrace_scenario::Scenario;
use tailrace_workload::feed::Feed;

use crate::error::Error;
use crate::output::flow_list;
use crate::output::in_order::in_order;
use crate::output::pcap::{self, Capture};
use crate::output::pieces::Pieces;
use crate::output::tables;
use crate::spec::plan;
use crate::stats::run_summary::Summary;
use crate::stats::statistics::Statistics;

/// What a run leaves.
pub struct RunResult {
    /// In short.
    pub summary: Summary,
    /// One row a flow.
    pub flows: Pieces,
    /// One row a task, if the workload has tasks.
    pub tasks: Option<Pieces>,
    /// One row a port.
    pub ports: Pieces,
    /// Sampled and reported series in long format.
    pub series: Pieces,
    /// How late it was, one row a bin, if it was in real time.
    pub lag: Option<Pieces>,
    /// The scenario with all defaults written out.
    pub scenario: String,
}

/// Runs one scenario given as TOML text; files that it names are relative to `base`.
pub fn run_text(text: &str, base: &Path, control: &dyn Control) -> Result<RunResult, Error> {
    run(&read_scenario(text, base)?, control, &[])
}

/// A scenario given as TOML text, with the files that it names, relative to `base`.
pub fn read_scenario(text: &str, base: &Path) -> Result<Scenario, ScenarioError> {
    let table = text.parse().map_err(|e| ScenarioError::syntax(&e, text))?;
    plan::read_scenario(table, base).map_err(|e| e.locate(text))
}

/// Runs a scenario; each capture writes down what a port carries.
pub fn run(scenario: &Scenario, control: &dyn Control, captures: &[Capture]) -> Result<RunResult, Error> {
    let feed = flows_of(scenario)?;
    let (mut writers, mut taps) = (Vec::new(), Vec::new());
    for capture in captures {
        let port = pcap::port_number(scenario, &capture.port)?;
        let writer = pcap::Writer::create(&capture.path, scenario)?;
        taps.push((port, writer.tap()));
        writers.push(writer);
    }
    let (outcome, ending) = tailrace_run::run(scenario, feed, control, taps)?;
    writers.into_iter().try_for_each(pcap::Writer::finish)?;
    tabulate(scenario, outcome, ending, control.threads().at_most)
}

/// Runs a scenario of the flow level by a rule of the caller's own.
pub fn run_by_rule(scenario: &Scenario, control: &dyn Control, rule: OwnRule) -> Result<RunResult, Error> {
    let (outcome, ending) = tailrace_run::run_by_rule(scenario, flows_of(scenario)?, control, rule)?;
    tabulate(scenario, outcome, ending, control.threads().at_most)
}

fn flows_of(scenario: &Scenario) -> Result<Feed, Error> {
    // Files may have changed since the run was planned, and its key names what they contained then.
    scenario.workload.clone().read_files(&scenario.base).map_err(|error| Error::Storage {
        path: scenario.base.clone(),
        message: error.within("workload").to_string(),
    })?;
    flow_list::flows(scenario)
}

fn tabulate(
    scenario: &Scenario,
    outcome: Outcome,
    ending: Ending,
    threads: usize,
) -> Result<RunResult, Error> {
    if ending == Ending::Interrupted {
        return Err(Error::Interrupted);
    }
    let fabric = scenario.fabric.build();
    let (ideals, statistics) = measure(scenario, &fabric, &outcome.flows, threads)?;
    let classes = statistics.summaries(&outcome.tasks, scenario.measure.warmup);
    let summary = Summary::of(scenario.scheme.label(), &outcome, ending, classes);
    let (count, flows) = (outcome.flows.len(), outcome.flows);
    let rows = move |rows: Range<usize>| {
        let ideals = &ideals[rows.clone()];
        tables::flows(&flows.read(rows), ideals)
    };
    Ok(RunResult {
        flows: Pieces::new(count, rows),
        tasks: scenario.workload.has_tasks().then(|| tables::tasks(&outcome.tasks).into()),
        ports: tables::ports(&fabric, &outcome.ports, outcome.end).into(),
        series: tables::series(&fabric, &outcome.series).into(),
        lag: outcome.real_time.as_ref().map(|real| tables::lag(real).into()),
        summary,
        scenario: scenario.resolved(),
    })
}

/// So many flows are looked at at a time: their records fit the cache of a core.
const MEASURED_AT_A_TIME: usize = 1 << 13;

/// The ideal completion time of each flow, and what statistics need of them all. Sums are those of pieces, so that they do not
/// depend on the threads.
fn measure(
    scenario: &Scenario,
    fabric: &Fabric,
    flows: &FlowRecords,
    threads: usize,
) -> Result<(Vec<Time>, Statistics), Error> {
    let (transport, measure) = (&scenario.transport, &scenario.measure);
    let ideal = |r: &FlowRecord| fabric.ideal_fct(r.src, r.dst, r.id, r.size, transport, HEADER_BYTES);
    let of_piece = |number| {
        let start = number * MEASURED_AT_A_TIME;
        let end = flows.len().min(start + MEASURED_AT_A_TIME);
        let records = flows.read(start..end);
        let ideals: Vec<Time> = records.iter().map(ideal).collect();
        let statistics = Statistics::of(measure, records.iter().zip(&ideals));
        (ideals, statistics)
    };
    let (mut ideals, mut statistics) = (Vec::with_capacity(flows.len()), Statistics::default());
    in_order(threads, flows.len().div_ceil(MEASURED_AT_A_TIME), of_piece, |(more, known)| {
        ideals.extend(more);
        statistics.join(known);
        Ok::<_, Error>(())
    })?;
    Ok((ideals, statistics))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_list_that_changed_since_it_was_planned_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let write = |size: u32| {
            let text = format!("src,dst,size_bytes,start_ns\n0,1,{size},0\n");
            std::fs::write(dir.path().join("flows.csv"), text).unwrap();
        };
        write(1000);
        let text = "fabric = { preset = \"micro4\" }\nscheme = { name = \"fifo\" }\nworkload = { flow_list = \"flows.csv\" }";
        let scenario = plan::read_scenario(text.parse().unwrap(), dir.path()).unwrap();
        let flows = |result: Result<RunResult, Error>| result.map(|result| result.flows.rows());
        assert_eq!(flows(run(&scenario, &tailrace_run::Unattended, &[])).unwrap(), 1);
        write(2000);
        let error = flows(run(&scenario, &tailrace_run::Unattended, &[])).unwrap_err().to_string();
        assert!(error.contains("workload.flow_list: ") && error.contains("has changed since"), "{error}");
    }
}
