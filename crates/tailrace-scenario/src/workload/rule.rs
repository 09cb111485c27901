//! One rule of a workload: flows of one kind, while it is in force.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::Time;

use super::pattern::{PairFilter, Pattern};
use super::sizes::{Round, Sizes};
use crate::error::ScenarioError;

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
    /// Sources under "pairs".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Vec<u16>>,
    /// Destinations under "pairs".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<u16>>,
    /// Which pairs of the pattern send; each at the rate that it has in the whole pattern.
    #[serde(default)]
    pub pairs: PairFilter,
    /// When flows start.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// How much the busiest host link carries, headers included, as a share of its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Share of all flows that are of this rule, relative to the other rules'; the workload's load is then
    /// that of all rules together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_share: Option<f64>,
    /// Mean time between two flows (incast: bursts) of the rule, in place of a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
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
    /// Checks everything that does not depend on other rules.
    pub(super) fn check(&self, hosts: u16) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
        self.check_pattern(hosts)?;
        if self.arrivals == Arrivals::Once {
            let given = [
                ("load", self.load.is_some()),
                ("flow_share", self.flow_share.is_some()),
                ("every", self.every.is_some()),
            ];
            if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
                return wrong(field, "has no meaning where all flows start at once".to_owned());
            }
        }
        match (self.load, self.flow_share, self.every) {
            (Some(_), Some(_), _) => {
                return wrong("flow_share", "give load or flow_share, not both".to_owned());
            }
            (Some(_), _, Some(_)) => return wrong("every", "give load or every, not both".to_owned()),
            (_, Some(_), Some(_)) => return wrong("every", "give flow_share or every, not both".to_owned()),
            (None, None, None) if self.arrivals != Arrivals::Once => {
                return wrong(
                    "load",
                    "is missing; give a share of the host links' rate such as 0.6".to_owned(),
                );
            }
            _ => {}
        }
        if let Some(load) = self.load {
            check_load(load)?;
        }
        match self.flow_share {
            Some(share) if !(share > 0.0 && share <= 1e9) => {
                return wrong("flow_share", format!("is {share}, but must be a positive number"));
            }
            _ => {}
        }
        if self.every == Some(Time::ZERO) {
            return wrong("every", "is 0, but must be a positive time".to_owned());
        }
        match self.stop {
            Some(stop) if stop <= self.start => {
                wrong("stop", format!("is {stop}, but must come after start = {}", self.start))
            }
            _ => Ok(()),
        }
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
