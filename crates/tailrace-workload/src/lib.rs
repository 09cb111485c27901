//! Which flows and tasks are asked for: sizes, patterns, arrivals, deadlines, workflows, lists and traces; and what
//! they amount to on a fabric: rates, pairs and loads. Nothing here has a state that a run changes: what draws flows
//! is [`feed`].

mod cdf_file;
mod check_of_rule;
mod deadlines;
pub mod feed;
mod flow;
pub mod flow_list;
mod gamma;
mod host_load;
mod hosts;
mod input_file;
mod multiple;
mod offered;
mod pairs;
mod pairs_of_rule;
mod pattern;
mod plan;
pub mod published;
mod rule;
mod sampler;
mod setting;
mod shapes;
mod shares;
mod sizes;
mod spec;
pub mod task;

pub use deadlines::{Deadlines, least};
pub use flow::FlowSpec;
pub use gamma::{Gamma, Scope};
pub use host_load::HostLoad;
pub use hosts::Hosts;
pub use input_file::InputFile;
pub use multiple::rounded_up;
pub use offered::{Offered, on_the_wire};
pub use pairs::Pairs;
pub use pattern::{Incast, PairFilter, Pattern};
pub use plan::{Plan, PlannedRule};
pub use rule::{Arrivals, Rule};
pub use sampler::Sampler;
pub use setting::{Setting, check_slice};
pub use sizes::{OwnSizes, Part, Round, Sizes};
pub use spec::Workload;
