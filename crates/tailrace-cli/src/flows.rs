//! `tailrace flows`.

use tailrace_experiment::{Error, Experiment};

use crate::args;
use crate::run::overrides;

pub fn flows(options: &args::Flows) -> Result<i32, Error> {
    let experiment = Experiment::read(&options.file, &overrides(&options.set)?, options.scale)?;
    let flows = tailrace_experiment::flows(&experiment.runs[0].scenario)?;
    tailrace_experiment::write_flows(&options.out, flows)?;
    println!("{}", options.out.display());
    Ok(0)
}
