//! `plan.parquet`: all runs that a folder of results is for, so that those that are finished can be put together
//! without the experiment's file.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};
use tailrace_config::{ScenarioError, read_text};
use toml::Table;

use crate::error::Error;
use crate::experiment::file::Experiment;
use crate::experiment::places::{batch, places};
use crate::output::files::{parquet_bytes, read_parquet};
use crate::runs::results::Finished;
use crate::runs::store::{self, Store};
use crate::spec::plan::Planned;
use crate::spec::sweep::{Point, Sweep};
use crate::stats::run_summary::Summary;

const PLAN: &str = "plan.parquet";
const EXPERIMENT: &str = "experiment.toml";

/// A run as a folder of results knows it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The scheme's label.
    pub scheme: String,
    /// Where in the sweep.
    pub point: Point,
    /// Key of the run's folder.
    pub key: String,
}

impl Entry {
    pub(crate) fn of(run: &Planned) -> Self {
        let key = store::run_key(&run.scenario());
        Entry { scheme: run.scheme.clone(), point: run.point.clone(), key }
    }

    pub(crate) fn finished(&self, store: &Store, summary: Summary, resumed: bool) -> Finished {
        let Entry { scheme, point, key } = self.clone();
        Finished { scheme, point, dir: store.run_dir(&key), key, summary, resumed }
    }
}

/// Writes `experiment.toml` and `plan.parquet`. Both at once: one is read by the other.
pub(crate) fn write(store: &Store, experiment: &Experiment, entries: &[Entry]) -> Result<(), Error> {
    let plan = parquet_bytes(&store.dir().join(PLAN), &table(entries))?;
    store.write_all(&[(EXPERIMENT, experiment.resolved.to_string().as_bytes()), (PLAN, &plan)])
}

/// The experiment that a folder is for, and all of its runs.
pub(crate) fn read(dir: &Path) -> Result<(Table, Vec<Entry>), Error> {
    let plan = dir.join(PLAN);
    if !plan.exists() {
        let results = dir.join("results");
        let message = match (dir.is_dir(), results.join(PLAN).exists()) {
            (true, true) => format!("{}: the results are in {}", dir.display(), results.display()),
            (true, false) => format!(
                "{} does not say which runs it is for: plan.parquet, which tailrace run writes, is not there",
                dir.display()
            ),
            (false, _) => format!("{}: is no folder; give one that tailrace run has written", dir.display()),
        };
        return Err(ScenarioError::new("", message).into());
    }
    let _lock = store::to_read(dir)?;
    [EXPERIMENT, PLAN].iter().try_for_each(|name| store::verify_file(dir, name))?;
    let file = dir.join(EXPERIMENT);
    let text = read_text(&file).map_err(|e| Error::Storage { path: file.clone(), message: e.to_string() })?;
    let table: Table = text.parse().map_err(|e| ScenarioError::syntax(&e, &text).in_file(&file))?;
    let entries = entries(&table, &read_parquet(&plan)?).ok_or_else(|| {
        let message =
            "is not the plan of the experiment.toml beside it: start the experiment again".to_owned();
        Error::Storage { path: plan, message }
    })?;
    Ok((table, entries))
}

/// The rows of a plan; `None` unless it is the experiment's.
fn entries(experiment: &Table, plan: &[RecordBatch]) -> Option<Vec<Entry>> {
    let schema = plan.first()?.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let [_, axes @ .., _] = names.as_slice() else { return None };
    let sweep = Sweep::of(experiment).ok()?.ordered(axes)?;
    let rows: usize = plan.iter().map(RecordBatch::num_rows).sum();
    let schemes = rows.checked_div(sweep.points().count())?;
    let points = sweep.points().flat_map(|point| std::iter::repeat_n(point, schemes));
    let mut names = Vec::with_capacity(rows);
    for batch in plan {
        let column = |name| batch.column_by_name(name)?.as_string_opt::<i32>();
        let (schemes, keys) = (column("scheme")?, column("run")?);
        names.extend(
            std::iter::zip(schemes, keys).map(|(scheme, key)| Some((scheme?.to_owned(), key?.to_owned()))),
        );
    }
    let named = std::iter::zip(names, points);
    let entries: Vec<Entry> = named
        .map(|(named, point)| named.map(|(scheme, key)| Entry { scheme, point, key }))
        .collect::<Option<_>>()?;
    let expected = table(&entries);
    let mut start = 0;
    let is_as_expected = |batch: &RecordBatch| {
        let rows = expected.slice(start, batch.num_rows());
        start += batch.num_rows();
        rows.columns() == batch.columns()
    };
    (entries.len() == rows && plan.iter().all(is_as_expected)).then_some(entries)
}

fn table(entries: &[Entry]) -> RecordBatch {
    let axes = entries.first().map(|entry| entry.point.names()).unwrap_or_default();
    let mut columns = places(&axes, entries.iter().map(|entry| (entry.scheme.as_str(), &entry.point)));
    let keys = StringArray::from_iter_values(entries.iter().map(|entry| entry.key.as_str()));
    columns.push(("run".into(), std::sync::Arc::new(keys)));
    batch(columns)
}
