//! The experiment that a comparison is: an ordinary file and the flows that it names, to be run again, changed and kept.

use std::fs;
use std::path::{Path, PathBuf};

use tailrace_config::ScenarioError;
use tailrace_core::Reveals;
use tailrace_scenario::Level;
use tailrace_workload::FlowSpec;
use tailrace_workload::feed::Feed;
use toml::{Table, Value};

use super::described::Described;
use crate::error::Error;
use crate::output::files::write_whole;
use crate::output::flow_list::write_flows;

/// Schemes that are compared where nobody names others: a baseline, one for unknown sizes, one that is told all.
const USUAL: [&str; 3] = ["dctcp", "pias", "pfabric"];
/// The same where flows have deadlines, or are of tasks.
const WITH_DEADLINES: [&str; 4] = ["dctcp", "d2tcp", "karuna", "pfabric"];
const WITH_TASKS: [&str; 3] = ["rcp", "pfabric", "baraat"];
/// The first two at flow level, where congestion control is an equal share.
const USUAL_RATES: [&str; 3] = ["rcp", "pias", "srpt"];
const RATES_WITH_DEADLINES: [&str; 3] = ["rcp", "karuna", "edf"];

/// Schemes for a trace of which nobody says with which, that exist at a level.
pub fn usual_schemes(flows: &[FlowSpec], level: Level) -> Vec<String> {
    let has = |of: fn(&FlowSpec) -> bool| flows.iter().any(of);
    let (usual, with_deadlines): (&[&str], &[&str]) = match level {
        Level::Flow => (&USUAL_RATES, &RATES_WITH_DEADLINES),
        Level::Packet | Level::Live => (&USUAL, &WITH_DEADLINES),
    };
    let names = if has(|flow| flow.reveals == Reveals::Deadline) {
        with_deadlines
    } else if has(|flow| flow.task != 0) {
        &WITH_TASKS
    } else {
        usual
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Writes `NAME.toml`, the flows and, where the trace calls hosts otherwise than by their numbers, `hosts.csv` into a folder;
/// returns the first. Its title says nothing of the schemes, so that results of others join those that are there. A file of
/// that name that somebody has changed, or that is for another fabric, is kept, unless it is to be written anew; and so are the flows of
/// a trace of another name.
pub fn write(
    described: &Described,
    name: &str,
    schemes: &[String],
    folder: &Path,
    anew: bool,
) -> Result<PathBuf, Error> {
    let path = folder.join(format!("{name}.toml"));
    let text = text(described, name, schemes);
    let there = fs::read(&path).ok();
    if !anew && there.is_some_and(|there| there != own_text(described, name, &there).into_bytes()) {
        let message = "is there and says something else than this comparison: run it with `tailrace run`, choose another \
                       folder with --out, or have it written anew with --fresh";
        return Err(ScenarioError::new("", message).in_file(&path).into());
    }
    let flows = folder.join("flows.parquet");
    if flows.exists() && !path.exists() {
        let message =
            format!("holds the flows of another trace than {name}: choose another folder with --out");
        return Err(ScenarioError::new("", message).in_file(folder).into());
    }
    fs::create_dir_all(folder).map_err(|error| Error::storage(folder, error))?;
    write_flows(&flows, Feed::from(described.trace.flows.clone()))?;
    let hosts = &described.trace.hosts;
    if hosts.iter().enumerate().any(|(number, host)| !host.is_empty() && *host != number.to_string()) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let rows = hosts.iter().enumerate().map(|(number, host)| [number.to_string(), host.clone()]);
        let written = std::iter::once(["host".to_owned(), "name".to_owned()])
            .chain(rows)
            .try_for_each(|row| writer.write_record(row));
        let path = folder.join("hosts.csv");
        written.map_err(|error| Error::storage(&path, std::io::Error::other(error.to_string())))?;
        let text = writer.into_inner().map_err(|error| Error::storage(&path, error.into_error()))?;
        write_whole(&path, &text)?;
    }
    write_whole(&path, text.as_bytes())?;
    Ok(path)
}

/// What would be written for the schemes that a file names.
fn own_text(described: &Described, name: &str, file: &[u8]) -> String {
    let file: Table = std::str::from_utf8(file).ok().and_then(|text| text.parse().ok()).unwrap_or_default();
    let schemes = file.get("scheme").and_then(Value::as_array).into_iter().flatten();
    let names = schemes.filter_map(|scheme| Some(scheme.get("name")?.as_str()?.to_owned()));
    text(described, name, &names.collect::<Vec<_>>())
}

fn text(described: &Described, name: &str, schemes: &[String]) -> String {
    let text = |text: &str| Value::String(text.to_owned());
    let table = |fields: &[(&str, Value)]| -> Value {
        Value::Table(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    };
    let plot = |kind: &str, y: &str, title: &str| {
        table(&[("kind", text(kind)), ("y", text(y)), ("title", text(title))])
    };
    let plots = [
        ("slowdown", plot("cdf", "slowdown", "Slowdown of all flows")),
        ("completion", plot("cdf", "fct_ns", "Completion times of all flows")),
    ];
    let mut experiment: Table = Table::new();
    experiment.insert("title".to_owned(), text(&format!("The flows of {name}")));
    experiment.insert("fabric".to_owned(), Value::Table(described.fabric.clone()));
    experiment.insert("workload".to_owned(), table(&[("flow_list", text("flows.parquet"))]));
    let schemes = schemes.iter().map(|scheme| table(&[("name", text(scheme))]));
    experiment.insert("scheme".to_owned(), Value::Array(schemes.collect()));
    experiment.insert("plot".to_owned(), table(&plots));
    let written = toml::to_string(&experiment).expect("tables can be written");
    format!("# Made by `tailrace compare`: change what you like, and run it with `tailrace run`.\n{written}")
}
