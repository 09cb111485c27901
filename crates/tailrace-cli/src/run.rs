//! `tailrace run`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tailrace_config::ScenarioError;
use tailrace_console::{complain, complain_part, say, say_part};
use tailrace_experiment::{Error, Experiment, Folder, Observer, Options, Override, Results, SEED, run_all};
use tailrace_run::{ThreadPolicy, Threads, processors};
use tailrace_scenario::Level;

use crate::forecast::Machine;
use crate::overrides::overrides;
use crate::progress::Display;
use crate::watch::Watching;
use crate::{Cluster, Drawn, Host, args, forecast, live, output, report, tables};

pub fn run(options: &args::Run, host: &dyn Host) -> Result<i32, Error> {
    made(options, host).map(|(status, _)| status)
}

/// Runs and shows what is asked for; returns the experiments and their results, too.
pub fn made(options: &args::Run, host: &dyn Host) -> Result<(i32, Vec<(Experiment, Results)>), Error> {
    let mut overrides = overrides(&options.settings.set)?;
    overrides.extend(options.settings.level.map(at_level));
    // All files first: a mistake in the last one should not show after an hour.
    let read = |file: &PathBuf| Experiment::read_only(file, &options.only, &overrides, options.scale);
    let experiments: Vec<Experiment> = options.files.iter().map(read).collect::<Result<_, _>>()?;
    check_several(options, &experiments)?;
    for experiment in &experiments {
        live::check_hosts(experiment.runs.iter().map(|run| run.but_for_seed()))?;
        if !options.dry_run {
            complain_part!("{}", forecast::note(experiment, foreseen(experiment, options))?);
        }
        complain_part!("{}", output::level_notes(experiment)?);
        complain_part!("{}", output::overload_notes(experiment));
    }
    let (mut status, mut all) = (0, Vec::new());
    for experiment in experiments {
        let dir = match &options.out {
            None => experiment.default_dir(),
            Some(out) if options.files.len() == 1 => out.clone(),
            Some(out) => out.join(&experiment.name),
        };
        if options.dry_run {
            let lines = forecast::lines(&experiment, &dir, foreseen(&experiment, options))?;
            lines.iter().for_each(|line| say!("{line}"));
            continue;
        }
        let (own, results) = run_one(&experiment, &dir, options, host)?;
        status = status.max(own);
        all.push((experiment, results));
    }
    Ok((status, all))
}

/// Several experiments have folders of their own, and what is for one is given with one.
fn check_several(options: &args::Run, experiments: &[Experiment]) -> Result<(), ScenarioError> {
    for option in
        [("--part", options.part.is_some()), ("--json", options.json), ("--pcap", !options.pcap.is_empty())]
    {
        if let (name, true) = option
            && experiments.len() > 1
        {
            let message = format!("is for one experiment, but {} files are given", experiments.len());
            return Err(ScenarioError::new(name, message));
        }
    }
    let mut seen = BTreeMap::new();
    for experiment in experiments {
        if let Some(other) = seen.insert(&experiment.name, &experiment.file) {
            let message = format!(
                "{} and {} would have the same folder, {}: run them by themselves, with --out",
                other.display(),
                experiment.file.display(),
                experiment.name
            );
            return Err(ScenarioError::new("FILE", message));
        }
    }
    Ok(())
}

/// What runs of an experiment will be made on: on one core, as far as is known of machines of a cluster, and each on one thread
/// if it is watched.
fn foreseen(experiment: &Experiment, options: &args::Run) -> Machine {
    let machine = machine(experiment, options);
    let whole = options.watch || !options.pcap.is_empty();
    match options.cluster {
        Some(_) => Machine { jobs: 1, threads: Threads::default() },
        None if whole => Machine { threads: Threads::default(), ..machine },
        None => machine,
    }
}

/// What runs of an experiment are made on here: by itself a run has the machine, and whoever asks for threads has fewer runs at a
/// time.
fn machine(experiment: &Experiment, options: &args::Run) -> Machine {
    let is_lone = experiment.runs.len() == 1 && options.settings.jobs.is_none();
    let threads = match options.settings.threads {
        None if is_lone => Threads::of_lone_run(),
        asked => Threads::of(asked),
    };
    let shares = threads.policy == ThreadPolicy::Requested;
    Machine { jobs: jobs(options.settings.jobs.or(shares.then(|| processors() / threads.at_most))), threads }
}

fn run_one(
    experiment: &Experiment,
    dir: &Path,
    options: &args::Run,
    host: &dyn Host,
) -> Result<(i32, Results), Error> {
    if options.part.is_some() && experiment.stop.is_some() {
        let message = "is not for experiments with [stop]: which runs are made depends on others";
        return Err(ScenarioError::new("--part", message).into());
    }
    let (results, in_lines) = make(experiment, dir, options, host)?;
    complain_part!("{}", output::warnings(experiment, &results));
    show(experiment, results, dir, options, host, in_lines)
}

