//! `[stop]`: as many seeds as it takes to know a metric so well.
//!
//! ```toml
//! [sweep]
//! seed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]   # at most these
//! [stop]
//! metric = "short.fct_p99_us"              # a class and a column of the summary
//! relative = 0.02                          # half of the 95 % interval over the mean
//! ```
//!
//! At each point of the sweep all schemes have the same seeds, so that flows can be paired: as many as the scheme needs that
//! varies most. How many are tried next follows from the results alone, so that neither the number of jobs nor an interruption
//! changes which runs are made.

use std::collections::BTreeMap;

use serde::Deserialize;
use tailrace_config::suggest::unknown;
use tailrace_config::{ScenarioError, table};
use toml::Table;

use crate::claims::vet::class_exists;
use crate::runs::results::Finished;
use crate::spec::sweep::{Point, SEED, axis_text};
use crate::stats::class_summary::METRICS;
use crate::stats::numbers::{half_interval, mean, rounded};
use crate::stats::run_summary::RUN_METRICS;
use crate::stats::task_stats::TASK_METRICS;

/// Fewer seeds say too little of what chance does.
const MIN_SEEDS: usize = 3;

/// When the seeds of a sweep are enough.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// What is to be known: a class of flows and a column of the summary, or a metric of the whole run.
    metric: String,
    /// How well: half of its 95 % interval over its mean.
    relative: f64,
}

/// Which runs of an experiment count, and which of them are missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Needed {
    /// As far as is known yet, in the order of the experiment.
    pub runs: Vec<usize>,
    /// Those that are to be made to know more; none if nothing is missing.
    pub missing: Vec<usize>,
}

impl Needed {
    /// What an experiment needs whose runs are at these points, of which those are `found` that are finished: all of them, or as many
    /// as `stop` says.
    pub(crate) fn of<'p>(
        stop: Option<&Stop>,
        points: impl Iterator<Item = &'p Point>,
        found: &BTreeMap<usize, Finished>,
    ) -> Self {
        match stop {
            Some(stop) => stop.needed(points, |run| found.get(&run)),
            None => {
                let runs: Vec<usize> = (0..points.count()).collect();
                let missing = runs.iter().copied().filter(|run| !found.contains_key(run)).collect();
                Needed { runs, missing }
            }
        }
    }
}

