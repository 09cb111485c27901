//! `tailrace agent` and `tailrace measure`. A build may lack the daemon, since it takes a compiler for the kernel's programs.

use tailrace_agent::{AgentConfig, StartAgents, dry_run, for_agent};
use tailrace_console::say_part;
use tailrace_experiment::Error;
use tailrace_scenario::{Level, Scenario};

use super::error::absent;
use crate::mistake::in_file;
use crate::{Host, args};

#[cfg(feature = "agent")]
pub use daemon::measure;

/// How agents are started at hosts of live fabrics, if this build has them.
pub const START: Option<StartAgents> = {
    #[cfg(feature = "agent")]
    {
        Some(tailrace_agent::daemon::start)
    }
    #[cfg(not(feature = "agent"))]
    {
        None
    }
};

/// `tailrace measure` of a build without the agent.
#[cfg(not(feature = "agent"))]
pub fn measure(_: &args::Measure, _: &dyn Host) -> Result<i32, Error> {
    Err(absent())
}

pub fn agent(options: &args::Agent, host: &dyn Host) -> Result<i32, Error> {
    #[cfg(feature = "agent")]
    if let Some(ask) = &options.ask {
        return super::ask::ask(ask, host);
    }
    // Without the agent there is none to be asked.
    let Some(file) = &options.file else { return Err(absent()) };
    let config = AgentConfig::read(file)?;
    let part = for_agent(&config).map_err(|error| in_file(error.into(), file))?;
    if options.dry_run {
        say_part!("{}", dry_run::tables(&config, &part)?);
        #[cfg(feature = "agent")]
        daemon::doubts(&config);
        return Ok(0);
    }
    #[cfg(feature = "agent")]
    return daemon::agent(options, file, config, part, host);
    #[cfg(not(feature = "agent"))]
    {
        let _ = (host, part);
        Err(absent())
    }
}

/// Fails, before anything runs, if hosts of these scenarios have agents and this build has none.
pub fn check_hosts<'a>(mut scenarios: impl Iterator<Item = &'a Scenario>) -> Result<(), Error> {
    let lacks = START.is_none() && scenarios.any(|of| of.level == Level::Live && of.live.agent);
    if lacks { Err(absent()) } else { Ok(()) }
}

#[cfg(feature = "agent")]
mod daemon {
    //! The daemon's commands.

    use std::path::Path;

    use tailrace_agent::daemon::{self, By, Measure, Options};
    use tailrace_agent::{AgentConfig, HostPart};
    use tailrace_console::complain;
    use tailrace_experiment::Error;

    use super::super::error::of_agent;
    use crate::{Host, args};

    pub fn doubts(config: &AgentConfig) {
        daemon::doubts(config).iter().for_each(|doubt| complain!("note: this machine: {doubt}"));
    }

    pub fn agent(
        options: &args::Agent,
        file: &Path,
        config: AgentConfig,
        part: HostPart,
        host: &dyn Host,
    ) -> Result<i32, Error> {
        let options = Options { lasts: options.lasts, metrics: options.metrics };
        daemon::tag(&options, file, config, part, &|| host.interrupted()).map_err(of_agent)
    }

    pub fn measure(options: &args::Measure, host: &dyn Host) -> Result<i32, Error> {
        let by = options.by.map(|by| match by {
            args::By::Port => By::Port,
            args::By::Cgroup => By::Cgroup,
            args::By::Slice => By::Slice,
        });
        let args::Measure { lasts, interface, cgroup, rules, rate, out, .. } = options.clone();
        let measure = Measure { lasts, interface, cgroup, by, rules, rate, out };
        daemon::measure(&measure, &|| host.interrupted()).map_err(of_agent)
    }
}
