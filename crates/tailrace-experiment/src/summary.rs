//! The summary of an experiment: one row per run and class, as Parquet and CSV, and the verdicts as JSON.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use serde_json::json;
use toml::Value;

use crate::claim::Claim;
use crate::error::Error;
use crate::results::{Finished, Results};
use crate::stats::{ClassSummary, METRICS};
use crate::store::Store;
use crate::sweep::{Point, axis_text};
use crate::task_stats::TASK_METRICS;

/// Writes `summary.parquet`, `summary.csv` and `claims.json`.
pub fn write(store: &Store, axes: &[String], claims: &[Claim], results: &Results) -> Result<(), Error> {
    store.write_table("summary.parquet", &table(axes, results))?;
    store.write("summary.csv", csv(axes, results).as_bytes())?;
    let claims = claims.iter().map(|claim| {
        let verdict = claim.judge(results)?;
        Ok(json!({
            "id": claim.id, "source": claim.source, "text": claim.text, "paper": claim.paper,
            "tolerance": claim.tolerance, "measured": verdict.measured.value, "spread": verdict.measured.spread,
            "standing": verdict.standing, "verdict": verdict.words, "wrong": claim.wrong,
            "measured_wrong": verdict.measured.wrong, "holds_for_wrong": verdict.holds_for_wrong,
            "deviation": claim.deviation,
        }))
    });
    let claims = claims.collect::<Result<Vec<_>, Error>>()?;
    store.write("claims.json", format!("{:#}\n", json!(claims)).as_bytes())
}

fn rows(results: &Results) -> impl Iterator<Item = (&Finished, &ClassSummary)> + Clone {
    results.runs.iter().flat_map(|run| run.summary.classes.iter().map(move |class| (run, class)))
}

/// The columns of numbers: those of tasks only where there are tasks.
fn metrics(results: &Results) -> impl Iterator<Item = &'static str> {
    let of_tasks = rows(results).any(|(_, class)| class.tasks.is_some());
    METRICS.into_iter().chain(TASK_METRICS.into_iter().filter(move |_| of_tasks))
}

fn table(axes: &[String], results: &Results) -> RecordBatch {
    let text = |of: &dyn Fn(&Finished, &ClassSummary) -> String| {
        Arc::new(StringArray::from_iter_values(rows(results).map(|(run, class)| of(run, class)))) as ArrayRef
    };
    let mut columns = places(axes, rows(results).map(|(run, _)| (run.scheme.as_str(), &run.point)));
    columns.push(("class".into(), text(&|_, class| class.class.clone())));
    for metric in metrics(results) {
        let values = Float64Array::from_iter(rows(results).map(|(_, class)| class.metric(metric)));
        columns.push((metric.into(), Arc::new(values)));
    }
    columns.push(("run".into(), text(&|run, _| run.key.clone())));
    batch(columns)
}

/// The columns that say which run a row is about: its scheme, and its point on each axis.
pub(crate) fn places<'a>(
    axes: &[String],
    rows: impl Iterator<Item = (&'a str, &'a Point)> + Clone,
) -> Vec<(String, ArrayRef)> {
    let schemes = StringArray::from_iter_values(rows.clone().map(|(scheme, _)| scheme));
    let mut columns: Vec<(String, ArrayRef)> = vec![("scheme".into(), Arc::new(schemes))];
    for axis in axes {
        let value = |point: &Point| point.get(axis).cloned().unwrap_or(Value::Boolean(false));
        let values: Vec<Value> = rows.clone().map(|(_, point)| value(point)).collect();
        columns.push((axis.clone(), axis_column(&values)));
    }
    columns
}

pub(crate) fn batch(columns: Vec<(String, ArrayRef)>) -> RecordBatch {
    match RecordBatch::try_from_iter(columns) {
        Ok(batch) => batch,
        Err(error) => panic!("columns of a table of runs differ in length: {error}"),
    }
}

/// Numbers where all values are numbers, else text.
fn axis_column(values: &[Value]) -> ArrayRef {
    let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|n| n as f64));
    match values.iter().map(number).collect::<Option<Vec<f64>>>() {
        Some(numbers) => Arc::new(Float64Array::from(numbers)),
        None => Arc::new(StringArray::from_iter_values(values.iter().map(axis_text))),
    }
}

fn csv(axes: &[String], results: &Results) -> String {
    let quote = |text: &str| {
        if text.contains([',', '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let mut header = vec!["scheme".to_owned()];
    header.extend_from_slice(axes);
    header.push("class".into());
    header.extend(metrics(results).map(str::to_owned));
    header.push("run".into());
    let mut lines = vec![header.iter().map(|h| quote(h)).collect::<Vec<_>>().join(",")];
    for (run, class) in rows(results) {
        let mut cells = vec![quote(&run.scheme)];
        cells.extend(run.point.axes().map(|(_, value)| quote(&axis_text(value))));
        cells.push(quote(&class.class));
        cells.extend(
            metrics(results).map(|metric| class.metric(metric).map_or(String::new(), |v| v.to_string())),
        );
        cells.push(run.key.clone());
        lines.push(cells.join(","));
    }
    lines.join("\n") + "\n"
}
