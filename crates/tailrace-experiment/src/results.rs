//! The results of an experiment: every run's summary and, on demand, its series.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt16Type};
use toml::Table;

use crate::judge::point_matches;
use crate::run::Summary;
use crate::stats::{ClassSummary, mean, percentile};
use crate::store::read_parquet;
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
        self.runs.iter().filter(|run| run.scheme == scheme && point_matches(&run.point.axes, at)).collect()
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
            "urgent_share" => Some(self.summary.urgent_share),
            "packet_hops" => Some(self.summary.packet_hops as f64),
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

/// One of [`STATISTICS`] over `values`; `None` if there are none or it is unknown.
pub(crate) fn statistic(name: &str, values: Vec<f64>) -> Option<f64> {
    let average = mean(&values)?;
    let sorted = || {
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    match name {
        "mean" => Some(average),
        "median" => percentile(&sorted(), 50.0),
        "min" => sorted().first().copied(),
        "max" => sorted().last().copied(),
        "last" => values.last().copied(),
        "std" => mean(&values.iter().map(|v| (v - average).powi(2)).collect::<Vec<_>>()).map(f64::sqrt),
        _ => None,
    }
}

/// Names that [`SeriesQuery::stat`] and [`crate::judge::Quantity::points`] may have.
pub const STATISTICS: [&str; 6] = ["mean", "median", "min", "max", "std", "last"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_by_name() {
        let values = vec![3.0, 1.0, 2.0];
        let expected = [2.0, 2.0, 1.0, 3.0, (2.0f64 / 3.0).sqrt(), 2.0];
        for (name, expected) in STATISTICS.iter().zip(expected) {
            assert_eq!(statistic(name, values.clone()), Some(expected), "{name}");
        }
        assert_eq!(statistic("mode", values), None);
        assert_eq!(statistic("mean", vec![]), None);
    }
}
