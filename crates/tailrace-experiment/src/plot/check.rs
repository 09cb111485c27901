//! Whether runs have what a plot draws of them.

use serde_json::json;
use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use toml::{Table, Value};

use super::read::SERIES;
use super::{Ground, Kind, MAX_CURVES, Of, Plot};
use crate::spec::sweep::axis_text;
use crate::spec::sweep::same;
use crate::stats::task_stats::TASK_METRICS;

impl Plot {
    /// The plot as whoever draws it needs it, if the runs have what it asks for; `None` if it is about schemes or
    /// points that were left out. Errors name the field as the file does.
    pub fn on(&self, name: &str, ground: &Ground) -> Result<Option<serde_json::Value>, ScenarioError> {
        self.fitted(ground).map_err(|error| error.within(&format!("plot.{name}")))
    }

    fn fitted(&self, ground: &Ground) -> Result<Option<serde_json::Value>, ScenarioError> {
        let mut at = Table::new();
        if self.kind != Kind::Workloads {
            let Some(runs) = self.runs(ground, &mut at)? else { return Ok(None) };
            self.check_kind(ground)?;
            self.check_class(ground)?;
            self.check_base(ground, &runs)?;
            let schemes = ground.values("scheme").unwrap_or_default();
            // What others are compared with is no curve.
            let is_base = |run: &usize| schemes[*run].as_str() == Some(&self.relative_to);
            let drawn: Vec<usize> = runs.into_iter().filter(|run| !is_base(run)).collect();
            self.check_curves(ground, &drawn)?;
        }
        let log = Some(self.log.clone().unwrap_or_default());
        let whole = json!(Plot { at, log, group: self.curve_axes(ground), ..self.clone() });
        let own = |(field, _): &(String, serde_json::Value)| {
            field == "kind" || self.kind.fields().contains(&field.as_str())
        };
        Ok(whole.as_object().map(|fields| fields.clone().into_iter().filter(own).collect()))
    }

    /// The runs that `at` names, and its values as they stand in results; `None` if they were left out.
    fn runs(&self, ground: &Ground, at: &mut Table) -> Result<Option<Vec<usize>>, ScenarioError> {
        let mut runs: Vec<usize> = (0..ground.axes.first().map_or(0, |(_, values)| values.len())).collect();
        let mut left_out = ground.left_out.contains(&self.relative_to);
        for (axis, wanted) in &self.at {
            let Some(values) = ground.values(axis) else {
                return Err(ScenarioError::new("at", unknown("axis", axis, ground.names())));
            };
            let wanted = wanted.as_array().map_or_else(|| vec![wanted.clone()], Clone::clone);
            let mut chosen = Vec::new();
            for value in &wanted {
                let is_left_out =
                    axis == "scheme" && ground.left_out.iter().any(|s| value.as_str() == Some(s));
                match values.iter().find(|found| is(found, value)) {
                    Some(found) => chosen.push(found.clone()),
                    None if is_left_out || !ground.whole => left_out |= wanted.len() == 1,
                    None => return Err(ScenarioError::new("at", nowhere(axis, value, values))),
                }
            }
            runs.retain(|&run| chosen.iter().any(|value| *value == values[run]));
            at.insert(axis.clone(), Value::Array(as_in_results(chosen, values)));
        }
        if !self.relative_to.is_empty() && !ground.left_out.is_empty() {
            let schemes = ground.values("scheme").unwrap_or_default();
            left_out |= runs.iter().all(|&run| schemes[run].as_str() == Some(&self.relative_to));
        }
        if left_out || (runs.is_empty() && (!ground.whole || !ground.left_out.is_empty())) {
            return Ok(None);
        }
        if runs.is_empty() {
            return Err(ScenarioError::new("at", "no run has all of these values together"));
        }
        Ok(Some(runs))
    }

    /// Whether there are tasks and series, if it is about such.
    fn check_kind(&self, ground: &Ground) -> Result<(), ScenarioError> {
        if self.kind == Kind::Cdf && self.of == Of::Tasks && !ground.tasks {
            return Err(ScenarioError::new("of", "must be \"flows\": the workload has no tasks"));
        }
        let of_summary = matches!(self.kind, Kind::Line | Kind::Bars);
        let of_tasks = |y: &&String| of_summary && TASK_METRICS.contains(&y.as_str());
        if let Some(y) = self.y.iter().find(of_tasks).filter(|_| !ground.tasks) {
            return Err(ScenarioError::new("y", format!("{y} is of tasks, and the workload has none")));
        }
        let of_series =
            self.kind == Kind::Series || (of_summary && self.y.iter().any(|y| y.starts_with(SERIES)));
        if of_series && !ground.series {
            let message = "is a series, and none is recorded: that needs measure.sample_every or \
                           measure.trace_every_flow, at packet level";
            return Err(ScenarioError::new("y", message));
        }
        Ok(())
    }

