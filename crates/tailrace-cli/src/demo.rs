//! `tailrace demo`: the first experiment, where there is no repository.

use std::fs;
use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_console::say;
use tailrace_experiment::Error;

use crate::{Host, args, report, run};

const FILE: &str = include_str!("../../../experiments/demo.toml");

pub fn demo(options: &args::Demo, host: &dyn Host) -> Result<i32, Error> {
    let file = options.out.join("demo.toml");
    written(&options.out, &file)?;
    let settings = args::RunSettings {
        set: Vec::new(),
        level: None,
        jobs: options.jobs,
        threads: None,
        fresh: false,
        each: false,
    };
    let results = options.out.join("results");
    let as_run = args::Run::of(&file, settings, options.scale, &results);
    let file = file.display();
    say!("experiment: {file}; change it, and `tailrace run {file} --report`");
    let status = run::run(&as_run, host)?;
    Ok(report::at_end(&results, status, host))
}

/// Writes the experiment, unless it is there already. One that is not this one is left alone.
fn written(folder: &Path, file: &Path) -> Result<(), Error> {
    match fs::read_to_string(file) {
        Ok(text) if text == FILE => return Ok(()),
        Ok(_) => {
            let message = format!(
                "{} is there and is not what `tailrace demo` writes: run it with `tailrace run`, or name another folder",
                file.display()
            );
            return Err(ScenarioError::new("--out", message).into());
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::storage(file, error)),
    }
    fs::create_dir_all(folder).map_err(|error| Error::storage(folder, error))?;
    let part = folder.join("demo.toml.part");
    fs::write(&part, FILE).and_then(|()| fs::rename(&part, file)).map_err(|error| Error::storage(file, error))
}
