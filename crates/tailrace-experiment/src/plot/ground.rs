//! What plots draw from: an experiment's runs, before or after they were made.

use std::collections::BTreeSet;

use tailrace_config::{ScenarioError, table};
use tailrace_scenario::Level;
use toml::{Table, Value};

use crate::spec::plan::Planned;
use crate::spec::sweep::axis_text;

/// The runs of an experiment, as far as plots choose between them.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// Axes in which runs may differ, the scheme first, with the value of each run.
    pub(super) axes: Vec<(String, Vec<Value>)>,
    /// Schemes of the experiment that are not run.
    pub(super) left_out: Vec<String>,
    /// Whether all points are there; below full scale some may be missing.
    pub(super) whole: bool,
    /// Whether there are tasks.
    pub(super) tasks: bool,
    /// Whether series are recorded.
    pub(super) series: bool,
    /// The classes that results have, where there are results.
    pub(super) classes: Option<Vec<String>>,
}

/// Results, as whoever draws them describes them.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Found {
    axes: Table,
    left_out: Vec<String>,
    scale: f64,
    tasks: bool,
    classes: Vec<String>,
}

impl Ground {
    /// The runs that are planned.
    pub(crate) fn planned(runs: &[Planned], left_out: Vec<String>, scale: f64) -> Self {
        let schemes = runs.iter().map(|run| Value::String(run.scheme.clone())).collect();
        let mut axes = vec![("scheme".to_owned(), schemes)];
        for axis in runs.first().map(|run| run.point.names()).unwrap_or_default() {
            let value = |run: &Planned| run.point.get(&axis).cloned().unwrap_or(Value::Boolean(false));
            let values = runs.iter().map(value).collect();
            axes.push((axis, values));
        }
        let records = |run: &Planned| {
            let measure = &run.but_for_seed().measure;
            run.but_for_seed().level == Level::Packet
                && (measure.sample_every.is_some() || measure.trace_every_flow.is_some())
        };
        Ground {
            axes,
            left_out,
            whole: scale >= 1.0,
            tasks: runs.iter().any(|run| run.but_for_seed().workload.has_tasks()),
            series: runs.iter().any(records),
            classes: None,
        }
    }

    /// Results, as TOML: `axes` (axis = values, one for each run), `left_out`, `scale`, `tasks` and `classes`.
    pub fn found(text: &str) -> Result<Self, ScenarioError> {
        let table = text.parse::<Table>().map_err(|e| ScenarioError::syntax(&e, text))?;
        let found: Found = table::read(table)?;
        let list = |(axis, values): (String, Value)| match values {
            Value::Array(values) => Ok((axis, values)),
            _ => Err(ScenarioError::new("axes", "must be lists")),
        };
        Ok(Ground {
            axes: found.axes.into_iter().map(list).collect::<Result<_, _>>()?,
            left_out: found.left_out,
            whole: found.scale >= 1.0,
            tasks: found.tasks,
            series: true,
            classes: Some(found.classes),
        })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|(axis, _)| axis.as_str())
    }

    /// The values of an axis, one for each run.
    pub(super) fn values(&self, axis: &str) -> Option<&[Value]> {
        self.axes.iter().find(|(name, _)| name == axis).map(|(_, values)| values.as_slice())
    }

    /// How many different values these runs have on an axis.
    pub(super) fn distinct(&self, axis: &str, runs: &[usize]) -> usize {
        let values = self.values(axis).unwrap_or_default();
        runs.iter().map(|&run| axis_text(&values[run])).collect::<BTreeSet<_>>().len()
    }

    /// How many different combinations of values these runs have on several axes.
    pub(super) fn combinations(&self, axes: &[String], runs: &[usize]) -> usize {
        let columns: Vec<&[Value]> = axes.iter().filter_map(|axis| self.values(axis)).collect();
        let point = |&run: &usize| columns.iter().map(|values| axis_text(&values[run])).collect::<Vec<_>>();
        runs.iter().map(point).collect::<BTreeSet<_>>().len()
    }
}