/// Makes the runs that are missing; returns all results, and whether lines of the live view are on standard output.
fn make(
    experiment: &Experiment,
    dir: &Path,
    options: &args::Run,
    host: &dyn Host,
) -> Result<(Results, bool), Error> {
    let runs = options.part.map(|part| part.runs(experiment.runs.len()));
    let mut display =
        Display::new(experiment, host, "", runs.as_ref().map_or(experiment.runs.len(), Vec::len));
    let mut in_lines = false;
    let results = match &options.cluster {
        Some(cluster) => {
            if options.settings.threads.is_some() {
                complain!(
                    "note: --threads is for runs of this machine: those of a cluster have one thread each"
                );
            }
            let results = on_cluster(experiment, dir, cluster, options, host, &mut display);
            display.finish();
            results
        }
        None => {
            let pcap = options.pcap.clone();
            let Machine { jobs, threads } = machine(experiment, options);
            let running = Options { jobs, threads, resume: !options.settings.fresh, pcap, runs };
            if options.watch {
                let mut watching = Watching::new(experiment, display.silent());
                let results = run_all(experiment, dir, &running, &mut watching);
                in_lines = watching.close();
                results
            } else {
                let results = run_all(experiment, dir, &running, &mut display);
                display.finish();
                results
            }
        }
    };
    Ok((results?, in_lines))
}

/// Prints results as the options ask; returns the exit status with them.
fn show(
    experiment: &Experiment,
    results: Results,
    dir: &Path,
    options: &args::Run,
    host: &dyn Host,
    in_lines: bool,
) -> Result<(i32, Results), Error> {
    if let Some(part) = options.part {
        let (made, all) = (results.runs.len(), experiment.runs.len());
        let dir = dir.display();
        say!(
            "part {part}: its runs, {made} of {all}, are in {dir}; tailrace gather {dir} puts together what is there"
        );
        return Ok((0, results));
    }
    let drawn = draw(dir, host);
    if options.json || in_lines {
        let all = output::json(experiment, &results, &drawn.files)?;
        match in_lines {
            // Line by line to the end.
            true => say!("{all}"),
            false => say!("{all:#}"),
        }
        return Ok((drawn.exit_status(), results));
    }
    say!("{}", experiment.title);
    say_part!("{}", output::scale_note(experiment));
    tables(&experiment.axes(), &results, dir, options.settings.each);
    drawn.list();
    let mut status = drawn.exit_status();
    if options.report {
        status = status.max(report::exit_status(report::written(&[dir.to_owned()], None, host)));
    }
    Ok((status, results))
}

/// Has a cluster make the runs that are not there.
fn on_cluster(
    experiment: &Experiment,
    dir: &Path,
    cluster: &str,
    options: &args::Run,
    host: &dyn Host,
    display: &mut Display<'_>,
) -> Result<Results, Error> {
    if experiment.runs.iter().any(|run| run.but_for_seed().level == Level::Live) {
        let message = "live runs are of this machine: they cannot be made on a cluster";
        return Err(ScenarioError::new("--cluster", message).into());
    }
    let fresh = options.settings.fresh;
    if fresh && experiment.stop.is_some() {
        let message = "is not for experiments with [stop] on a cluster: remove the result folder instead";
        return Err(ScenarioError::new("--fresh", message).into());
    }
    let folder = Folder::open(experiment, dir, &mut |text| display.note(text))?;
    let mut wanted = folder.wanted(experiment, fresh);
    if experiment.stop.is_none() {
        let makes: BTreeSet<usize> = wanted.iter().copied().collect();
        let there = (0..experiment.runs.len()).filter(|run| !makes.contains(run));
        there.for_each(|run| display.finished(run, true));
    }
    let workers =
        Cluster { place: cluster, jobs: options.settings.jobs, store: options.store.as_deref(), fresh };
    while !wanted.is_empty() {
        host.on_cluster(experiment, &folder, &workers, display).unwrap_or_else(|| {
            let message = "needs the Python package (`make demo` sets it up)";
            Err(ScenarioError::new("--cluster", message).into())
        })?;
        // Without [stop], all is made that can be.
        wanted = if experiment.stop.is_some() { folder.wanted(experiment, false) } else { Vec::new() };
    }
    folder.summarise(experiment, &mut |text| display.note(text))
}

/// Shows the tables of results, and says where they are.
pub fn tables(axes: &[String], results: &Results, dir: &Path, each: bool) {
    say_part!("{}", tables::of_flows(axes, results, each));
    say_part!("{}", tables::of_tasks(axes, results, each));
    say_part!("{}", output::lateness_note(results));
    let [means, runs] = ["means.csv", "summary.csv"].map(|name| dir.join(name));
    if axes.iter().any(|axis| axis == SEED) {
        say!("tables: {}, of each run {}", means.display(), runs.display());
    } else {
        say!("tables: {}", runs.display());
    }
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
    Override { field: "level".to_owned(), value: Level::from(level).name().to_owned() }
}

/// How many runs at a time.
pub fn jobs(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(processors).max(1)
}
