//! The host agent's commands. A build may lack it, since it takes a compiler for the kernel's programs.

#[cfg(feature = "agent")]
mod answers;
#[cfg(feature = "agent")]
mod ask;
#[cfg(feature = "agent")]
mod claim;
#[cfg(feature = "agent")]
mod datapath;
mod dry_run;
#[cfg(feature = "agent")]
mod fleet;
#[cfg(feature = "agent")]
mod grouped;
#[cfg(feature = "agent")]
mod hosts;
#[cfg(feature = "agent")]
mod interface;
#[cfg(feature = "agent")]
mod known;
#[cfg(feature = "agent")]
mod learn;
#[cfg(feature = "agent")]
mod left;
#[cfg(feature = "agent")]
mod measure;
#[cfg(feature = "agent")]
mod measured;
#[cfg(feature = "agent")]
mod metrics;
#[cfg(feature = "agent")]
mod notify;
#[cfg(feature = "agent")]
mod status;
#[cfg(feature = "agent")]
mod tag;
#[cfg(feature = "agent")]
mod weighed;

use tailrace_experiment::Error;
use tailrace_run::{StartAgents, for_agent};
use tailrace_scenario::{AgentConfig, Level, Scenario};

use crate::flows::in_file;
use crate::{Host, args};

#[cfg(feature = "agent")]
pub use measure::measure;

/// `tailrace measure` of a build without the agent.
#[cfg(not(feature = "agent"))]
pub fn measure(_: &args::Measure, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}

pub fn agent(options: &args::Agent, host: &dyn Host) -> Result<i32, Error> {
    #[cfg(feature = "agent")]
    if let Some(ask) = &options.ask {
        return ask::ask(ask, host);
    }
    // Without the agent there is none to be asked.
    let Some(file) = &options.file else { return Err(absent()) };
    let config = AgentConfig::read(file)?;
    let part = for_agent(&config).map_err(|error| in_file(error.into(), file))?;
    if options.dry_run {
        say_part!("{}", dry_run::tables(&config, &part)?);
        #[cfg(feature = "agent")]
        tag::doubts(&config).iter().for_each(|doubt| complain!("note: this machine: {doubt}"));
        return Ok(0);
    }
    #[cfg(feature = "agent")]
    return tag::tag(options, file, config, part, host);
    #[cfg(not(feature = "agent"))]
    {
        let _ = (host, part);
        Err(absent())
    }
}

/// How agents are started at hosts of live fabrics, if this build has them.
pub fn agents() -> Option<StartAgents> {
    #[cfg(feature = "agent")]
    return Some(hosts::start);
    #[cfg(not(feature = "agent"))]
    None
}

/// Fails, before anything runs, if hosts of these scenarios have agents and this build has none.
pub fn check_hosts<'a>(mut scenarios: impl Iterator<Item = &'a Scenario>) -> Result<(), Error> {
    let lacks = agents().is_none() && scenarios.any(|of| of.level == Level::Live && of.live.agent);
    if lacks { Err(absent()) } else { Ok(()) }
}

pub fn absent() -> Error {
    let message = "this build has no host agent: apt-get install clang-19 libelf-dev zlib1g-dev pkg-config protobuf-compiler libprotobuf-dev, then make \
                   .venv/built (or cargo build -p tailrace-cli --features agent)";
    Error::Live(tailrace_linux::LiveError::SetUp(message.to_owned()))
}

/// What the agent's crate could not do.
#[cfg(feature = "agent")]
fn failed(error: tailrace_agent::AgentError) -> Error {
    use tailrace_agent::AgentError;
    use tailrace_linux::LiveError;
    match error {
        AgentError::Pins(message) => tailrace_config::ScenarioError::new("agent.pins", message).into(),
        AgentError::Rights(message) => Error::Live(LiveError::Rights(message)),
        AgentError::File { path, source } => Error::storage(&path, source),
        other => Error::Live(LiveError::SetUp(other.to_string())),
    }
}
