//! Where Karuna's thresholds come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Bytes, Facts, ParamError, Reveals, TrafficClass};

use super::model::{Kind, Mix, Model};
use crate::mlfq::check_thresholds;

/// Where splitting and sieving thresholds come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected \"optimal\", { objective = \"each\" }, { fitted = \"web-search\", load = 0.8 } or { splitting = [\"1MB\"], sieving = [\"100KB\"] }; an objective is \"joint\" or \"each\""
)]
pub enum Thresholds {
    /// `"optimal"`: those that minimise the mean completion time of flows without deadlines in the joint
    /// model, for the scenario's own classes, sizes and load.
    Named(Optimal),
    /// `{ objective = "each" }`: likewise, but it says whose mean is minimised.
    Own {
        /// "joint" or "each".
        objective: Objective,
    },
    /// `{ fitted = "web-search", load = 0.8 }`: those for a published workload, a third of the load with
    /// deadlines, a third of known and a third of unknown size.
    Fitted {
        /// The workload.
        fitted: String,
        /// The load.
        load: f64,
        /// Whose mean is minimised: "joint" or "each".
        #[serde(default, skip_serializing_if = "Objective::is_joint")]
        objective: Objective,
    },
    /// `{ splitting = […], sieving = […] }`: the thresholds themselves, ascending, two fewer than queues.
    Given {
        /// β: sizes that part flows of known size.
        splitting: Vec<Bytes>,
        /// α: bytes sent that part flows of unknown size.
        sieving: Vec<Bytes>,
    },
}

/// Whose mean completion time thresholds minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// That of known and unknown sizes together, as appendix A has it: what helps one type may cost the other.
    #[default]
    Joint,
    /// Splitting thresholds that of known sizes, sieving thresholds that of unknown sizes, each as if the other type
    /// were not there.
    Each,
}

impl Objective {
    fn is_joint(&self) -> bool {
        *self == Objective::Joint
    }
}

/// The word `"optimal"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Optimal {
    /// The minimum of the mean completion time in the joint model.
    #[default]
    Optimal,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds::Named(Optimal::Optimal)
    }
}

impl Thresholds {
    /// Whose mean they minimise; of given ones nothing is known.
    pub(super) fn objective(&self) -> Objective {
        match self {
            Thresholds::Own { objective } | Thresholds::Fitted { objective, .. } => *objective,
            Thresholds::Named(_) | Thresholds::Given { .. } => Objective::Joint,
        }
    }

    /// Splitting and sieving thresholds for so many queues.
    pub(super) fn resolve(&self, queues: u8, facts: &Facts) -> Result<(Vec<Bytes>, Vec<Bytes>), ParamError> {
        let levels = queues - 1;
        match self {
            Thresholds::Given { splitting, sieving } => {
                for (field, list) in [("splitting", splitting), ("sieving", sieving)] {
                    check(field, list, levels)?;
                }
                Ok((splitting.clone(), sieving.clone()))
            }
            Thresholds::Fitted { fitted, load, objective } => {
                let sizes = (facts.published_sizes)(fitted).ok_or_else(|| {
                    let message = format!("there is no workload \"{fitted}\"; tailrace workloads lists them");
                    ParamError::new("thresholds.fitted", message)
                })?;
                if !(*load > 0.0 && *load < 1.0) {
                    let message = format!("{load} must lie between 0 and 1, both excluded");
                    return Err(ParamError::new("thresholds.load", message));
                }
                let kind = Some(Kind { sizes: &sizes, load: load / 3.0 });
                optimum(&Mix { deadline: load / 3.0, known: kind, unknown: kind }, levels, *objective)
            }
            Thresholds::Named(Optimal::Optimal) => own(facts, levels, Objective::Joint),
            Thresholds::Own { objective } => own(facts, levels, *objective),
        }
    }
}

/// The optimum for the scenario's traffic.
fn own(facts: &Facts, levels: u8, objective: Objective) -> Result<(Vec<Bytes>, Vec<Bytes>), ParamError> {
    let traffic = facts.traffic.as_ref().ok_or_else(|| {
        let message = "the optimum needs a workload with sizes and a load; give lists";
        ParamError::new("thresholds", message)
    })?;
    optimal(&traffic.classes, levels, objective)
}

/// The optimum for what the scenario plans.
fn optimal(
    classes: &[TrafficClass],
    levels: u8,
    objective: Objective,
) -> Result<(Vec<Bytes>, Vec<Bytes>), ParamError> {
    let class = |reveals| classes.iter().find(|class| class.reveals == reveals);
    let kind = |reveals| class(reveals).map(|class| Kind { sizes: &class.sizes, load: class.load });
    let (known, unknown) = (kind(Reveals::Size), kind(Reveals::Nothing));
    if known.is_none() && unknown.is_none() {
        // Only deadlines: there is nothing to part.
        let none = vec![Bytes::ZERO; usize::from(levels) - 1];
        return Ok((none.clone(), none));
    }
    let deadline = class(Reveals::Deadline).map_or(0.0, |class| class.load);
    optimum(&Mix { deadline, known, unknown }, levels, objective)
}

pub(super) fn optimum(
    mix: &Mix<'_>,
    levels: u8,
    objective: Objective,
) -> Result<(Vec<Bytes>, Vec<Bytes>), ParamError> {
    let plan = |mix: &Mix<'_>| {
        let model = Model::new(mix).map_err(|e| ParamError::new("thresholds", e.message))?;
        Ok(model.optimal(usize::from(levels)))
    };
    if objective == Objective::Each && mix.known.is_some() && mix.unknown.is_some() {
        let known = plan(&Mix { unknown: None, ..*mix })?;
        let unknown = plan(&Mix { known: None, ..*mix })?;
        return Ok((known.splitting, unknown.sieving));
    }
    let joint = plan(mix)?;
    Ok((joint.splitting, joint.sieving))
}

fn check(field: &str, list: &[Bytes], levels: u8) -> Result<(), ParamError> {
    check_thresholds(list, levels).map_err(|error| {
        let message = if list.len() + 1 == usize::from(levels) {
            error.message
        } else {
            let message =
                format!("{} thresholds for {} queues: two fewer are needed", list.len(), levels + 1);
            format!("{message}, as deadlines have a queue of their own")
        };
        ParamError::new(format!("thresholds.{field}"), message)
    })
}
