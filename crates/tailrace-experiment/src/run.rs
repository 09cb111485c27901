//! One run: a scenario in, tables and a summary out.

use std::ops::Range;
use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, FlowId, FlowRecord, HEADER_BYTES, Outcome, Time};
use tailrace_run::{Control, OwnRule};
use tailrace_scenario::Scenario;
use tailrace_traffic::Feed;

use crate::error::Error;
use crate::pcap::{self, Capture};
use crate::pieces::Pieces;
use crate::run_summary::Summary;
use crate::stats::summarise;
use crate::{flow_list, plan, tables};

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
    tabulate(scenario, outcome, ending)
}

/// Runs a scenario of the flow level by a rule of the caller's own.
pub fn run_by_rule(scenario: &Scenario, control: &dyn Control, rule: OwnRule) -> Result<RunResult, Error> {
    let (outcome, ending) = tailrace_run::run_by_rule(scenario, flows_of(scenario)?, control, rule)?;
    tabulate(scenario, outcome, ending)
}

fn flows_of(scenario: &Scenario) -> Result<Feed, Error> {
    // Files may have changed since the run was planned, and its key names what they contained then.
    scenario.workload.clone().read_files(&scenario.base).map_err(|error| Error::Storage {
        path: scenario.base.clone(),
        message: error.within("workload").to_string(),
    })?;
    flow_list::flows(scenario)
}

fn tabulate(scenario: &Scenario, outcome: Outcome, ending: Ending) -> Result<RunResult, Error> {
    if ending == Ending::Interrupted {
        return Err(Error::Interrupted);
    }
    let fabric = scenario.fabric.build();
    let transport = &scenario.transport;
    let ideal = |r: FlowRecord| fabric.ideal_fct(r.src, r.dst, r.id, r.size, transport, HEADER_BYTES);
    let ideals: Vec<Time> = outcome.flows.iter().map(ideal).collect();
    let classes = summarise(&scenario.measure, outcome.flows.iter(), &outcome.tasks, &ideals);
    let summary = Summary::of(scenario.scheme.label(), &outcome, ending, classes);
    let (count, flows) = (outcome.flows.len(), outcome.flows);
    let rows = move |rows: Range<usize>| {
        let ideals = &ideals[rows.clone()];
        tables::flows(rows.map(|flow| flows.of(flow as FlowId)), ideals)
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
