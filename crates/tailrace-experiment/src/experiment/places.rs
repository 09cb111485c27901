//! Tables whose rows are about runs: the columns for the place of a run in its experiment.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use toml::Value;

use crate::spec::sweep::{Point, axis_text};

/// Which run a row is about, as columns: its scheme, and its point on each axis.
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

/// A table of these columns, which are of one length.
pub(crate) fn batch(columns: Vec<(String, ArrayRef)>) -> RecordBatch {
    // One schema, whichever values a table lacks: tables of different experiments can be put together.
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    match RecordBatch::try_from_iter_with_nullable(columns) {
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
