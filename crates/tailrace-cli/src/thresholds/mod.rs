//! `tailrace thresholds`: which flows belong into which queue, by the model of the scheme's queues.

mod karuna;
mod pias;

use std::path::Path;

use tailrace_core::SizeDistribution;
use tailrace_experiment::Error;
use tailrace_scenario::workload::{OwnSizes, Sizes, published};
use tailrace_scenario::{ScenarioError, unknown};

use crate::args::{self, Modelled};

pub fn thresholds(options: &args::Thresholds) -> Result<i32, Error> {
    let of_pias = [("--sizes", options.sizes.is_some()), ("--load", options.load.is_some())];
    let of_karuna = [
        ("--deadline-load", options.deadline_load.is_some()),
        ("--known", options.known.is_some()),
        ("--known-load", options.known_load.is_some()),
        ("--unknown", options.unknown.is_some()),
        ("--unknown-load", options.unknown_load.is_some()),
    ];
    match options.scheme {
        Modelled::Pias => {
            refuse(&of_karuna, "means nothing for pias: give --sizes and --load, or --scheme karuna")?;
            pias::thresholds(options)
        }
        Modelled::Karuna => {
            refuse(
                &of_pias,
                "means nothing for karuna: give --known and --known-load, or the same of --unknown",
            )?;
            karuna::thresholds(options)
        }
    }
}

/// Options of another scheme that were given.
fn refuse(options: &[(&str, bool)], why: &str) -> Result<(), Error> {
    options.iter().find(|(_, given)| *given).map_or(Ok(()), |(option, _)| Err(wrong(option, why)))
}

/// A published distribution, or the one in a file.
fn sizes(flag: &str, text: &str) -> Result<SizeDistribution, Error> {
    if let Some(table) = published::find(text) {
        return Ok(Sizes::Published(table).distribution()?);
    }
    if !Path::new(text).exists() {
        let names = published::list().iter().map(|table| table.name);
        let message = format!("{}, and there is no such file", unknown("workload", text, names));
        return Err(wrong(flag, message));
    }
    let mut sizes = Sizes::Own(OwnSizes::File(text.into()));
    sizes.read_files(Path::new(""))?;
    Ok(sizes.distribution()?)
}

fn wrong(flag: &str, message: impl Into<String>) -> Error {
    ScenarioError::new(flag, message.into()).into()
}
