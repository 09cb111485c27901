//! From a table to a plot: the mistakes that show without any run.

use serde::de::{Deserialize, Deserializer};
use tailrace_config::suggest::unknown;
use tailrace_config::{ScenarioError, table};
use tailrace_workload::published;
use toml::{Table, Value};

use super::{Kind, Of, Plot, Side};
use crate::claims::vet::class_exists;
use crate::output::tables::{FLOW_COLUMNS, TASK_COLUMNS};
use crate::spec::name;
use crate::stats::class_summary::METRICS;
use crate::stats::task_stats::TASK_METRICS;

/// What stands before the name of a series that is drawn by its mean.
pub(super) const SERIES: &str = "series:";

impl Plot {
    /// The plots of an experiment, by their names, in the order of its file.
    pub(crate) fn all(experiment: &Table) -> Result<Vec<(String, Plot)>, ScenarioError> {
        let tables = match experiment.get("plot") {
            None => return Ok(Vec::new()),
            Some(Value::Table(tables)) => tables,
            Some(_) => return Err(ScenarioError::new("plot", "must be tables, [plot.NAME]")),
        };
        tables.iter().map(|(name, table)| Ok((name.clone(), Plot::read(name, table)?))).collect()
    }

    /// Reads the table `[plot.NAME]`. Errors name the field as the file does.
    pub fn read(name: &str, table: &Value) -> Result<Plot, ScenarioError> {
        name::check(name).map_err(|message| ScenarioError::new("plot", message)).and_then(|()| {
            let table = table.as_table().ok_or_else(|| {
                ScenarioError::new("", "must be a table, for example with x = \"workload.load\"")
            });
            table.and_then(read).map_err(|error| error.within(&format!("plot.{name}")))
        })
    }
}

fn read(table: &Table) -> Result<Plot, ScenarioError> {
    let kind = kind(table)?;
    let fields = kind.fields();
    if let Some(field) = table.keys().find(|key| *key != "kind" && !fields.contains(&key.as_str())) {
        let what = format!("field of a {} plot", kind.name());
        return Err(ScenarioError::new(field, unknown(&what, field, fields)));
    }
    for field in kind.needed() {
        if !table.contains_key(*field) {
            let message = format!("is missing, and a {} plot needs it", kind.name());
            return Err(ScenarioError::new(*field, message));
        }
    }
    let mut plot: Plot = table::read(table.clone())?;
    if kind == Kind::Cdf && plot.y.is_empty() {
        plot.y = vec![if plot.of == Of::Flows { "fct_ns" } else { "tct_ns" }.into()];
    }
    if matches!(kind, Kind::Cdf | Kind::Workloads) {
        plot.log.get_or_insert_with(|| vec![Side::X]);
    }
    for (field, text) in [("title", &plot.title), ("x_label", &plot.x_label), ("y_label", &plot.y_label)] {
        name::check_title(text).map_err(|message| ScenarioError::new(field, message))?;
    }
    check_fields(&plot)?;
    Ok(plot)
}

fn kind(table: &Table) -> Result<Kind, ScenarioError> {
    let Some(kind) = table.get("kind") else { return Ok(Kind::Line) };
    let Some(kind) = kind.as_str() else { return Err(ScenarioError::new("kind", "must be text in quotes")) };
    let known = Kind::ALL.into_iter().find(|known| known.name() == kind);
    let unknown = || unknown("kind of plot", kind, Kind::ALL.map(Kind::name));
    known.ok_or_else(|| ScenarioError::new("kind", unknown()))
}

/// Whether what is named can be there in any result.
fn check_fields(plot: &Plot) -> Result<(), ScenarioError> {
    let one = |what: &str| match plot.y.as_slice() {
        [y] => Ok(y.as_str()),
        _ => Err(ScenarioError::new("y", format!("must be one {what}"))),
    };
    let known = |what: &str, name: &str, known: &[&str]| match known.contains(&name) {
        true => Ok(()),
        false => Err(ScenarioError::new("y", unknown(what, name, known.iter().copied()))),
    };
    match plot.kind {
        Kind::Line | Kind::Bars => {
            if plot.y.is_empty() {
                return Err(ScenarioError::new("y", "must name at least one column of the summary"));
            }
            let columns: Vec<&str> = METRICS.into_iter().chain(TASK_METRICS).collect();
            for y in plot.y.iter().filter(|y| !y.starts_with(SERIES)) {
                known("column", y, &columns)?;
            }
        }
        Kind::Cdf if plot.of == Of::Flows => {
            known("column of flows", one("column of flows")?, &FLOW_COLUMNS)?
        }
        Kind::Cdf => known("column of tasks", one("column of tasks")?, &TASK_COLUMNS)?,
        Kind::Series => one("metric of a series").map(drop)?,
        Kind::Workloads => return check_names(&plot.names),
    }
    if let Some(at) = (1..plot.y.len()).find(|&at| plot.y[..at].contains(&plot.y[at])) {
        return Err(ScenarioError::new("y", format!("names \"{}\" twice", plot.y[at])));
    }
    class_exists(&plot.class)?;
    let of_tasks = |y: &String| TASK_METRICS.contains(&y.as_str());
    let tasks = (plot.kind == Kind::Cdf && plot.of == Of::Tasks) || plot.y.iter().any(of_tasks);
    let (size_class, group) = plot.class.split_once('@').unwrap_or((&plot.class, "0"));
    if tasks && !(size_class == "all" && group.parse::<u8>().is_ok()) {
        let message = format!(
            "\"{}\" is of flows: of tasks there are \"all\", or \"all@\" and a traffic class",
            plot.class
        );
        return Err(ScenarioError::new("class", message));
    }
    Ok(())
}

fn check_names(names: &[String]) -> Result<(), ScenarioError> {
    let known = || published::list().iter().map(|workload| workload.name);
    match names.iter().find(|name| published::find(name).is_none()) {
        Some(name) => Err(ScenarioError::new("names", unknown("workload", name, known()))),
        None if names.is_empty() => Err(ScenarioError::new("names", "must name at least one workload")),
        None => Ok(()),
    }
}

/// Where a list is wanted, one value will do.
macro_rules! one_or_more {
    ($read:ident, $type:ty, $wrapped:ty, $wrap:expr, $expecting:literal) => {
        pub(super) fn $read<'de, D: Deserializer<'de>>(from: D) -> Result<$wrapped, D::Error> {
            #[derive(serde::Deserialize)]
            #[serde(untagged, expecting = $expecting)]
            enum OneOrMore {
                One($type),
                More(Vec<$type>),
            }
            Ok($wrap(match OneOrMore::deserialize(from)? {
                OneOrMore::One(value) => vec![value],
                OneOrMore::More(values) => values,
            }))
        }
    };
}

one_or_more!(texts, String, Vec<String>, Vec::from, "must be text or a list of text");
one_or_more!(numbers, u16, Vec<u16>, Vec::from, "must be a whole number from 0 to 65535 or a list of such");
one_or_more!(sides, Side, Option<Vec<Side>>, Some, "must be \"x\", \"y\" or a list of both");
