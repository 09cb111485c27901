//! The summary of an experiment: one row per run and class, one row per class over all seeds, both as Parquet and CSV, and the
//! verdicts as JSON.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array};
use serde_json::{Value, json};

use crate::claims::claim::Claim;
use crate::claims::judge::Verdict;
use crate::error::Error;
use crate::experiment::places::{batch, places};
use crate::runs::over_seeds::{Mean, OverSeeds, over_seeds};
use crate::runs::results::{Finished, Results};
use crate::runs::store::Store;
use crate::spec::sweep::SEED;
use crate::stats::class_summary::{ClassSummary, METRICS};
use crate::stats::task_stats::TASK_METRICS;

/// What the name of a column ends with that holds halves of 95 % intervals.
pub const HALF: &str = "_half95";

/// Writes `summary` and `means`, each as `.parquet` and `.csv`, and `claims.json`; returns the
/// verdicts, in the order of the claims.
pub fn write(
    store: &Store,
    axes: &[String],
    claims: &[Claim],
    results: &Results,
) -> Result<Vec<Verdict>, Error> {
    for (name, table) in [("summary", runs(axes, results)), ("means", means(axes, results))] {
        store.write_table(&format!("{name}.parquet"), &table)?;
        store.write(&format!("{name}.csv"), &csv(&table))?;
    }
    let verdicts = claims.iter().map(|claim| claim.judge(results)).collect::<Result<Vec<_>, Error>>()?;
    let judged: Vec<Value> =
        std::iter::zip(claims, &verdicts).map(|(claim, verdict)| judged(claim, verdict)).collect();
    store.write("claims.json", format!("{:#}\n", json!(judged)).as_bytes())?;
    Ok(verdicts)
}

/// A claim with its verdict, as `claims.json` has it.
fn judged(claim: &Claim, verdict: &Verdict) -> Value {
    json!({
        "id": claim.id, "source": claim.source, "text": claim.text, "paper": claim.paper,
        "tolerance": claim.tolerance, "measured": verdict.measured.value, "spread": verdict.measured.spread,
        "standing": verdict.standing, "verdict": verdict.words, "wrong": claim.wrong,
        "measured_wrong": verdict.measured.wrong, "holds_for_wrong": verdict.holds_for_wrong,
        "deviation": claim.deviation,
    })
}

fn rows(results: &Results) -> impl Iterator<Item = (&Finished, &ClassSummary)> + Clone {
    results.runs.iter().flat_map(|run| run.summary.classes.iter().map(move |class| (run, class)))
}

/// The columns of numbers: those of tasks only where there are tasks.
fn metrics(results: &Results) -> impl Iterator<Item = &'static str> {
    let of_tasks = rows(results).any(|(_, class)| class.tasks.is_some());
    METRICS.into_iter().chain(TASK_METRICS.into_iter().filter(move |_| of_tasks))
}

/// One row per run and class.
fn runs(axes: &[String], results: &Results) -> RecordBatch {
    let mut columns = places(axes, rows(results).map(|(run, _)| (run.scheme.as_str(), &run.point)));
    columns.push(text("class", rows(results).map(|(_, class)| class.class.as_str())));
    for metric in metrics(results) {
        let values = Float64Array::from_iter(rows(results).map(|(_, class)| class.metric(metric)));
        columns.push((metric.into(), Arc::new(values)));
    }
    columns.push(text("run", rows(results).map(|(run, _)| run.key.as_str())));
    batch(columns)
}

/// One row per class of the runs that differ in their seed alone: how many there are, and of each column of numbers the mean and,
/// in a column whose name ends with [`HALF`], half of its 95 % interval.
fn means(axes: &[String], results: &Results) -> RecordBatch {
    let groups = over_seeds(results, false);
    let axes: Vec<String> = axes.iter().filter(|axis| *axis != SEED).cloned().collect();
    let firsts = groups.iter().map(|group| (group.first().scheme.as_str(), &group.first().point));
    let mut columns = places(&axes, firsts);
    columns.push(text("class", groups.iter().map(OverSeeds::class)));
    let seeds = UInt32Array::from_iter_values(groups.iter().map(|group| group.runs.len() as u32));
    columns.push(("seeds".into(), Arc::new(seeds)));
    for metric in metrics(results) {
        let means: Vec<Option<Mean>> = groups.iter().map(|group| group.metric(metric)).collect();
        let values = Float64Array::from_iter(means.iter().map(|mean| mean.map(|mean| mean.value)));
        columns.push((metric.into(), Arc::new(values)));
        let halves = Float64Array::from_iter(means.iter().map(|mean| mean.and_then(|mean| mean.half)));
        columns.push((format!("{metric}{HALF}"), Arc::new(halves)));
    }
    batch(columns)
}

fn text<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> (String, ArrayRef) {
    (name.to_owned(), Arc::new(StringArray::from_iter_values(values)))
}

/// A table as CSV. Numbers are as short as they can be and still be read back the same.
fn csv(table: &RecordBatch) -> Vec<u8> {
    let quote = |text: &str| {
        if text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let schema = table.schema();
    let mut lines =
        vec![schema.fields().iter().map(|field| quote(field.name())).collect::<Vec<_>>().join(",")];
    for row in 0..table.num_rows() {
        let cell = |column: &ArrayRef| match column.as_string_opt::<i32>() {
            _ if column.is_null(row) => String::new(),
            Some(texts) => quote(texts.value(row)),
            None => number(column, row),
        };
        lines.push(table.columns().iter().map(cell).collect::<Vec<_>>().join(","));
    }
    (lines.join("\n") + "\n").into_bytes()
}

fn number(column: &ArrayRef, row: usize) -> String {
    match column.as_primitive_opt::<Float64Type>() {
        Some(floats) => floats.value(row).to_string(),
        None => column.as_primitive::<UInt32Type>().value(row).to_string(),
    }
}
