//! `tailrace control`: what decides for the hosts of a fleet, over etcd.

use tailrace_agent::{ControlConfig, for_fleet};
use tailrace_experiment::Error;

use crate::mistake::in_file;
use crate::{Host, args};

pub fn control(options: &args::Control, host: &dyn Host) -> Result<i32, Error> {
    let config = ControlConfig::read(&options.file)?;
    let fleet = for_fleet(&config).map_err(|error| in_file(error.into(), &options.file))?;
    #[cfg(feature = "agent")]
    {
        let args::Control { file, lasts, metrics } = options.clone();
        let options = tailrace_agent::controller::Options { file, lasts, metrics };
        tailrace_agent::controller::run(&options, config, fleet, &|| host.interrupted())
            .map_err(super::error::of_agent)
    }
    #[cfg(not(feature = "agent"))]
    {
        let _ = (host, fleet, options.lasts, options.metrics);
        Err(super::error::absent())
    }
}
