//! What is measured of a run's flows and tasks, and what a run leaves in short.

pub mod class_summary;
pub mod groups;
pub mod numbers;
pub mod run_summary;
pub mod statistics;
pub mod tally;
pub mod task_stats;
pub mod values;
