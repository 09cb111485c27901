//! `tailrace compare`.

use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table};
use tailrace_config::{ScenarioError, suggest};
use tailrace_console::{say, say_part};
use tailrace_experiment::paired::{Estimate, Lost, Pairs, by_size};
use tailrace_experiment::trace::{Described, Mapping, comparison};
use tailrace_experiment::{Error, Experiment, Finished, Results, SEED, axis_text, by_point};
use tailrace_scenario::Level;
use tailrace_schemes::{FLOW_NAMES, NAMES};

use crate::{Host, args, describe, report, run, tables};

pub fn compare(options: &args::Compare, host: &dyn Host) -> Result<i32, Error> {
    let described = describe::read(&options.own)?;
    say_part!("{}", describe::text(&options.own.trace, &described)?);
    let name = options.own.trace.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let dir = options.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&name));
    let level = options.settings.level.map_or(Level::Packet, Level::from);
    let file = written(&described, &name, &options.schemes, level, &dir, options.settings.fresh)?;
    let as_run = args::Run::of(&file, options.settings.clone(), 1.0, &dir.join("results"));
    let (status, made) = run::made(&as_run, host)?;
    for (experiment, results) in &made {
        say_part!("{}", beside(experiment, results)?);
    }
    say!("experiment: {}", file.display());
    Ok(report::at_end(&dir.join("results"), status, host))
}

/// Writes the experiment that compares schemes on the flows of a trace, as `tailrace compare` does before it runs it: some usual
/// ones of the level unless any are given. Returns its file, and what the trace holds.
pub fn comparison_of(
    trace: &Path,
    columns: &[Mapping],
    fabric: Option<toml::Table>,
    schemes: &[String],
    level: Level,
    dir: &Path,
    fresh: bool,
) -> Result<(PathBuf, String), Error> {
    let described = Described::read(trace, columns, fabric)?;
    let name = trace.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let file = written(&described, &name, schemes, level, dir, fresh)?;
    Ok((file, describe::text(trace, &described)? + &describe::overload(&described)?))
}

fn written(
    described: &Described,
    name: &str,
    schemes: &[String],
    level: Level,
    dir: &Path,
    fresh: bool,
) -> Result<PathBuf, Error> {
    let schemes = match schemes {
        [] => comparison::usual_schemes(&described.trace.flows, level),
        given => given.iter().map(|name| name.trim().to_owned()).collect(),
    };
    check(&schemes)?;
    if dir.join("experiment.toml").exists() {
        let message = format!("{} is a result folder of `tailrace run`: choose another one", dir.display());
        return Err(ScenarioError::new("--out", message).into());
    }
    comparison::write(described, name, &schemes, dir, fresh)
}

/// Two schemes at least, which exist and differ.
fn check(schemes: &[String]) -> Result<(), ScenarioError> {
    let wrong = |message: String| Err(ScenarioError::new("--schemes", message));
    let known = || NAMES.iter().chain(FLOW_NAMES).copied();
    if let Some(name) = schemes.iter().find(|name| !known().any(|known| known == name.as_str())) {
        return wrong(suggest::unknown("scheme", name, known()));
    }
    if let Some(twice) = schemes.iter().enumerate().find(|(place, name)| schemes[..*place].contains(name)) {
        return wrong(format!("names {} twice", twice.1));
    }
    match schemes {
        [one] => wrong(format!("is {one} alone: give two or more, separated by commas")),
        _ => Ok(()),
    }
}

/// Each scheme beside the first one, flow by flow, by size.
fn beside(experiment: &Experiment, results: &Results) -> Result<String, Error> {
    let mut text = String::new();
    for point in by_point(results, false) {
        let [first, others @ ..] = point.as_slice() else { continue };
        let axes = first[0].point.axes().filter(|(axis, _)| *axis != SEED);
        let at: String = axes.map(|(axis, value)| format!(", {axis} = {}", axis_text(value))).collect();
        let table = beside_at(experiment, first, others)?;
        text += &format!("beside {}, flow by flow{at}\n{table}", first[0].scheme);
    }
    Ok(text)
}

fn beside_at(
    experiment: &Experiment,
    first: &[&Finished],
    others: &[Vec<&Finished>],
) -> Result<String, Error> {
    let mut table = Table::new();
    table.load_style(tables::STYLE);
    table.set_header(["flows", "scheme", "paired", "faster", "slower", "time, × (95 %)", "mean (95 %)"]);
    let mut notes = Vec::new();
    let measure = &experiment.runs[0].but_for_seed().measure;
    for other in others {
        let runs: Vec<(&Path, &Path)> = first
            .iter()
            .zip(other)
            .map(|(before, after)| (before.dir.as_path(), after.dir.as_path()))
            .collect();
        for (name, found) in by_size(&runs, measure)? {
            table.add_row(row(name, other[0], &found));
            if name == "all" {
                notes.extend(note(other[0], &found));
            }
        }
    }
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    Ok(format!("{lines}{}", notes.iter().map(|note| format!("{note}\n")).collect::<String>()))
}

fn row(name: &str, run: &Finished, found: &Pairs) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let change = |share: f64| format!("{:+.1} %", 100.0 * share);
    vec![
        name.to_owned(),
        run.scheme.clone(),
        found.flows.to_string(),
        percent(found.faster),
        percent(found.slower),
        estimate(found.ratio, |ratio| format!("{ratio:.3}")),
        estimate(found.mean_change, change),
    ]
}

fn estimate(of: Estimate, text: impl Fn(f64) -> String) -> String {
    match of.interval {
        // A dash could be a sign.
        Some([low, high]) => format!("{} ({}…{})", text(of.value), text(low), text(high)),
        None => text(of.value),
    }
}

/// Which flows lose, and what did not complete under both.
fn note(run: &Finished, found: &Pairs) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(Lost { share, median_bytes, median_bytes_of_all, median_ratio }) = found.lost {
        notes.push(format!(
            "{}: {:.1} % of the flows take more than 1.1 times as long, half of these {median_ratio:.2} times or more; their \
             median size is {median_bytes:.0} bytes, that of all {median_bytes_of_all:.0}",
            run.scheme,
            100.0 * share
        ));
    }
    if found.unpaired > 0 {
        notes.push(format!("{}: {} flows completed under one of both only", run.scheme, found.unpaired));
    }
    notes
}
