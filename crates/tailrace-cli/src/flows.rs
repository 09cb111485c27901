//! `tailrace flows`.

use std::path::Path;

use tailrace_experiment::{Error, Experiment};

use crate::args;
use crate::run::overrides;

pub fn flows(options: &args::Flows) -> Result<i32, Error> {
    let experiment = Experiment::read(&options.file, &overrides(&options.set)?, options.scale)?;
    let flows = tailrace_experiment::exported_flows(&experiment.runs[0].scenario())
        .map_err(|error| in_file(error, &options.file))?;
    tailrace_experiment::write_flows(&options.out, flows)?;
    say!("{}", options.out.display());
    Ok(0)
}

/// Says where in the experiment a mistake is.
pub fn in_file(error: Error, file: &Path) -> Error {
    match error {
        Error::Input(error) => {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            error.locate(&text).in_file(file).into()
        }
        other => other,
    }
}
