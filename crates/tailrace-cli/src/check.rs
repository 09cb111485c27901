//! `tailrace check`.

use tailrace_console::{complain_part, say, say_part};
use tailrace_experiment::{Error, Experiment, Line, Outcome, PASSES};
use tailrace_run::Threads;

use crate::forecast::Machine;
use crate::progress::Display;
use crate::run::jobs;
use crate::{Host, args, forecast, output};

pub fn check(options: &args::Check, host: &dyn Host) -> Result<i32, Error> {
    // Read all files first: a mistake in the last one should not show after an hour.
    let read = |file: &std::path::PathBuf| Experiment::read(file, &[], options.scale);
    let experiments: Vec<Experiment> = options.files.iter().map(read).collect::<Result<_, _>>()?;
    let machine = Machine { jobs: 1, threads: Threads::default() };
    for experiment in &experiments {
        complain_part!("{}", forecast::note(experiment, machine)?);
    }
    let mut shortfalls = 0;
    for experiment in &experiments {
        shortfalls += check_one(experiment, options, host)?;
    }
    match shortfalls {
        0 => say!(
            "everything holds ({} file{})",
            experiments.len(),
            if experiments.len() == 1 { "" } else { "s" }
        ),
        n => say!("shortfalls: {n}"),
    }
    Ok(i32::from(shortfalls > 0))
}

fn check_one(experiment: &Experiment, options: &args::Check, host: &dyn Host) -> Result<usize, Error> {
    let (dir, temporary) = match &options.out {
        Some(out) => (out.join(&experiment.name), false),
        None => (std::env::temp_dir().join(format!("tailrace-check-{}", std::process::id())), true),
    };
    let mut display = Display::new(experiment, host, "check ", experiment.runs.len() * PASSES);
    let checked = tailrace_experiment::check(experiment, &dir, jobs(options.jobs), &mut display);
    display.finish();
    if temporary {
        let _ = std::fs::remove_dir_all(&dir);
    }
    let (results, lines) = checked?;
    complain_part!("{}", output::warnings(experiment, &results));
    say!("\n{} — {}", experiment.file.display(), experiment.title);
    say_part!("{}", output::scale_note(experiment));
    for Line { outcome, text } in &lines {
        let mark = match outcome {
            Outcome::Holds => "✓",
            Outcome::Differs => "≠",
            Outcome::Fails => "✗",
        };
        say!("{mark} {text}");
    }
    Ok(lines.iter().filter(|line| line.outcome == Outcome::Fails).count())
}
