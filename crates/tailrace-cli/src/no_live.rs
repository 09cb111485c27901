//! Commands on real packets in a build that has none: each answers with what is missing.

use tailrace_core::LiveError;
use tailrace_experiment::Error;
use tailrace_run::NO_LIVE;
use tailrace_scenario::Scenario;

use crate::{Host, args};

/// There is no live level.
pub fn provide() {}

/// What is missing.
pub fn absent() -> Error {
    Error::Live(LiveError::SetUp(NO_LIVE.to_owned()))
}

pub fn asks_for_much(_: &Scenario) -> Option<String> {
    None
}

/// Fails, before anything runs, if one of these scenarios is live.
pub fn check_hosts<'a>(mut scenarios: impl Iterator<Item = &'a Scenario>) -> Result<(), Error> {
    if scenarios.any(|of| of.level == tailrace_scenario::Level::Live) { Err(absent()) } else { Ok(()) }
}

pub fn emulate(_: &args::Emulate, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}

pub fn switch(_: &args::Switch, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}

pub fn enter(_: &args::Enter) -> Result<i32, Error> {
    Err(absent())
}

pub fn proxy(_: &args::Proxy, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}

pub fn replay(_: &args::Replay) -> Result<i32, Error> {
    Err(absent())
}

pub fn measure(_: &args::Measure, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}

pub fn agent(_: &args::Agent, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}

pub fn control(_: &args::Control, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}
