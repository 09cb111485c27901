//! One rule of a workload: flows of one kind, while it is in force.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::{Reveals, Time};

use super::deadlines::Deadlines;
use super::hosts::Hosts;
use super::pattern::{PairFilter, Pattern};
use super::sizes::{Round, Sizes};

/// Flows of one kind: how large, between whom, how often, from when to when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Flow sizes.
    pub sizes: Sizes,
    /// To what drawn sizes are rounded.
    #[serde(default)]
    pub round: Round,
    /// Who sends to whom.
    #[serde(default)]
    pub pattern: Pattern,
    /// Sources under "pairs" and "other-racks": a list of hosts, or `{ racks = [0, 2] }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Hosts>,
    /// Destinations under "pairs" and "other-racks", likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Hosts>,
    /// Which pairs of the pattern send; each at the rate that it has in the whole pattern.
    #[serde(default)]
    pub pairs: PairFilter,
    /// To how many of them each source sends, drawn once from the seed; to all if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destinations: Option<u16>,
    /// When flows start.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// How much the busiest host link carries, headers included, as a share of its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Share of all flows that are of this rule; shares of all rules add up to 1, and the workload's load is
    /// that of all rules together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_share: Option<f64>,
    /// Share of all bytes that are of this rule, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_share: Option<f64>,
    /// Mean time between two flows (incast: bursts) of the rule, in place of a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// When its flows must be done; no deadline if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadlines>,
    /// What its flows tell of themselves: "deadline" (and size), "size" or "nothing". The most that they have
    /// if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reveals: Option<Reveals>,
    /// When the rule comes into force.
    #[serde(default)]
    pub start: Time,
    /// When it ends; flows that have started go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Traffic class of its flows, for statistics; the rule's number, counted from 0, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Slice (tenant) of its flows; 0 for none.
    #[serde(default)]
    pub slice: u16,
}

/// When flows start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At random, independent of each other.
    #[default]
    Poisson,
    /// At equal intervals, the first at once; pairs at random.
    Periodic,
    /// All at once: one flow for each pair (incast: one burst for each receiver).
    Once,
}

impl Rule {
    /// What the rule's flows tell of themselves.
    pub fn revealed(&self) -> Reveals {
        let most = if self.deadline.is_some() { Reveals::Deadline } else { Reveals::Size };
        self.reveals.unwrap_or(most)
    }

    /// Refuses bursts where there are tasks: both are numbered from 1.
    pub(super) fn beside_tasks(self, has_tasks: bool) -> Result<Self, ScenarioError> {
        if has_tasks && matches!(self.pattern, Pattern::Incast(_)) {
            let message = "is incast, whose bursts are numbered as tasks are: beside tasks, write bursts as tasks too, with \
                           workflow = { parallel = { servers = 20 } }";
            return Err(ScenarioError::new("pattern", message));
        }
        Ok(self)
    }

    /// One above its largest class; under Γ control it takes three.
    pub(super) fn classes_end(&self) -> u16 {
        let taken = if matches!(self.deadline, Some(Deadlines::Gamma(_))) { 3 } else { 1 };
        u16::from(self.class.unwrap_or_default()) + taken
    }
}

/// Checks a load.
pub(super) fn check_load(load: f64) -> Result<(), ScenarioError> {
    if load > 0.0 && load < 1.0 {
        Ok(())
    } else {
        Err(ScenarioError::new("load", format!("is {load}, but must lie between 0 and 1, both excluded")))
    }
}
