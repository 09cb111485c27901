//! Claims and expectations: numbers of a finished experiment, compared with the paper's or with bounds.

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::error::Error;
use crate::numbers::statistic;
use crate::results::{Finished, Results, SeriesQuery};

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
    /// Instead of that: this statistic (see `stat`) of the numbers of all points, each by itself. With `against`
    /// these are changes at the same point: `max` is the worst case of something that should fall.
    pub points: Option<String>,
    /// For the scheme after `against`, other points than `at`.
    pub against_at: Option<Table>,
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

/// A figure of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Which figure or sentence.
    pub id: String,
    /// In words.
    #[serde(default)]
    pub text: String,
    /// What the paper says.
    pub paper: Figure,
    /// The paper states a bound ("below 5.8 %", "more than half"), not a number: only what lies within `paper`
    /// holds, no rough factor helps.
    #[serde(default)]
    pub bound: bool,
    /// The same number here.
    pub number: Quantity,
    /// Why it is known not to hold here, if it is.
    pub deviation: Option<String>,
}

/// Something that must hold for Tailrace to be right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// In words.
    pub text: String,
    /// The number.
    pub number: Quantity,
    /// It is at least this.
    pub min: Option<f64>,
    /// It is at most this.
    pub max: Option<f64>,
}

/// What a paper says of a number: itself, or no more than its direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number. Changes are fractions: −0.2 is 20 % less.
    One(f64),
    /// The two ends of a range.
    Range([f64; 2]),
    /// "lower" or "higher" than what it is compared with.
    Word(Direction),
}

/// What a paper says of a change that it gives no number for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less than what it is compared with.
    Lower,
    /// More.
    Higher,
}

/// How a claim compares with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The measured number; `None` if the results do not contain it.
    pub measured: Option<f64>,
    /// Whether sign (for changes) and rough size agree.
    pub holds: bool,
    /// In a few words: sign, order, factor.
    pub words: String,
}

/// Changes smaller than this count as none.
const ABOUT_EQUAL: f64 = 0.03;
/// Within this factor two numbers agree roughly.
const ROUGH_FACTOR: f64 = 3.0;

impl Claim {
    /// Compares the claim with the results. Fails if a series cannot be read.
    pub fn judge(&self, results: &Results) -> Result<Verdict, Error> {
        Ok(match self.number.value(results)? {
            Some(measured) => self.compare(measured),
            None => Verdict { measured: None, holds: false, words: "not measured here".into() },
        })
    }

    fn compare(&self, measured: f64) -> Verdict {
        let (low, high) = match self.paper {
            Figure::One(n) => (n, n),
            Figure::Range([a, b]) => (a.min(b), a.max(b)),
            Figure::Word(direction) => {
                let (holds, words) = judge_direction(measured, direction);
                return Verdict { measured: Some(measured), holds, words };
            }
        };
        let (holds, words) = if self.bound {
            judge_bound(measured, low, high)
        } else if self.number.against.is_some() {
            judge_change(measured, low, high)
        } else {
            judge_value(measured, low, high)
        };
        Verdict { measured: Some(measured), holds, words }
    }
}

/// A relative change: same direction, and of a like size.
fn judge_change(measured: f64, low: f64, high: f64) -> (bool, String) {
    if (low..=high).contains(&measured) && low < high {
        return (true, "within the paper's range".into());
    }
    let nearest = measured.clamp(low, high);
    if nearest.abs() <= ABOUT_EQUAL {
        let same = measured.abs() <= 2.0 * ABOUT_EQUAL;
        return (
            same,
            if same { "equal in both".into() } else { "differs where the paper sees none".into() },
        );
    }
    if measured.abs() <= ABOUT_EQUAL {
        return (false, "no change here".into());
    }
    if measured.signum() != nearest.signum() {
        return (false, "opposite sign".into());
    }
    let factor = measured / nearest;
    let rough = (1.0 / ROUGH_FACTOR..=ROUGH_FACTOR).contains(&factor);
    (rough, format!("same sign, {factor:.2} times the paper's"))
}

