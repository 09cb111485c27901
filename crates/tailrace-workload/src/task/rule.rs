//! `[[workload.task]]`: tasks of one kind, while they arrive.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, table};
use tailrace_core::{Bytes, Time};
use toml::Table;

use super::workflow::Workflow;
use crate::Setting;
use crate::rule::{Arrivals, check_load};
use crate::sizes::Sizes;

/// Flows of less are more than ports can tell apart, and nobody splits packets.
const MIN_SPLIT: Bytes = Bytes::new(1_000);

/// Tasks of one kind: what they consist of, how large, how often, from when to when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRule {
    /// What a task consists of.
    pub workflow: Workflow,
    /// Bytes of a task: of its first flows together, which share them unevenly, by random weights from 2 to 50. Of
    /// collectives and pipelines: what each host starts with or passes on, cut into equal parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Bytes of each of its first flows, in place of `sizes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_sizes: Option<Sizes>,
    /// Flows of more bytes than this become several flows in equal parts, so that a larger task has more flows and not
    /// larger ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Bytes>,
    /// How long a flow's sender computes before it sends, once it has its inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute: Option<Compute>,
    /// When tasks arrive; under "once" `count` of them at the start.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// How much the busiest host link carries, headers included, as a share of its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Mean time between two tasks, in place of a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Number of tasks at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// When the first may arrive.
    #[serde(default)]
    pub start: Time,
    /// None arrives at this time or later; tasks that have arrived go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Traffic class of its flows and tasks, for statistics; numbers count on from those of the rules if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Slice (tenant) of its flows; 0 for none.
    #[serde(default)]
    pub slice: u16,
    /// Tasks of a background service: their numbers are above all others, so schemes that serve tasks in order of
    /// number serve them last.
    #[serde(default)]
    pub background: bool,
}

/// What numbers tasks, at their entry points (Baraat §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskCounters {
    /// How many counters there are.
    pub count: u16,
    /// How often each goes on from the one that has counted furthest; never if `None`.
    pub sync: Option<Time>,
}

/// One for all.
impl Default for TaskCounters {
    fn default() -> Self {
        TaskCounters { count: 1, sync: None }
    }
}

/// How long a flow's sender computes before it sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compute {
    /// Always so long.
    Fixed(Time),
    /// Exponentially distributed with this mean, each flow by itself.
    Exp(Time),
}

impl TaskRule {
    /// Reads a table; `class` is its tasks' if it names none.
    pub(crate) fn read(
        fields: Table,
        class: Option<u8>,
        duration: Option<Time>,
        setting: &Setting,
    ) -> Result<Self, ScenarioError> {
        Workflow::check_form(fields.get("workflow"))?;
        let mut rule: TaskRule = table::read(fields)?;
        rule.class = rule.class.or(class);
        if rule.class.is_none() {
            return Err(ScenarioError::new("class", "must be given: the numbers up to 255 are taken"));
        }
        rule.check(setting)?;
        if duration.is_some_and(|duration| rule.start >= duration) {
            return Err(ScenarioError::new("start", "must come before the workload's duration is over"));
        }
        Ok(rule)
    }

    /// Reads the size tables that are named, relative to `base`.
    pub(crate) fn read_files(&mut self, base: &Path) -> Result<(), ScenarioError> {
        let sizes = [("sizes", &mut self.sizes), ("flow_sizes", &mut self.flow_sizes)];
        for (field, sizes) in sizes.into_iter().filter_map(|(field, sizes)| Some((field, sizes.as_mut()?))) {
            sizes.read_files(base).map_err(|error| error.within(field))?;
        }
        Ok(())
    }

    fn check(&self, setting: &Setting) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
        self.workflow.build(setting).map_err(|error| error.within("workflow"))?;
        match (&self.sizes, &self.flow_sizes) {
            (Some(_), Some(_)) => {
                return wrong("flow_sizes", "give sizes or flow_sizes, not both".to_owned());
            }
            (None, None) => {
                let message =
                    "is missing; give the bytes of a task, such as { fixed = \"1MB\" }, or flow_sizes";
                return wrong("sizes", message.to_owned());
            }
            (None, Some(_)) if self.workflow.is_collective() => {
                let message = "needs another workflow: the flows of a collective are parts of what each host has; give sizes";
                return wrong("flow_sizes", message.to_owned());
            }
            _ => {}
        }
        self.check_arrivals()?;
        if let Some(split) = self.split.filter(|split| *split < MIN_SPLIT) {
            let message = format!(
                "{split} must be at least {MIN_SPLIT}, about a packet; leave it out if no flow is split"
            );
            return wrong("split", message);
        }
        if let Some(Compute::Fixed(Time::ZERO) | Compute::Exp(Time::ZERO)) = self.compute {
            return wrong(
                "compute",
                "is 0, but must be a positive time; leave it out if nothing is computed".into(),
            );
        }
        match self.stop {
            Some(stop) if stop <= self.start => {
                wrong("stop", format!("is {stop}, but must come after start = {}", self.start))
            }
            _ => Ok(()),
        }
    }

    fn check_arrivals(&self) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: &str| Err(ScenarioError::new(field, message));
        if self.count == Some(0) {
            return wrong("count", "is 0, but must be at least 1");
        }
        if self.arrivals == Arrivals::Once {
            let given = [("load", self.load.is_some()), ("every", self.every.is_some())];
            if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
                return wrong(field, "has no meaning where all tasks arrive at once");
            }
            if self.count.is_none() {
                return wrong("count", "is missing; say how many tasks arrive at once");
            }
        }
        match (self.load, self.every) {
            (Some(_), Some(_)) => wrong("every", "give load or every, not both"),
            (None, None) if self.arrivals != Arrivals::Once => {
                wrong("load", "is missing; give a share of the host links' rate such as 0.6, or every")
            }
            (Some(load), None) => check_load(load),
            (None, Some(Time::ZERO)) => wrong("every", "is 0, but must be a positive time"),
            _ => Ok(()),
        }
    }

    /// Whether it says when its last task arrives.
    pub(crate) fn ends(&self) -> bool {
        self.count.is_some() || self.stop.is_some()
    }
}
