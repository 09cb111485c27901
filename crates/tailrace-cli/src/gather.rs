//! `tailrace gather` and `tailrace show`: tables of what is finished, from a folder alone.

use tailrace_console::{complain, complain_part, say};
use tailrace_experiment::{Entry, Error, Gathered, axis_text};

use crate::run::{draw, tables};
use crate::{Host, args, output};

/// Of how many missing runs it is said which they are.
const NAMED: usize = 5;

pub fn gather(options: &args::Gather, host: &dyn Host) -> Result<i32, Error> {
    let dir = &options.folder;
    let gathered = tailrace_experiment::gather(dir, &mut |text| complain!("{text}"))?;
    complain_part!("{}", output::control_note(&gathered.results));
    let drawn = draw(dir, host);
    shown(&gathered, options);
    drawn.list();
    complain_part!("{}", missing(&gathered.missing, gathered.results.runs.len()));
    Ok(drawn.exit_status().max(i32::from(!gathered.missing.is_empty())))
}

/// The tables alone.
pub fn show(options: &args::Gather) -> Result<i32, Error> {
    let gathered = tailrace_experiment::look(&options.folder, &mut |text| complain!("{text}"))?;
    shown(&gathered, options);
    complain_part!("{}", missing(&gathered.missing, gathered.results.runs.len()));
    Ok(0)
}

fn shown(gathered: &Gathered, options: &args::Gather) {
    say!("{}", gathered.title);
    if gathered.scale < 1.0 {
        say!("scale {} of the paper's; what gave way is in experiment.toml", gathered.scale);
    }
    tables(&gathered.axes, &gathered.results, &options.folder, options.each);
}

/// Which runs are missing, beside so many that are there.
fn missing(runs: &[Entry], there: usize) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let head = format!(
        "{} of {} runs are missing; tables, claims and plots are of the others:\n",
        runs.len(),
        runs.len() + there
    );
    let line = |run: &Entry| {
        let axes = run.point.axes().map(|(axis, value)| format!(", {axis} = {}", axis_text(value)));
        format!("  {}{}\n", run.scheme, axes.collect::<String>())
    };
    let lines: String = runs.iter().take(NAMED).map(line).collect();
    let rest = match runs.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!("  and {rest} more\n"),
    };
    head + &lines + &rest
}
