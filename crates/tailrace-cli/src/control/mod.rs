//! `tailrace control`: what decides for the hosts of a fleet, over etcd.

#[cfg(feature = "agent")]
pub mod brain;
#[cfg(feature = "agent")]
pub mod meeting;
#[cfg(feature = "agent")]
mod metrics;
#[cfg(feature = "agent")]
mod run;

use tailrace_experiment::Error;
use tailrace_run::for_fleet;
use tailrace_scenario::ControlConfig;

#[cfg(not(feature = "agent"))]
use crate::agent;
use crate::flows::in_file;
use crate::{Host, args};

pub fn control(options: &args::Control, host: &dyn Host) -> Result<i32, Error> {
    let config = ControlConfig::read(&options.file)?;
    let fleet = for_fleet(&config).map_err(|error| in_file(error.into(), &options.file))?;
    #[cfg(feature = "agent")]
    return run::run(options, config, fleet, host);
    #[cfg(not(feature = "agent"))]
    {
        let _ = (host, fleet, options.lasts, options.metrics);
        Err(agent::absent())
    }
}
