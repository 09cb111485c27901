//! Tasks: sets of flows that together are one unit of work for a user. A task consists of stages that wait for each
//! other, and is complete when the last flow of its last stage is.

mod coflow;
#[cfg(test)]
mod mistake_tests;
mod placement;
mod plan;
mod rule;
mod shape;
mod workflow;

pub use coflow::{Coflow, read_trace};
pub use placement::{Aggregation, Placement, Servers};
pub use plan::{PlannedTasks, TaskSizes};
pub use rule::{Compute, TaskCounters, TaskRule};
pub use shape::{Chunk, Hop, Origin, Role, Shape, Stage, total, uneven};
pub use workflow::{
    Collective, GraphStage, Group, Parallel, PartitionAggregate, Pipeline, Shuffle, Workflow,
};
