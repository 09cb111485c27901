//! Runs that differ in their seed alone, together: means, and how far chance moves them.

use std::collections::BTreeMap;

use crate::runs::results::{Finished, Results};
use crate::spec::sweep::{SEED, axis_text};
use crate::stats::class_summary::ClassSummary;
use crate::stats::numbers::{half_interval, mean};

/// A class of flows in the runs of a scheme at a point of the sweep, one run a seed.
#[derive(Clone, Debug)]
pub struct OverSeeds<'a> {
    /// The class in each run. There is one at least.
    pub runs: Vec<(&'a Finished, &'a ClassSummary)>,
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Half of its 95 % interval, by Student's t; `None` of one seed.
    pub half: Option<f64>,
}

/// All classes of all points and schemes: those of a point and class follow one another, so that schemes stand side by side.
/// With `each`, each run is by itself.
pub fn over_seeds(results: &Results, each: bool) -> Vec<OverSeeds<'_>> {
    by_point(results, each).iter().flat_map(of_point).collect()
}

/// The runs of each scheme at a point.
pub type AtPoint<'a> = Vec<Vec<&'a Finished>>;

/// The runs by point, where seeds do not tell points apart unless `each` run is to be by itself, and by scheme, both in the order of
/// the first.
pub fn by_point(results: &Results, each: bool) -> Vec<AtPoint<'_>> {
    let (mut points, mut places) = (Vec::<AtPoint>::new(), BTreeMap::new());
    for run in &results.runs {
        let told_apart = run.point.axes().filter(|(axis, _)| each || *axis != SEED);
        let key: Vec<(String, String)> =
            told_apart.map(|(axis, value)| (axis.to_owned(), axis_text(value))).collect();
        let place = *places.entry(key).or_insert(points.len());
        if place == points.len() {
            points.push(Vec::new());
        }
        let schemes = &mut points[place];
        match schemes.iter_mut().find(|runs| runs[0].scheme == run.scheme) {
            Some(runs) => runs.push(run),
            None => schemes.push(vec![run]),
        }
    }
    points
}

/// The classes of a point, in the order in which its runs have them.
fn of_point<'a>(schemes: &AtPoint<'a>) -> Vec<OverSeeds<'a>> {
    let mut names: Vec<&str> = Vec::new();
    for class in schemes.iter().flatten().flat_map(|run| &run.summary.classes) {
        if !names.contains(&class.class.as_str()) {
            names.push(&class.class);
        }
    }
    let of = |name: &str, runs: &[&'a Finished]| {
        let runs: Vec<_> = runs.iter().filter_map(|run| Some((*run, run.class(name)?))).collect();
        (!runs.is_empty()).then_some(OverSeeds { runs })
    };
    names.iter().flat_map(|name| schemes.iter().filter_map(|runs| of(name, runs))).collect()
}

impl<'a> OverSeeds<'a> {
    /// The first run, whose scheme and point, but for the seed, are those of all.
    pub fn first(&self) -> &'a Finished {
        self.runs[0].0
    }

    /// The class.
    pub fn class(&self) -> &'a str {
        &self.runs[0].1.class
    }

    /// Of a column of the summary: its mean over the runs that have it; `None` if none does.
    pub fn metric(&self, name: &str) -> Option<Mean> {
        let values: Vec<f64> = self.runs.iter().filter_map(|(_, class)| class.metric(name)).collect();
        Some(Mean { value: mean(&values)?, half: half_interval(&values) })
    }

    /// Of something that is counted: its sum.
    pub fn sum(&self, of: impl Fn(&ClassSummary) -> usize) -> usize {
        self.runs.iter().map(|(_, class)| of(class)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::spec::sweep::Sweep;
    use crate::stats::run_summary::Summary;

    fn results() -> Results {
        let sweep =
            Sweep::of(&"[sweep]\n\"workload.load\" = [0.5, 0.9]\nseed = [1, 2, 3]".parse().unwrap()).unwrap();
        let class = |name: &str, mean: f64| ClassSummary {
            fct_mean_us: Some(mean),
            flows: 7,
            ..ClassSummary::of(name.into(), &[], 0, 0)
        };
        let run = |scheme: &str, point: crate::spec::sweep::Point, extra: f64| {
            let mean = point.number() as f64 + extra;
            // Not every seed has long flows.
            let mut classes = vec![class("all", mean)];
            classes.extend((point.number() % 3 == 1).then(|| class("long", 10.0 * mean)));
            Finished {
                scheme: scheme.into(),
                point,
                key: String::new(),
                dir: PathBuf::new(),
                summary: Summary { classes, ..Summary::default() },
                resumed: false,
            }
        };
        Results {
            runs: sweep.points().flat_map(|p| [run("a", p.clone(), 0.0), run("b", p, 100.0)]).collect(),
        }
    }

    #[test]
    fn means_are_of_runs_that_differ_in_their_seed_alone() {
        let results = results();
        let groups = over_seeds(&results, false);
        let seen: Vec<(&str, &str, usize, f64)> = groups
            .iter()
            .map(|group| {
                let mean = group.metric("fct_mean_us").unwrap().value;
                (group.first().scheme.as_str(), group.class(), group.runs.len(), mean)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("a", "all", 3, 1.0),
                ("b", "all", 3, 101.0),
                ("a", "long", 1, 10.0),
                ("b", "long", 1, 1010.0),
                ("a", "all", 3, 4.0),
                ("b", "all", 3, 104.0),
                ("a", "long", 1, 40.0),
                ("b", "long", 1, 1040.0),
            ]
        );
        assert_eq!(groups[0].sum(|class| class.flows), 21);
        // Of 0, 1 and 2: a deviation of 1, and t of 2 degrees of freedom is 4.3027.
        let half = groups[0].metric("fct_mean_us").unwrap().half.unwrap();
        assert!((half - 4.302_65 / 3f64.sqrt()).abs() < 1e-4, "{half}");
        assert_eq!(groups[2].metric("fct_mean_us").unwrap().half, None);
        assert_eq!(groups[0].metric("goodput_gbps"), None);
    }

    #[test]
    fn each_run_is_by_itself_on_request() {
        let results = results();
        let groups = over_seeds(&results, true);
        assert_eq!(groups.len(), 16);
        assert!(groups.iter().all(|group| group.runs.len() == 1));
    }
}
