//! A number to be taken from the results of an experiment.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::error::Error;
use crate::runs::results::{Finished, Results, SeriesQuery};
use crate::spec::sweep::SEED;
use crate::stats::numbers::{half_interval, statistic};

/// A number to be taken from an experiment's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quantity {
    /// A column of the summary table, or `series:NAME` for a value of a series.
    pub metric: String,
    /// Size class, for columns of the summary.
    pub class: String,
    /// The scheme (label) whose number it is.
    pub of: String,
    /// With this, the number is the relative change from this scheme's: −0.2 is 20 % less.
    pub against: Option<String>,
    /// Which points of the sweep count: axis = value. Several points (seeds, say) are averaged.
    pub at: Table,
    /// Instead of that: this statistic (see `stat`) of the numbers of all points, each by itself, those that differ by seed alone
    /// too: `max` over seeds is of the worst one. With `against`
    /// these are changes at the same point: `max` is the worst case of something that should fall.
    pub points: Option<String>,
    /// For the scheme after `against`, other points than `at`.
    pub against_at: Option<Table>,
    /// With `against`: from the change that at these points is taken, so that the number says how many points of
    /// percentage more or less it changes here than there.
    pub less_at: Option<Table>,
    /// For series: which index (queue or threshold number).
    pub index: u16,
    /// For series: mean, median, min, max, std or last. Median if missing.
    pub stat: Option<String>,
    /// For series: from this time on.
    pub from: Option<String>,
    /// For series: up to this time.
    pub to: Option<String>,
    /// For series: only from places whose name contains this.
    pub place: Option<String>,
}

/// Fewer seeds say nothing of what chance does.
const MIN_SEEDS: usize = 3;

impl Quantity {
    /// The number: of the mean over the points that match, or a statistic over the numbers of each.
    /// Fails if a series cannot be read.
    pub fn value(&self, results: &Results) -> Result<Option<f64>, Error> {
        if let Some(at) = &self.less_at {
            let change =
                |at: &Table| Quantity { at: at.clone(), less_at: None, ..self.clone() }.value(results);
            return Ok(change(&self.at)?.zip(change(at)?).map(|(here, there)| here - there));
        }
        let own = results.matching(&self.of, &self.at);
        let Some(over) = &self.points else {
            let at = self.against_at.as_ref().unwrap_or(&self.at);
            let others = self.against.as_ref().map(|other| results.matching(other, at));
            return self.number(&own, others.as_deref());
        };
        let others = self.against.as_ref().map(|other| results.by_point(other));
        let at_point = |run: &Finished| {
            let other =
                others.as_ref().map(|others| Vec::from_iter(others.get(&run.point.number()).copied()));
            self.number(&[run], other.as_deref())
        };
        let values: Vec<Option<f64>> = own.into_iter().map(at_point).collect::<Result<_, _>>()?;
        Ok(values.into_iter().collect::<Option<_>>().and_then(|values| statistic(over, values)))
    }

    /// How far chance moves [`Quantity::value`]: half of its 95 % interval over the seeds of the sweep, by Student's t;
    /// `None` with fewer than three seeds. Fails if a series cannot be read.
    pub fn spread(&self, results: &Results) -> Result<Option<f64>, Error> {
        let mut seeds: Vec<&Value> = Vec::new();
        for run in results.matching(&self.of, &self.at) {
            seeds.extend(run.point.get(SEED).filter(|seed| !seeds.contains(seed)));
        }
        if seeds.len() < MIN_SEEDS {
            return Ok(None);
        }
        let values = seeds.iter().map(|seed| self.with_seed(seed).value(results));
        let Some(values) = values.collect::<Result<Option<Vec<f64>>, _>>()? else { return Ok(None) };
        Ok(half_interval(&values))
    }

    /// The same at one seed.
    fn with_seed(&self, seed: &Value) -> Quantity {
        let fixed = |at: &Table| {
            let mut at = at.clone();
            at.insert(SEED.into(), seed.clone());
            at
        };
        let [against_at, less_at] = [&self.against_at, &self.less_at].map(|at| at.as_ref().map(fixed));
        Quantity { at: fixed(&self.at), against_at, less_at, ..self.clone() }
    }

    /// The number of these runs, against those of another scheme; several are averaged.
    fn number(&self, own: &[&Finished], others: Option<&[&Finished]>) -> Result<Option<f64>, Error> {
        let own = self.mean(own)?;
        let Some(others) = others else { return Ok(own.filter(|value| value.is_finite())) };
        let base = self.mean(others)?;
        // Two counts of zero (timeouts, say) are equal.
        let change = |(own, base): (f64, f64)| if base == own { 0.0 } else { own / base - 1.0 };
        Ok(own.zip(base).map(change).filter(|value| value.is_finite()))
    }