    fn check_class(&self, ground: &Ground) -> Result<(), ScenarioError> {
        match &ground.classes {
            Some(classes) if !classes.contains(&self.class) => {
                let known = classes.iter().map(String::as_str);
                Err(ScenarioError::new("class", unknown("class", &self.class, known)))
            }
            _ => Ok(()),
        }
    }

    /// Whether runs of one curve differ in nothing but the seed, and curves can be told apart.
    fn check_curves(&self, ground: &Ground, runs: &[usize]) -> Result<(), ScenarioError> {
        let of_summary = matches!(self.kind, Kind::Line | Kind::Bars);
        if of_summary && ground.values(&self.x).is_none() {
            return Err(ScenarioError::new("x", unknown("axis", &self.x, ground.names())));
        }
        if let Some(axis) = self.group.iter().find(|axis| ground.values(axis).is_none()) {
            return Err(ScenarioError::new("group", unknown("axis", axis, ground.names())));
        }
        let group = self.curve_axes(ground);
        let free = |axis: &str| axis == "seed" || axis == self.x || group.iter().any(|other| other == axis);
        if let Some(axis) = ground.names().find(|&axis| !free(axis) && ground.distinct(axis, runs) > 1) {
            let message =
                format!("leaves out \"{axis}\", in which runs differ: add it here, or choose one in \"at\"");
            return Err(ScenarioError::new("group", message));
        }
        let columns = if of_summary { self.y.len() } else { 1 };
        let curves = columns * ground.combinations(&group, runs);
        if curves > MAX_CURVES {
            let message = format!(
                "would draw {curves} curves, more than anyone can tell apart ({MAX_CURVES}): choose some in \"at\""
            );
            return Err(ScenarioError::new("group", message));
        }
        Ok(())
    }

    /// The axes whose values are curves of their own: packets and rates are never one curve.
    fn curve_axes(&self, ground: &Ground) -> Vec<String> {
        let mut group = self.group.clone();
        let has = |group: &[String], axis: &str| group.iter().any(|other| other == axis);
        let levels = ground.values("level").is_some() && self.x != "level" && !has(&group, "level");
        if levels && has(&group, "scheme") {
            group.push("level".into());
        }
        group
    }

    /// Whether the scheme that others are compared with is among the runs.
    fn check_base(&self, ground: &Ground, runs: &[usize]) -> Result<(), ScenarioError> {
        let schemes = ground.values("scheme").unwrap_or_default();
        let names = || runs.iter().filter_map(|&run| schemes[run].as_str());
        if self.relative_to.is_empty() || names().any(|name| name == self.relative_to) {
            return Ok(());
        }
        let mut known: Vec<&str> = names().collect();
        known.sort_unstable();
        known.dedup();
        Err(ScenarioError::new("relative_to", unknown("scheme", &self.relative_to, known)))
    }
}

/// Whether a run's value is the one that a plot asks for: values that are neither text nor numbers may be written as
/// results show them.
fn is(found: &Value, wanted: &Value) -> bool {
    same(found, wanted) || wanted.as_str().is_some_and(|text| text == axis_text(found))
}

fn nowhere(axis: &str, wanted: &Value, values: &[Value]) -> String {
    let mut there: Vec<String> = Vec::new();
    for value in values.iter().map(axis_text) {
        if !there.contains(&value) {
            there.push(value);
        }
    }
    format!("no run has {axis} = {}; there are {}", axis_text(wanted), there.join(", "))
}

/// Values as a column of results has them: numbers where all runs have numbers, else text.
fn as_in_results(chosen: Vec<Value>, values: &[Value]) -> Vec<Value> {
    let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    if values.iter().all(|value| number(value).is_some()) {
        return chosen.iter().filter_map(number).map(Value::Float).collect();
    }
    chosen.iter().map(|value| Value::String(axis_text(value))).collect()
}
