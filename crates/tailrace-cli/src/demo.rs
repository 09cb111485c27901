//! `tailrace demo`: the first experiment, where there is no repository.

use std::fs;
use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_experiment::Error;

use crate::report::{self, Written};
use crate::{Host, args, run};

const FILE: &str = include_str!("../../../experiments/demo.toml");

pub fn demo(options: &args::Demo, host: &dyn Host) -> Result<i32, Error> {
    let file = options.out.join("demo.toml");
    written(&options.out, &file)?;
    let as_run = args::Run {
        files: vec![file.clone()],
        how: args::How { set: Vec::new(), level: None, jobs: options.jobs, fresh: false, each: false },
        only: Vec::new(),
        scale: options.scale,
        out: Some(options.out.join("results")),
        part: None,
        json: false,
        report: false,
        dry_run: false,
        pcap: None,
        cluster: None,
        store: None,
    };
    let file = file.display();
    say!("experiment: {file}; change it, and `tailrace run {file} --report`");
    let status = run::run(&as_run, host)?;
    // Without the Python package there is none, and that is no failure here.
    match report::written(&[options.out.join("results")], None, host) {
        Written::No => Ok(1),
        Written::Yes | Written::Never => Ok(status),
    }
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