impl Stop {
    /// Reads `[stop]` of an experiment whose runs are at these points, if there is one. A smaller scale may leave fewer seeds than
    /// it takes: then all are run.
    pub(crate) fn read<'p>(
        experiment: &Table,
        points: impl Iterator<Item = &'p Point>,
        scale: f64,
    ) -> Result<Option<Self>, ScenarioError> {
        let Some(own) = experiment.get("stop") else { return Ok(None) };
        let wrong = |field: &str, message: String| ScenarioError::new(format!("stop.{field}"), message);
        let Some(own) = own.as_table() else {
            return Err(ScenarioError::new("stop", "must be a table: metric = …, relative = …"));
        };
        let stop: Stop = table::read(own.clone()).map_err(|error: ScenarioError| error.within("stop"))?;
        let (class, column) = stop.place();
        let known = METRICS.iter().chain(&TASK_METRICS).chain(&RUN_METRICS).copied();
        if !known.clone().any(|name| name == column) {
            return Err(wrong("metric", unknown("column of the summary", column, known)));
        }
        match (class, RUN_METRICS.contains(&column)) {
            ("", true) => {}
            ("", false) => {
                let message = format!("needs a class, as in \"all.{column}\" or \"short.{column}\"");
                return Err(wrong("metric", message));
            }
            (_, true) => {
                return Err(wrong("metric", format!("{column} is of the whole run: leave out \"{class}.\"")));
            }
            (class, false) => class_exists(class).map_err(|error| wrong("metric", error.message))?,
        }
        if !(stop.relative > 0.0 && stop.relative < 1.0) {
            let message = format!("must be above 0 and below 1, such as 0.02, not {}", stop.relative);
            return Err(wrong("relative", message));
        }
        let seeds = seeds_by_point(points).first().map_or(0, Vec::len);
        if seeds < MIN_SEEDS && scale < 1.0 {
            return Ok(None);
        }
        if seeds < MIN_SEEDS {
            let message = format!(
                "needs an axis seed in [sweep] with the {MIN_SEEDS} seeds or more that may be tried; there are {seeds}"
            );
            return Err(ScenarioError::new("stop", message));
        }
        Ok(Some(stop))
    }

    /// The class, none for a metric of the whole run, and the column.
    fn place(&self) -> (&str, &str) {
        self.metric.rsplit_once('.').unwrap_or(("", &self.metric))
    }

    /// What is needed of the runs at these points, of which those are `found` that are finished.
    pub(crate) fn needed<'a, 'p>(
        &self,
        points: impl Iterator<Item = &'p Point>,
        found: impl Fn(usize) -> Option<&'a Finished>,
    ) -> Needed {
        let mut needed = Needed::default();
        for seeds in seeds_by_point(points) {
            let (runs, missing) = self.of_point(&seeds, &found);
            needed.runs.extend(runs);
            needed.missing.extend(missing);
        }
        needed.runs.sort_unstable();
        needed
    }

    fn of_point<'a>(
        &self,
        seeds: &[Vec<usize>],
        found: &impl Fn(usize) -> Option<&'a Finished>,
    ) -> (Vec<usize>, Vec<usize>) {
        let mut count = MIN_SEEDS.min(seeds.len());
        loop {
            let runs = seeds[..count].concat();
            let missing: Vec<usize> = runs.iter().copied().filter(|run| found(*run).is_none()).collect();
            if !missing.is_empty() || count == seeds.len() {
                return (runs, missing);
            }
            let finished: Vec<&Finished> = runs.iter().filter_map(|run| found(*run)).collect();
            let worst = self.widths(&finished).into_values().fold(0.0, f64::max);
            if worst <= self.relative {
                return (runs, missing);
            }
            // Intervals narrow with the root of the number of seeds.
            let enough = count as f64 * (worst / self.relative).powi(2);
            count = (enough.ceil().min(1e9) as usize).clamp(count + 1, 2 * count).min(seeds.len());
        }
    }

    /// Of each scheme, half of the metric's interval over its mean; infinite where that is not known.
    fn widths<'a>(&self, runs: &[&'a Finished]) -> BTreeMap<&'a str, f64> {
        let (class, column) = self.place();
        let mut values: BTreeMap<&str, Vec<Option<f64>>> = BTreeMap::new();
        for run in runs {
            values.entry(&run.scheme).or_default().push(run.metric(class, column));
        }
        let width = |values: Vec<Option<f64>>| {
            let values: Option<Vec<f64>> = values.into_iter().collect();
            let known = values.and_then(|values| Some((half_interval(&values)?, mean(&values)?)));
            match known {
                Some((0.0, _)) => 0.0,
                Some((half, mean)) => half / mean.abs(),
                None => f64::INFINITY,
            }
        };
        values.into_iter().map(|(scheme, values)| (scheme, width(values))).collect()
    }

    /// A line for each scheme and point where all seeds were not enough.
    pub(crate) fn shortfalls(&self, runs: &[Finished]) -> Vec<String> {
        let mut points: BTreeMap<String, Vec<&Finished>> = BTreeMap::new();
        for run in runs {
            points.entry(but_for_seed(&run.point)).or_default().push(run);
        }
        let mut lines = Vec::new();
        for (point, runs) in &points {
            for (scheme, width) in self.widths(runs) {
                if width > self.relative {
                    let seeds = runs.iter().filter(|run| run.scheme == scheme).count();
                    let known = match width.is_finite() {
                        true => format!("is known to ± {} % only", rounded(100.0 * width)),
                        false => "has no interval".to_owned(),
                    };
                    lines.push(format!(
                        "{scheme}{point}: {} {known}, after all of its {seeds} seeds",
                        self.metric
                    ));
                }
            }
        }
        lines
    }
}

