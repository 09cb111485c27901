//! `tailrace run`.

use std::path::{Path, PathBuf};

use tailrace_config::ScenarioError;
use tailrace_experiment::{Error, Experiment, Options, Override, run_all};

use crate::progress::Display;
use crate::{Host, args, output};

pub fn run(options: &args::Run, host: &dyn Host) -> Result<i32, Error> {
    let mut overrides = overrides(&options.set)?;
    overrides.extend(options.level.map(at_level));
    let experiment = Experiment::read(&options.file, &overrides, options.scale)?.only(&options.only)?;
    eprint!("{}", output::cost_note(&experiment));
    let dir = options.out.clone().unwrap_or_else(|| Path::new("out").join(&experiment.name));
    let mut display = Display::new(&experiment, host, "", 1);
    let how = Options { jobs: jobs(options.jobs), resume: !options.fresh, pcap: options.pcap.clone() };
    let results = run_all(&experiment, &dir, &how, &mut display);
    display.finish();
    let results = results?;
    eprint!("{}", output::warnings(&experiment, &results));
    let plots = draw(&dir, host);
    if options.json {
        say!("{:#}", output::json(&experiment, &results, &plots)?);
        return Ok(0);
    }
    say!("{}", experiment.title);
    say_part!("{}", output::scale_note(&experiment));
    say!("{}", output::table(&experiment, &results));
    say_part!("{}", output::task_table(&experiment, &results));
    say!("tables: {}", dir.join("summary.csv").display());
    for plot in &plots {
        say!("plot: {}", plot.display());
    }
    Ok(0)
}

/// Draws the plots; a failure to draw is a warning, for the results are there.
pub fn draw(dir: &Path, host: &dyn Host) -> Vec<PathBuf> {
    match host.draw(dir) {
        None => {
            eprintln!("no plots: they need the Python package (`make demo` sets it up)");
            Vec::new()
        }
        Some(Ok(plots)) => plots,
        Some(Err(message)) => {
            eprintln!("warning: plots were not drawn: {message}");
            Vec::new()
        }
    }
}

/// What `--level` is short for.
fn at_level(level: args::Level) -> Override {
    let value = match level {
        args::Level::Packet => "packet",
        args::Level::Flow => "flow",
    };
    Override { field: "level".to_owned(), value: value.to_owned() }
}

/// Reads `FIELD=VALUE`.
pub fn overrides(texts: &[String]) -> Result<Vec<Override>, ScenarioError> {
    let read = |text: &String| match text.split_once('=') {
        Some((field, value)) if !field.trim().is_empty() => {
            Ok(Override { field: field.trim().to_owned(), value: value.trim().to_owned() })
        }
        _ => {
            let message = format!("\"{text}\" is not FIELD=VALUE, for example workload.load=0.7");
            Err(ScenarioError::new("--set", message))
        }
    };
    texts.iter().map(read).collect()
}

/// How many runs at a time.
pub fn jobs(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}