/// A change of which only the direction is known.
fn judge_direction(measured: f64, direction: Direction) -> (bool, String) {
    let change = if direction == Direction::Lower { -measured } else { measured };
    if change.abs() <= ABOUT_EQUAL {
        return (false, "no change here".into());
    }
    (change > 0.0, if change > 0.0 { "as in the paper" } else { "the other way round" }.into())
}

/// What the paper bounds: within the bounds.
fn judge_bound(measured: f64, low: f64, high: f64) -> (bool, String) {
    let holds = (low..=high).contains(&measured);
    (holds, if holds { "within the paper's bounds" } else { "outside the paper's bounds" }.into())
}

/// A plain number: of a like size.
fn judge_value(measured: f64, low: f64, high: f64) -> (bool, String) {
    if (low..=high).contains(&measured) && low < high {
        return (true, "within the paper's range".into());
    }
    let nearest = measured.clamp(low, high);
    if nearest == 0.0 {
        return (measured == 0.0, format!("{measured} where the paper has 0"));
    }
    let factor = measured / nearest;
    ((1.0 / ROUGH_FACTOR..=ROUGH_FACTOR).contains(&factor), format!("{factor:.2} times the paper's"))
}

impl Expectation {
    /// The number, and whether it lies within the bounds. A number that is not there does not. Fails if a series
    /// cannot be read.
    pub fn judge(&self, results: &Results) -> Result<(Option<f64>, bool), Error> {
        let value = self.number.value(results)?;
        let holds =
            value.is_some_and(|v| self.min.is_none_or(|min| v >= min) && self.max.is_none_or(|max| v <= max));
        Ok((value, holds))
    }

    /// The bounds in words.
    pub fn bounds(&self) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{min} to {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => "to be there".into(),
        }
    }
}

impl Quantity {
    /// The number: of the mean over the points that match, or a statistic over the numbers of each.
    /// Fails if a series cannot be read.
    pub fn value(&self, results: &Results) -> Result<Option<f64>, Error> {
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
    use crate::run_summary::{PacketLevel, Summary};
    use crate::sweep::{Point, Sweep};

    #[test]
    fn changes_are_judged_by_sign_and_size() {
        assert!(judge_change(-0.2, -0.335, -0.049).0);
        assert!(judge_change(-0.6, -0.3, -0.3).0);
        assert!(!judge_change(-0.95, -0.3, -0.3).0);
        assert_eq!(judge_change(0.2, -0.3, -0.3), (false, "opposite sign".into()));
        assert_eq!(judge_change(-0.01, -0.3, -0.3), (false, "no change here".into()));
        assert_eq!(judge_change(0.02, 0.0, 0.0), (true, "equal in both".into()));
        assert!(!judge_change(0.2, 0.0, 0.0).0);
    }

    #[test]
    fn a_direction_is_all_that_some_papers_give() {
        for (change, lower, higher) in [(-0.5, true, false), (-0.02, false, false), (0.2, false, true)] {
            assert_eq!(judge_direction(change, Direction::Lower).0, lower, "{change}");
            assert_eq!(judge_direction(change, Direction::Higher).0, higher, "{change}");
        }
        let claim =
            |paper: &str| toml::from_str::<Claim>(&format!("id = \"1\"\npaper = {paper}\nnumber = {{}}"));
        assert_eq!(claim("\"lower\"").unwrap().paper, Figure::Word(Direction::Lower));
        assert_eq!(claim("[-0.5, -0.1]").unwrap().paper, Figure::Range([-0.5, -0.1]));
        assert!(claim("\"less\"").is_err());
    }

    #[test]
    fn bounds_have_no_rough_factor() {
        assert!(judge_bound(0.05, 0.0, 0.079).0);
        assert!(!judge_bound(0.08, 0.0, 0.079).0);
        assert!(judge_value(0.08, 0.0, 0.079).0);
    }

    #[test]
    fn values_are_judged_by_size() {
        assert!(judge_value(25.0, 23.0, 28.0).0);
        assert!(judge_value(60.0, 23.0, 28.0).0);
        assert!(!judge_value(100.0, 23.0, 28.0).0);
    }

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
