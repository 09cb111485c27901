//! The results of an experiment: every run's summary and, on demand, its series.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt16Type};
use toml::Table;

use crate::error::Error;
use crate::output::files::read_parquet;
use crate::runs::store::verify_file;
use crate::spec::sweep::Point;
use crate::stats::class_summary::ClassSummary;
use crate::stats::numbers::statistic;
use crate::stats::run_summary::{RUN_METRICS, Summary};

/// A run's series, in its folder.
const SERIES: &str = "series.parquet";

/// One finished run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The scheme's label.
    pub scheme: String,
    /// Where in the sweep.
    pub point: Point,
    /// Key of the run's folder.
    pub key: String,
    /// The run's folder.
    pub dir: PathBuf,
    /// In short.
    pub summary: Summary,
    /// Whether it was found finished.
    pub resumed: bool,
}

/// All finished runs, in the order of the experiment.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The runs.
    pub runs: Vec<Finished>,
}

/// A number to be drawn from a series.
#[derive(Clone, Debug)]
pub struct SeriesQuery {
    /// Name of the series.
    pub metric: String,
    /// Which of several.
    pub index: u16,
    /// mean, median, min, max, std or last.
    pub stat: String,
    /// From this time on.
    pub from_ns: f64,
    /// Up to this time.
    pub to_ns: f64,
    /// Part of the place's name.
    pub place: String,
}

impl Results {
    /// The runs of a scheme at the points that `at` names.
    pub fn matching(&self, scheme: &str, at: &Table) -> Vec<&Finished> {
        self.runs.iter().filter(|run| run.scheme == scheme && run.point.matches(at)).collect()
    }

    /// The runs of a scheme by the numbers of their points.
    pub(crate) fn by_point(&self, scheme: &str) -> BTreeMap<usize, &Finished> {
        let runs = self.runs.iter().filter(|run| run.scheme == scheme);
        runs.map(|run| (run.point.number(), run)).collect()
    }
}

impl Finished {
    /// The statistics of a class.
    pub fn class(&self, name: &str) -> Option<&ClassSummary> {
        self.summary.classes.iter().find(|class| class.class == name)
    }

    /// A metric of the whole run, or of a class of its flows.
    pub fn metric(&self, class: &str, name: &str) -> Option<f64> {
        match name {
            name if RUN_METRICS.contains(&name) => self.summary.metric(name),
            _ => self.class(class)?.metric(name),
        }
    }

    /// A statistic over the values of a series; `None` if there are none or the statistic is unknown. Fails if the
    /// run's series cannot be read, or are not what was written.
    pub fn series_stat(&self, query: &SeriesQuery) -> Result<Option<f64>, Error> {
        verify_file(&self.dir, SERIES)?;
        let batches = read_parquet(&self.dir.join(SERIES))?;
        let values = batches.iter().map(|batch| query.values(batch)).collect::<Option<Vec<_>>>();
        Ok(values.and_then(|values| statistic(&query.stat, values.concat())))
    }
}

impl SeriesQuery {
    /// The values that it is about; `None` if the table has other columns than series have.
    fn values(&self, batch: &RecordBatch) -> Option<Vec<f64>> {
        let time = batch.column_by_name("time_ns")?.as_primitive::<Float64Type>();
        let place = batch.column_by_name("place")?.as_string::<i32>();
        let metric = batch.column_by_name("metric")?.as_string::<i32>();
        let index = batch.column_by_name("index")?.as_primitive::<UInt16Type>();
        let value = batch.column_by_name("value")?.as_primitive::<Float64Type>();
        let matches = |row: &usize| {
            let row = *row;
            metric.value(row) == self.metric
                && index.value(row) == self.index
                && (self.from_ns..=self.to_ns).contains(&time.value(row))
                && place.value(row).contains(&self.place)
        };
        Some((0..batch.num_rows()).filter(matches).map(|row| value.value(row)).collect())
    }
}
