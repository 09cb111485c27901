//! `tailrace run`.

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_experiment::{Error, Experiment, Options, Override, Results, run_all};

use crate::progress::Display;
use crate::{Drawn, Host, agent, args, output};

pub fn run(options: &args::Run, host: &dyn Host) -> Result<i32, Error> {
    let mut overrides = overrides(&options.set)?;
    overrides.extend(options.level.map(at_level));
    let experiment = Experiment::read_only(&options.file, &options.only, &overrides, options.scale)?;
    agent::check_hosts(experiment.runs.iter().map(|run| run.but_for_seed()))?;
    complain_part!("{}", output::cost_note(&experiment));
    complain_part!("{}", output::level_notes(&experiment)?);
    let dir = options.out.clone().unwrap_or_else(|| experiment.default_dir());
    let runs = options.part.map(|part| part.runs(experiment.runs.len()));
    let mut display =
        Display::new(&experiment, host, "", runs.as_ref().map_or(experiment.runs.len(), Vec::len));
    let (jobs, pcap) = (jobs(options.jobs), options.pcap.clone());
    let how = Options { jobs, resume: !options.fresh, pcap, runs };
    let results = run_all(&experiment, &dir, &how, &mut display);
    display.finish();
    let results = results?;
    complain_part!("{}", output::warnings(&experiment, &results));
    if let Some(part) = options.part {
        let (made, all) = (results.runs.len(), experiment.runs.len());
        let dir = dir.display();
        say!(
            "part {part}: its runs, {made} of {all}, are in {dir}; tailrace gather {dir} puts together what is there"
        );
        return Ok(0);
    }
    let drawn = draw(&dir, host);
    if options.json {
        say!("{:#}", output::json(&experiment, &results, &drawn.files)?);
        return Ok(drawn.exit_status());
    }
    say!("{}", experiment.title);
    say_part!("{}", output::scale_note(&experiment));
    tables(&experiment.axes(), &results, &dir);
    drawn.list();
    Ok(drawn.exit_status())
}

/// Shows the tables of results, and says where they are.
pub fn tables(axes: &[String], results: &Results, dir: &Path) {
    say!("{}", output::table(axes, results));
    say_part!("{}", output::task_table(axes, results));
    say_part!("{}", output::lateness_note(results));
    say!("tables: {}", dir.join("summary.csv").display());
}

/// Draws the plots, and says which could not be drawn: the results are there all the same.
pub fn draw(dir: &Path, host: &dyn Host) -> Drawn {
    let Some(drawn) = host.draw(dir) else {
        complain!("no plots: they need the Python package (`make demo` sets it up)");
        return Drawn::default();
    };
    drawn.failures.iter().for_each(|failure| complain!("error: a plot could not be drawn: {failure}"));
    drawn
}

impl Drawn {
    /// Says where the pictures are.
    pub fn list(&self) {
        self.files.iter().for_each(|plot| say!("plot: {}", plot.display()));
    }

    /// A plot that could not be drawn is a failure.
    pub fn exit_status(&self) -> i32 {
        i32::from(!self.failures.is_empty())
    }
}

/// What `--level` is short for.
fn at_level(level: args::Level) -> Override {
    let value = match level {
        args::Level::Packet => "packet",
        args::Level::Flow => "flow",
        args::Level::Live => "live",
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
