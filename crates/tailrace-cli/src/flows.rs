//! `tailrace flows`.

use tailrace_console::say;
use tailrace_experiment::{Error, Experiment};

use crate::args;
use crate::mistake::in_file;
use crate::overrides::overrides;

pub fn flows(options: &args::Flows) -> Result<i32, Error> {
    let experiment = Experiment::read(&options.file, &overrides(&options.set)?, options.scale)?;
    let flows = tailrace_experiment::exported_flows(&experiment.runs[0].scenario())
        .map_err(|error| in_file(error, &options.file))?;
    tailrace_experiment::write_flows(&options.out, flows)?;
    say!("{}", options.out.display());
    Ok(0)
}