/// The axes of a point but the seed, as they are said.
fn but_for_seed(point: &Point) -> String {
    let axes = point.axes().filter(|(axis, _)| *axis != SEED);
    axes.map(|(axis, value)| format!(", {axis} = {}", axis_text(value))).collect()
}

/// Of each point, but for the seed, the runs of each of its seeds, in the order of the sweep.
fn seeds_by_point<'p>(points: impl Iterator<Item = &'p Point>) -> Vec<Vec<Vec<usize>>> {
    let (mut all, mut places) = (Vec::<Vec<(String, Vec<usize>)>>::new(), BTreeMap::new());
    for (run, point) in points.enumerate() {
        let place = *places.entry(but_for_seed(point)).or_insert(all.len());
        if place == all.len() {
            all.push(Vec::new());
        }
        let seed = point.get(SEED).map(axis_text).unwrap_or_default();
        match all[place].iter_mut().find(|(known, _)| *known == seed) {
            Some((_, runs)) => runs.push(run),
            None => all[place].push((seed, vec![run])),
        }
    }
    all.into_iter().map(|seeds| seeds.into_iter().map(|(_, runs)| runs).collect()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::*;
    use crate::experiment::file::Experiment;
    use crate::spec::plan::Planned;
    use crate::stats::class_summary::ClassSummary;
    use crate::stats::run_summary::Summary;

    const TEXT: &str = "[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n\
                        [[scheme]]\nname = \"dctcp\"\n[[scheme]]\nname = \"pias\"\n[sweep]\n\"workload.load\" = [0.3, 0.6]\n\
                        seed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n";

    fn experiment(stop: &str) -> Result<Experiment, ScenarioError> {
        Experiment::from_text(&format!("{TEXT}{stop}"), Path::new("x.toml"), &[], &[], 1.0)
    }

    /// The runs of an experiment as if each had measured this.
    fn finished(experiment: &Experiment, value: impl Fn(usize) -> f64) -> Vec<Finished> {
        let of = |(index, run): (usize, &Planned)| Finished {
            scheme: run.scheme.clone(),
            point: run.point.clone(),
            key: String::new(),
            dir: PathBuf::new(),
            summary: Summary {
                classes: vec![ClassSummary {
                    fct_p99_us: Some(value(index)),
                    ..ClassSummary::of("short".into(), &[], 0, 0)
                }],
                ..Summary::default()
            },
            resumed: false,
        };
        experiment.runs.iter().enumerate().map(of).collect()
    }

    /// Makes what is missing until nothing is; the runs that were made, in order.
    fn made(stop: &Stop, experiment: &Experiment, all: &[Finished]) -> (Vec<usize>, Needed) {
        let mut there = Vec::new();
        loop {
            let points = experiment.runs.iter().map(|run| &run.point);
            let needed = stop.needed(points, |run| there.contains(&run).then(|| &all[run]));
            if needed.missing.is_empty() {
                return (there, needed);
            }
            there.extend(&needed.missing);
        }
    }

    fn stop(relative: f64) -> Stop {
        Stop { metric: "short.fct_p99_us".into(), relative }
    }

    #[test]
    fn the_scheme_that_varies_most_says_how_many_seeds_a_point_has() {
        let experiment = experiment("").unwrap();
        // Points are loads by seeds, two schemes each: at the first load pias varies by a tenth, else nothing does.
        let value = |run: usize| if run < 24 && run % 2 == 1 && (run / 2) % 2 == 1 { 110.0 } else { 100.0 };
        let all = finished(&experiment, value);
        let (there, needed) = made(&stop(0.05), &experiment, &all);
        let at = |load: usize| needed.runs.iter().filter(|run| *run / 24 == load).count();
        assert_eq!(at(1), 2 * 3);
        assert!(at(0) > 2 * 3 && at(0) < 2 * 12, "{}", at(0));
        assert_eq!(at(0) % 2, 0);
        let mut sorted = there.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, needed.runs);
        // One seed fewer were not enough, or as many as were tried at once.
        let values: Vec<f64> = (0..at(0) / 2).map(|seed| value(2 * seed + 1)).collect();
        assert!(half_interval(&values).unwrap() / mean(&values).unwrap() <= 0.05);
        assert!(stop(0.05).shortfalls(&all[..at(0)]).is_empty());
        let never = stop(0.001);
        let (there, needed) = made(&never, &experiment, &all);
        assert_eq!(needed.runs.len(), 24 + 2 * 3);
        assert_eq!(there.len(), 24 + 2 * 3);
        let lines = never.shortfalls(&all[..24]);
        assert_eq!(lines.len(), 1);
        let line = "pias, workload.load = 0.3: short.fct_p99_us is known to ± ";
        assert!(
            lines[0].starts_with(line) && lines[0].ends_with("after all of its 12 seeds"),
            "{}",
            lines[0]
        );
    }

    proptest! {
        /// Whatever was there before, what is needed in the end is the same: an interrupted sweep goes on as it would have.
        #[test]
        fn what_was_there_changes_nothing(
            values in prop::collection::vec(50.0f64..150.0, 48),
            there in prop::collection::vec(any::<bool>(), 48),
            relative in 0.01f64..0.5,
        ) {
            let experiment = experiment("").unwrap();
            let all = finished(&experiment, |run| values[run]);
            let stop = stop(relative);
            let (_, expected) = made(&stop, &experiment, &all);
            let mut there = there;
            loop {
                let points = experiment.runs.iter().map(|run| &run.point);
                let needed = stop.needed(points, |run| there[run].then(|| &all[run]));
                if needed.missing.is_empty() {
                    prop_assert_eq!(needed, expected);
                    break;
                }
                needed.missing.iter().for_each(|run| there[*run] = true);
            }
        }
    }

    #[test]
    fn mistakes_are_found() {
        let wrong = |text: &str| experiment(text).unwrap_err().to_string();
        let text = wrong("[stop]\nmetric = \"short.fct_p99\"\nrelative = 0.1\n");
        assert!(text.contains("stop.metric: ") && text.contains("\"fct_p99\"; known are flows, "), "{text}");
        let text = wrong("[stop]\nmetric = \"short.fct_p99_us\"\nrelative = 2.0\n");
        assert!(text.contains("stop.relative: must be above 0 and below 1"), "{text}");
        let text = wrong("[stop]\nmetric = \"short.fct_p99_us\"\n");
        assert!(text.contains("relative"), "{text}");
        let text = TEXT.replace("seed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]", "");
        let text = format!("{text}[stop]\nmetric = \"short.fct_p99_us\"\nrelative = 0.1\n");
        let error = Experiment::from_text(&text, Path::new("x.toml"), &[], &[], 1.0).unwrap_err().to_string();
        assert!(error.contains("needs an axis seed in [sweep]"), "{error}");
        assert!(experiment("[stop]\nmetric = \"packet_hops\"\nrelative = 0.1\n").is_ok());
        for (metric, said) in [
            ("shrt.fct_p99_us", "unknown class \"shrt\""),
            ("short@300.fct_p99_us", "neither a traffic class"),
            ("fct_p99_us", "needs a class, as in \"all.fct_p99_us\""),
            ("all.packet_hops", "is of the whole run: leave out \"all.\""),
        ] {
            let text = wrong(&format!("[stop]\nmetric = \"{metric}\"\nrelative = 0.1\n"));
            assert!(text.contains("stop.metric: ") && text.contains(said), "{text}");
        }
        assert!(experiment("[stop]\nmetric = \"long@deadline.fct_p99_us\"\nrelative = 0.1\n").is_ok());
    }
}
