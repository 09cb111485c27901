//! A whole experiment: its file, its runs, their summary, and whether all is as it should be.

pub mod check;
pub mod file;
pub mod gather;
pub mod places;
pub mod plan_table;
pub mod remote;
pub mod runner;
pub mod summary;