    fn mean(&self, runs: &[&Finished]) -> Result<Option<f64>, Error> {
        let values: Vec<f64> = match self.metric.strip_prefix("series:") {
            Some(metric) => {
                let Some(query) = self.series_query(metric) else { return Ok(None) };
                let values = runs.iter().map(|run| run.series_stat(&query));
                values.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
            }
            None => {
                let class = if self.class.is_empty() { "all" } else { &self.class };
                runs.iter().filter_map(|run| run.metric(class, &self.metric)).collect()
            }
        };
        Ok(statistic("mean", values))
    }

    fn series_query(&self, metric: &str) -> Option<SeriesQuery> {
        let time_ns = |text: &Option<String>, default: f64| match text {
            None => Some(default),
            Some(text) => text.parse::<tailrace_core::Time>().ok().map(|t| t.as_ps() as f64 / 1e3),
        };
        Some(SeriesQuery {
            metric: metric.to_owned(),
            index: self.index,
            stat: self.stat.clone().unwrap_or_else(|| "median".into()),
            from_ns: time_ns(&self.from, 0.0)?,
            to_ns: time_ns(&self.to, f64::INFINITY)?,
            place: self.place.clone().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::spec::sweep::{Point, Sweep};
    use crate::stats::run_summary::{PacketLevel, Summary};

    /// Runs of the schemes a and b at each of these loads, with so many packet-hops.
    fn results(loads: &[f64], packet_hops: [&dyn Fn(usize) -> u64; 2]) -> Results {
        let sweep = format!("[[sweep.together]]\nload = {loads:?}").parse().unwrap();
        let run = |scheme: usize, point: &Point| {
            let packet_hops = packet_hops[scheme](point.number());
            let packet_level = Some(PacketLevel { packet_hops, ..PacketLevel::default() });
            Finished {
                scheme: ["a", "b"][scheme].into(),
                point: point.clone(),
                key: String::new(),
                dir: PathBuf::new(),
                summary: Summary { packet_level, ..Summary::default() },
                resumed: false,
            }
        };
        let points = Sweep::of(&sweep).unwrap();
        Results { runs: points.points().flat_map(|point| [run(0, &point), run(1, &point)]).collect() }
    }

    #[test]
    fn numbers_are_of_the_mean_or_of_each_point() {
        let value = |rest: &str| {
            let number: Quantity =
                toml::from_str(&format!("metric = \"packet_hops\"\nof = \"a\"\n{rest}")).unwrap();
            let results = results(&[0.5, 0.9], [&|point| [10, 60][point], &|point| [20, 50][point]]);
            number.value(&results).unwrap()
        };
        assert_eq!(value(""), Some(35.0));
        assert_eq!(value("points = \"max\""), Some(60.0));
        assert_eq!(value("against = \"b\""), Some(0.0));
        assert_eq!(value("against = \"b\"\npoints = \"min\""), Some(-0.5));
        assert!((value("against = \"b\"\npoints = \"max\"").unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(value("against = \"b\"\npoints = \"max\"\nat = { load = 0.5 }"), Some(-0.5));
        assert_eq!(value("points = \"max\"\nat = { load = 0.7 }"), None);
        // 20 % more at 0.9, half at 0.5.
        let more = value("against = \"b\"\nat = { load = 0.9 }\nless_at = { load = 0.5 }").unwrap();
        assert!((more - 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_point_without_the_other_scheme_has_no_change() {
        let mut results = results(&[0.5, 0.9], [&|_| 10, &|_| 20]);
        let number = "metric = \"packet_hops\"\nof = \"a\"\nagainst = \"b\"\npoints = \"max\"";
        let number: Quantity = toml::from_str(number).unwrap();
        assert_eq!(number.value(&results).unwrap(), Some(-0.5));
        results.runs.pop();
        assert_eq!(number.value(&results).unwrap(), None);
    }

    /// To look through all runs at each point would take an hour.
    #[test]
    fn a_large_sweep_is_compared_point_by_point() {
        let loads: Vec<f64> = (0..100_000).map(f64::from).collect();
        let results = results(&loads, [&|point| 3 * point as u64, &|point| 2 * point as u64]);
        let number = "metric = \"packet_hops\"\nof = \"a\"\nagainst = \"b\"\npoints = \"median\"";
        let number: Quantity = toml::from_str(number).unwrap();
        assert_eq!(number.value(&results).unwrap(), Some(0.5));
    }
}
