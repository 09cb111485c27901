//! One run at flow level, named so that a process of its own can make it.

use cpu_time::ThreadTime;
use serde_json::{Value, json};
use tailrace_config::ScenarioError;
use tailrace_core::Outcome;
use tailrace_experiment::mean;

use crate::error::Error;
use tailrace_run::Unattended;
use tailrace_scenario::Scenario;

use crate::stacks::peak_memory;

/// A run: `flow:SCHEME:SHAPE:TASKS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    scheme: String,
    shape: String,
    pub tasks: u32,
}

const PREFIX: &str = "flow";
const SEPARATOR: char = ':';

/// Schemes, what each is an example of, and its parameters. A task sends its aggregator 1.04 MB in the mean, so
/// with limited multiplexing each becomes heavy on its aggregator's link when half is done.
pub const SCHEMES: [(&str, &str, &str); 4] = [
    ("rcp", "max-min", ""),
    ("baraat", "FIFO-LM", "params.heavy = \"520KB\""),
    ("orchestra", "FIFO", ""),
    ("srpt", "SRPT", ""),
];

pub const RACK: &str = "rack";
pub const ANYWHERE: &str = "anywhere";
pub const STAGES: &str = "stages";

/// Who sends: names, workflows of `tree36k`, and how to say it.
pub const SHAPES: [(&str, &str, &str); 3] = [
    (RACK, "{ parallel = { servers = 40, same_rack = true } }", "40 flows, in the rack"),
    (ANYWHERE, "{ parallel = { servers = 40 } }", "40 flows, from anywhere"),
    (STAGES, "{ partition-aggregate = { stages = 2 } }", "1230 flows, two stages"),
];

impl Case {
    pub fn new(scheme: &str, shape: &str, tasks: u32) -> Self {
        Case { scheme: scheme.to_owned(), shape: shape.to_owned(), tasks }
    }

    /// What SimGrid can run too: max-min fairness in the rack.
    pub fn shared(tasks: u32) -> Self {
        Case::new(SCHEMES[0].0, RACK, tasks)
    }

    pub fn name(&self) -> String {
        format!("{PREFIX}:{}:{}:{}", self.scheme, self.shape, self.tasks)
    }

    /// Reads what [`Self::name`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(SEPARATOR).collect();
        let [PREFIX, scheme, shape, tasks] = parts[..] else { return None };
        let known = SCHEMES.iter().any(|s| s.0 == scheme) && SHAPES.iter().any(|s| s.0 == shape);
        known.then_some(Case::new(scheme, shape, tasks.parse().ok()?))
    }

    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let Case { scheme, shape, tasks } = self;
        let params: String = SCHEMES.iter().filter(|s| s.0 == scheme).map(|s| s.2).collect();
        let workflow: String = SHAPES.iter().filter(|s| s.0 == shape).map(|s| s.1).collect();
        Scenario::parse(&format!(
            "level = \"flow\"\n[fabric]\npreset = \"tree36k\"\n[flow]\nsetup = \"0s\"\n\
             [[workload.task]]\nworkflow = {workflow}\nflow_sizes = {{ uniform = [\"2KB\", \"50KB\"] }}\n\
             load = 0.8\ncount = {tasks}\n[scheme]\nname = \"{scheme}\"\n{params}\n"
        ))
    }

    /// Runs it in this process.
    pub fn run(&self) -> Result<Value, Error> {
        let scenario = self.scenario()?;
        let start = ThreadTime::now();
        let (outcome, _) =
            tailrace_run::run(&scenario, tailrace_run::feed(&scenario)?, &Unattended, Vec::new())?;
        let seconds = start.elapsed().as_secs_f64();
        let flows = outcome.flows.iter().filter(|flow| flow.fct().is_some()).count();
        Ok(json!({
            "scheme": self.scheme, "shape": self.shape, "tasks": self.tasks, "flows": flows,
            "events": outcome.events, "cpu_seconds": seconds, "flows_per_cpu_second": flows as f64 / seconds,
            "microseconds_per_event": seconds * 1e6 / outcome.events as f64,
            "memory_bytes": peak_memory().map(tailrace_core::Bytes::get),
            "mean_completion": mean_completion(&outcome),
        }))
    }
}

/// Mean task completion time in seconds; of flows where there are no tasks.
fn mean_completion(outcome: &Outcome) -> f64 {
    let tasks: Vec<f64> = outcome.tasks.iter().filter_map(|t| Some(t.tct()?.as_secs_f64())).collect();
    let flows = || outcome.flows.iter().filter_map(|f| Some(f.fct()?.as_secs_f64())).collect();
    mean(&if tasks.is_empty() { flows() } else { tasks }).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_and_runs() {
        for (scheme, _, _) in SCHEMES {
            for (shape, _, _) in SHAPES {
                let case = Case::new(scheme, shape, 2);
                assert_eq!(Case::parse(&case.name()).as_ref(), Some(&case));
                let flows = if shape == STAGES { 2460 } else { 80 };
                assert_eq!(case.run().unwrap()["flows"], flows, "{case:?}");
            }
        }
        assert_eq!(Case::parse("flow:nothing:rack:2"), None);
    }
}
