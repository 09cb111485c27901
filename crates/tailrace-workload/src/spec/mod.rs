//! `[workload]`: one rule or several, tasks, or a list of flows.

mod check;
mod table;

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::Time;

use super::input_file::InputFile;
use super::offered::Offered;
use super::pattern::Pattern;
use super::rule::Rule;
use super::task::{TaskCounters, TaskRule};

/// Which flows start when, complete and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Load of the rules together, where they have shares of flows instead of loads of their own.
    pub load: Option<f64>,
    /// Number of flows at most.
    pub flows: Option<u64>,
    /// No flow starts at this time or later.
    pub duration: Option<Time>,
    /// The rules, in force side by side.
    pub rules: Vec<Rule>,
    /// Tasks, beside the rules.
    pub tasks: Vec<TaskRule>,
    /// What numbers tasks.
    pub task_counters: TaskCounters,
    /// A list of flows, in place of rules.
    pub flow_list: Option<InputFile>,
    /// Columns of the list that mean nothing to a run.
    pub flow_list_extra: Vec<String>,
    /// What the list offers, once it has been read.
    pub offered: Option<Offered>,
    /// A trace of tasks, beside the rules and tasks.
    pub coflow_trace: Option<InputFile>,
}

impl Workload {
    /// Reads the flow-size tables that are named, relative to `base`, and fingerprints the flow list.
    pub fn read_files(&mut self, base: &Path) -> Result<(), ScenarioError> {
        for (number, rule) in self.rules.iter_mut().enumerate() {
            let within = |error: ScenarioError| error.within(&format!("rule[{number}].sizes"));
            rule.sizes.read_files(base).map_err(within)?;
        }
        for (number, rule) in self.tasks.iter_mut().enumerate() {
            rule.read_files(base).map_err(|error| error.within(&format!("task[{number}]")))?;
        }
        let files = [("flow_list", &mut self.flow_list), ("coflow_trace", &mut self.coflow_trace)];
        for (field, file) in files.into_iter().filter_map(|(field, file)| Some((field, file.as_mut()?))) {
            file.identify(base).map_err(|error| error.within(field))?;
        }
        Ok(())
    }

    /// Whether rates and loads depend on the seed, because it decides which hosts send to which, or how large tasks
    /// are.
    pub fn draws_from_seed(&self) -> bool {
        let draws = |rule: &Rule| rule.destinations.is_some() || matches!(rule.pattern, Pattern::Permutation);
        !self.tasks.is_empty() || self.rules.iter().any(draws)
    }

    /// Whether its flows may be of tasks that the feed follows.
    pub fn has_tasks(&self) -> bool {
        !self.tasks.is_empty() || self.coflow_trace.is_some()
    }

    /// The traffic class of a trace's tasks: the first above those of all rules and tasks.
    pub fn trace_class(&self) -> u8 {
        self.classes_end() as u8 // `check_trace` has seen that there is one.
    }

    /// The first class above those of all rules and tasks.
    fn classes_end(&self) -> u16 {
        let of_tasks = self.tasks.iter().map(|tasks| u16::from(tasks.class.unwrap_or_default()) + 1);
        self.rules.iter().map(Rule::classes_end).chain(of_tasks).max().unwrap_or(0)
    }
}
