//! `workflow = …`: what a task consists of.

mod aggregate;
mod built;
mod collective;
mod graph;
mod group;
mod parallel;
mod shuffle;

pub use aggregate::PartitionAggregate;
pub(super) use built::MAX_FLOWS;
pub use collective::{Collective, Pipeline};
pub use graph::GraphStage;
pub use group::Group;
pub use parallel::Parallel;
pub use shuffle::Shuffle;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use toml::Value;

use self::built::Built;
use crate::Setting;

/// What a task consists of. Exactly one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Workflow {
    /// Several servers send to a client at once, as when data are read from storage.
    Parallel(Parallel),
    /// An aggregator asks workers, of its own rack or by way of other aggregators.
    PartitionAggregate(PartitionAggregate),
    /// Every mapper sends to every reducer, once or several times.
    Shuffle(Shuffle),
    /// All hosts get the sum of what each has, over a ring.
    RingAllReduce(Collective),
    /// All hosts get the sum of what each has, up and down a binary tree.
    TreeAllReduce(Collective),
    /// Every host sends another part of what it has to every other.
    AllToAll(Collective),
    /// Hosts pass on micro-batches, forward and back.
    Pipeline(Pipeline),
    /// Named stages between given hosts, in the order that they say.
    Graph(Vec<GraphStage>),
}

/// The names of the workflows.
const NAMES: [&str; 8] = [
    "parallel",
    "partition-aggregate",
    "shuffle",
    "ring-all-reduce",
    "tree-all-reduce",
    "all-to-all",
    "pipeline",
    "graph",
];

impl Workflow {
    /// Checks that what is written is one workflow with its fields.
    pub(super) fn check_form(written: Option<&Value>) -> Result<(), ScenarioError> {
        let name = match written {
            None => return Ok(()),
            Some(Value::Table(table)) if table.len() == 1 => return Ok(()),
            Some(Value::String(name)) if NAMES.contains(&name.as_str()) => name,
            _ => NAMES[0],
        };
        let message = format!(
            "must be a table of one of {}, with its fields: {{ {name} = {{ … }} }}",
            NAMES.join(", ")
        );
        Err(ScenarioError::new("workflow", message))
    }

    /// The stages, and how hosts are drawn for them. Field names in errors are relative to `workflow`.
    pub(super) fn build(&self, setting: &Setting) -> Built {
        let (kind, built) = match self {
            Workflow::Parallel(parallel) => ("parallel", parallel.build(setting)),
            Workflow::PartitionAggregate(aggregate) => ("partition-aggregate", aggregate.build(setting)),
            Workflow::Shuffle(shuffle) => ("shuffle", shuffle.build(setting)),
            Workflow::RingAllReduce(ring) => ("ring-all-reduce", ring.ring(setting)),
            Workflow::TreeAllReduce(tree) => ("tree-all-reduce", tree.tree(setting)),
            Workflow::AllToAll(all) => ("all-to-all", all.all_to_all(setting)),
            Workflow::Pipeline(pipeline) => ("pipeline", pipeline.build(setting)),
            Workflow::Graph(stages) => ("graph", graph::build(stages, setting)),
        };
        built.map_err(|error| error.within(kind))
    }

    /// What the sizes of a task are the bytes of, if not of its first flows together.
    pub(super) fn is_collective(&self) -> bool {
        matches!(
            self,
            Workflow::RingAllReduce(_)
                | Workflow::TreeAllReduce(_)
                | Workflow::AllToAll(_)
                | Workflow::Pipeline(_)
        )
    }
}
