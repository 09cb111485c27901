//! What an experiment will cost, before it is run.

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::duration;
use tailrace_experiment::{Experiment, expected_flows, expected_packet_hops, run_key};
use tailrace_run::{Threads, processors, threads_of};
use tailrace_scenario::{Level, Scenario};

/// Packet-hops a second that one core simulates, roughly (docs/performance.md).
const SPEED: f64 = 12e6;
/// What each of several threads of a run does of what one alone would, roughly (docs/performance.md#one-run-on-several-threads).
const SHARE: f64 = 0.8;
/// Bytes that a flow's row takes in a run's folder, compressed.
const BYTES_PER_FLOW: f64 = 42.0;
/// And all else, without samples over time.
const BYTES_PER_RUN: f64 = 40e3;
/// What lasts longer is worth a word.
const LONG: f64 = 300.0;

/// What runs are made on.
#[derive(Clone, Copy)]
pub struct Machine {
    /// So many runs at a time.
    pub jobs: usize,
    /// What each of them may have.
    pub threads: Threads,
}

/// Packet-hops of all runs together of which that is known.
fn hops(experiment: &Experiment) -> f64 {
    let of = |(scenario, runs): (&Scenario, usize)| Some(expected_packet_hops(scenario)? * runs as f64);
    experiment.but_for_seeds().into_iter().filter_map(of).sum()
}

/// What a long experiment will cost; nothing for one of less than five minutes.
pub fn note(experiment: &Experiment, machine: Machine) -> Result<String, ScenarioError> {
    if hops(experiment) / SPEED < LONG {
        return Ok(String::new());
    }
    Ok(format!("{}: {} runs, {}\n", experiment.name, experiment.runs.len(), cost(experiment, machine)?))
}

/// How long all runs take where so many are made at a time, each on the threads that it would have.
fn cost(experiment: &Experiment, machine: Machine) -> Result<String, ScenarioError> {
    let (mut seconds, mut threads) = (0.0, 1);
    for (scenario, runs) in experiment.but_for_seeds() {
        let Some(hops) = expected_packet_hops(scenario) else { continue };
        let may_be_cut = machine.threads.at_most > 1 && scenario.level == Level::Packet;
        let parts = if may_be_cut { threads_of(scenario, machine.threads)? } else { 1 };
        let cores = if parts == 1 { 1.0 } else { SHARE * parts as f64 };
        seconds += hops * runs as f64 / SPEED / cores;
        threads = threads.max(parts);
    }
    // More runs than there are processors for their threads are no faster.
    let jobs = machine.jobs.min(experiment.runs.len()).min(processors() / threads).max(1);
    let on = match jobs * threads {
        1 => "one core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let (hops, time) = (hops(experiment), duration(seconds / jobs as f64));
    let hops =
        if hops < 1e9 { format!("{:.1} million", hops / 1e6) } else { format!("{:.1} billion", hops / 1e9) };
    let share =
        if threads == 1 { String::new() } else { format!(", {SHARE} times that where they share a run") };
    Ok(format!("about {hops} packet-hops in all, {time} on {on} at {} million a second{share}", SPEED / 1e6))
}

/// What `tailrace run` would do, in lines.
pub fn lines(experiment: &Experiment, dir: &Path, machine: Machine) -> Result<Vec<String>, ScenarioError> {
    let runs = &experiment.runs;
    let is_there = |scenario: &Scenario| dir.join("runs").join(run_key(scenario)).join("SHA256SUMS").exists();
    let there = runs.iter().filter(|run| is_there(&run.scenario())).count();
    let mut schemes: Vec<&str> = Vec::new();
    for run in runs {
        if !schemes.contains(&run.scheme.as_str()) {
            schemes.push(&run.scheme);
        }
    }
    let points = runs.len() / schemes.len().max(1);
    let mut lines = vec![
        format!("{}: {}", experiment.name, experiment.title),
        format!(
            "  {}{} runs: {points} of each of {}; {there} are in {} already",
            if experiment.stop.is_some() { "at most " } else { "" },
            runs.len(),
            schemes.join(", "),
            dir.display()
        ),
    ];
    let axes = experiment.axes();
    if !axes.is_empty() {
        lines.push(format!("  points differ in {}", axes.join(", ")));
    }
    let scenarios = experiment.but_for_seeds();
    let unknown = scenarios.iter().any(|(scenario, _)| expected_packet_hops(scenario).is_none());
    if hops(experiment) > 0.0 {
        lines.push(format!("  {}", cost(experiment, machine)?));
    }
    if unknown {
        let why = match scenarios.iter().any(|(scenario, _)| scenario.level == Level::Flow) {
            true => "flow level, lists of flows and traces count no packet-hops before they run",
            false => "lists of flows and traces are not counted before they run",
        };
        lines.push(format!("  {why}"));
    }
    let flows = |(scenario, runs): &(&Scenario, usize)| Some(expected_flows(scenario)? * *runs as f64);
    let counted: Vec<f64> = scenarios.iter().filter_map(flows).collect();
    let flows = counted.iter().fold(0.0, |sum, flows| sum + flows);
    let mb = (flows * BYTES_PER_FLOW + runs.len() as f64 * BYTES_PER_RUN) / 1e6;
    // What lists hold nobody has counted.
    let more = match counted.len() < scenarios.len() {
        true => format!(", and {BYTES_PER_FLOW} bytes for each flow of a list or trace"),
        false => String::new(),
    };
    lines.push(format!(
        "  about {mb:.1} MB of results from {flows:.0} flows{more}, without samples over time"
    ));
    Ok(lines)
}
