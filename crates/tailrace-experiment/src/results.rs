//! The results of an experiment: every run's summary and, on demand, its series.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt16Type};
use toml::Table;

use crate::files::read_parquet;
use crate::numbers::statistic;
use crate::run_summary::{RUN_METRICS, Summary};
use crate::stats::ClassSummary;
use crate::sweep::Point;

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

    /// A statistic over the values of a series; `None` if there are none or the statistic is unknown.
    pub fn series_stat(&self, query: &SeriesQuery) -> Option<f64> {
        let mut values = Vec::new();
        for batch in read_parquet(&self.dir.join("series.parquet")).ok()? {
            let time = batch.column_by_name("time_ns")?.as_primitive::<Float64Type>();
            let place = batch.column_by_name("place")?.as_string::<i32>();
            let metric = batch.column_by_name("metric")?.as_string::<i32>();
            let index = batch.column_by_name("index")?.as_primitive::<UInt16Type>();
            let value = batch.column_by_name("value")?.as_primitive::<Float64Type>();
            values.extend((0..batch.num_rows()).filter_map(|row| {
                let matches = metric.value(row) == query.metric
                    && index.value(row) == query.index
                    && (query.from_ns..=query.to_ns).contains(&time.value(row))
                    && place.value(row).contains(&query.place);
                matches.then(|| value.value(row))
            }));
        }
        statistic(&query.stat, values)
    }
}
