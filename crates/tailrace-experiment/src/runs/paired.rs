//! The same flows under two schemes, flow by flow: who is faster, by how much, and whose flows lose.
//!
//! Flows that are near one another in time meet the same queues, so they are no independent draws. Intervals are those of
//! batch means: flows in order of start, seed after seed, in 10 to 30 parts, whose means are taken for independent (Law,
//! Simulation Modeling and Analysis, §9.5.3).

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use serde::Serialize;
use tailrace_scenario::Measure;

use crate::error::Error;
use crate::output::files::read_parquet;
use crate::runs::store::verify_file;
use crate::stats::groups::{ALL_SIZES, SIZE_CLASSES, size_class};
use crate::stats::numbers::{half_interval, mean, percentile};

/// Parts of the flows at most, and at least.
const BATCHES: [usize; 2] = [10, 30];
/// A part has so many flows at least: of fewer, what follows one another would be alike from part to part, too.
const IN_A_BATCH: usize = 40;
/// Fewer flows have no interval.
const MIN_FLOWS: usize = 300;
/// Completion times that differ by less than this are alike.
const ALIKE: f64 = 0.01;
/// A flow that takes so many times as long has lost.
const LOST: f64 = 1.1;
const FLOWS: &str = "flows.parquet";

/// A number, and in which interval the true one is with 95 % confidence; `None` of too few flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Both ends.
    pub interval: Option<[f64; 2]>,
}

/// Flows of one group under a scheme, beside the same flows under another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// Flows that completed under both.
    pub flows: usize,
    /// Flows that completed under one of them only.
    pub unpaired: usize,
    /// Share of flows that were faster, and slower, by more than 1 %.
    pub faster: f64,
    /// See `faster`.
    pub slower: f64,
    /// Geometric mean of the ratios of completion times.
    pub ratio: Estimate,
    /// Change of the mean completion time, as a share of it.
    pub mean_change: Estimate,
    /// Flows that took more than 1.1 times as long, if there are any.
    pub lost: Option<Lost>,
}

/// Flows that lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lost {
    /// Their share of all.
    pub share: f64,
    /// Their median size in bytes, and that of all.
    pub median_bytes: f64,
    /// See `median_bytes`.
    pub median_bytes_of_all: f64,
    /// How many times as long half of them took at least.
    pub median_ratio: f64,
}

/// A flow under two schemes: its size in bytes, and its completion times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Its size.
    pub bytes: u64,
    /// When it started.
    pub start_ns: f64,
    /// Under the scheme that others are compared with, if it completed.
    pub before: Option<f64>,
    /// Under the other one.
    pub after: Option<f64>,
}

/// The flows that were measured in runs of one workload under two schemes, given as folders, one pair of runs a seed, by size
/// class, where there are such. Fails if a run's flows cannot be read, or are other flows.
pub fn by_size(runs: &[(&Path, &Path)], measure: &Measure) -> Result<Vec<(&'static str, Pairs)>, Error> {
    let from_ns = measure.warmup.as_ps() as f64 / 1e3;
    let of_seeds = runs.iter().map(|(before, after)| pairs(before, after, from_ns));
    let pairs = together(of_seeds.collect::<Result<_, Error>>()?);
    let of = |class: &'static str| {
        let belongs =
            |pair: &&Pair| class == ALL_SIZES || SIZE_CLASSES[size_class(pair.bytes, measure)] == class;
        Some((class, Pairs::of(&pairs.iter().filter(belongs).copied().collect::<Vec<_>>())?))
    };
    Ok(SIZE_CLASSES.into_iter().filter_map(of).collect())
}

/// The pairs of all seeds. Where seeds have the same flows, as of a list, a flow counts once, with the means of its times: it would
/// otherwise be taken for several that know nothing of one another.
fn together(of_seeds: Vec<Vec<Pair>>) -> Vec<Pair> {
    let [first, others @ ..] = of_seeds.as_slice() else { return Vec::new() };
    let same = |other: &Vec<Pair>| {
        other.len() == first.len()
            && first.iter().zip(other).all(|(a, b)| (a.bytes, a.start_ns) == (b.bytes, b.start_ns))
    };
    if others.is_empty() || !others.iter().all(same) {
        return of_seeds.concat();
    }
    let mean_of = |row: usize, of: fn(&Pair) -> Option<f64>| {
        of_seeds
            .iter()
            .map(|pairs| of(&pairs[row]))
            .collect::<Option<Vec<f64>>>()
            .and_then(|times| mean(&times))
    };
    let row = |row: usize| Pair {
        before: mean_of(row, |pair| pair.before),
        after: mean_of(row, |pair| pair.after),
        ..first[row]
    };
    (0..first.len()).map(row).collect()
}

/// The flows of both runs that started at this time or later, in order of start.
fn pairs(before: &Path, after: &Path, from_ns: f64) -> Result<Vec<Pair>, Error> {
    let (first, second) = (flows(before)?, flows(after)?);
    let same = |(a, b): (&Flow, &Flow)| a.bytes == b.bytes && a.start_ns == b.start_ns;
    if first.len() != second.len() || !first.iter().zip(&second).all(same) {
        let message = "holds other flows than the run that it is compared with";
        return Err(Error::storage(&after.join(FLOWS), std::io::Error::other(message)));
    }
    let both = first.into_iter().zip(second).filter(|(flow, _)| flow.start_ns >= from_ns);
    Ok(both
        .map(|(a, b)| Pair { bytes: a.bytes, start_ns: a.start_ns, before: a.fct_ns, after: b.fct_ns })
        .collect())
}

/// A row of a run's flows.
struct Flow {
    bytes: u64,
    start_ns: f64,
    fct_ns: Option<f64>,
}

/// The flows of a run in order of their numbers, which is that of start.
fn flows(run: &Path) -> Result<Vec<Flow>, Error> {
    verify_file(run, FLOWS)?;
    let path = run.join(FLOWS);
    let mut rows: Vec<(u32, Flow)> = Vec::new();
    for batch in read_parquet(&path)? {
        let found = rows_of(&batch).ok_or_else(|| {
            Error::storage(&path, std::io::Error::other("has other columns than flows have"))
        })?;
        rows.extend(found);
    }
    rows.sort_by_key(|row| row.0);
    Ok(rows.into_iter().map(|(_, flow)| flow).collect())
}

fn rows_of(batch: &RecordBatch) -> Option<Vec<(u32, Flow)>> {
    let number = batch.column_by_name("flow")?.as_primitive_opt::<UInt32Type>()?;
    let bytes = batch.column_by_name("size_bytes")?.as_primitive_opt::<UInt64Type>()?;
    let start = batch.column_by_name("start_ns")?.as_primitive_opt::<Float64Type>()?;
    let fct = batch.column_by_name("fct_ns")?.as_primitive_opt::<Float64Type>()?;
    let row = |(place, fct_ns)| {
        (number.value(place), Flow { bytes: bytes.value(place), start_ns: start.value(place), fct_ns })
    };
    Some(fct.iter().enumerate().map(row).collect())
}

impl Pairs {
    /// Of flows in order of start.
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        let both = |pair: &Pair| Some((pair.bytes as f64, pair.before?, pair.after?));
        let flows: Vec<(f64, f64, f64)> = pairs.iter().filter_map(both).collect();
        let unpaired = pairs.iter().filter(|pair| pair.before.is_some() != pair.after.is_some()).count();
        let count = flows.len() as f64;
        let share = |is: &dyn Fn(f64) -> bool| {
            flows.iter().filter(|(_, before, after)| is(after / before)).count() as f64 / count
        };
        let logs: Vec<f64> = flows.iter().map(|(_, before, after)| (after / before).ln()).collect();
        let mean_of = |of: fn(&(f64, f64, f64)) -> f64| mean(&flows.iter().map(of).collect::<Vec<_>>());
        let (before, after) = (mean_of(|flow| flow.1), mean_of(|flow| flow.2));
        let (before, change) = (before?, after? / before? - 1.0);
        // Both means are of chance: what a flow adds to their ratio (Law, §4.4, of ratio estimators).
        let added: Vec<f64> = flows.iter().map(|(_, b, a)| (a - (1.0 + change) * b) / before).collect();
        Some(Pairs {
            flows: flows.len(),
            unpaired,
            faster: share(&|ratio| ratio < 1.0 - ALIKE),
            slower: share(&|ratio| ratio > 1.0 + ALIKE),
            ratio: by_batches(&logs)?.map(f64::exp),
            mean_change: by_batches(&added)?.map(|added| added + change),
            lost: lost(&flows),
        })
    }
}

fn lost(flows: &[(f64, f64, f64)]) -> Option<Lost> {
    let sorted = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let lost: Vec<_> = flows.iter().filter(|(_, before, after)| after / before > LOST).collect();
    Some(Lost {
        share: lost.len() as f64 / flows.len() as f64,
        median_bytes: percentile(&sorted(lost.iter().map(|flow| flow.0).collect()), 50.0)?,
        median_bytes_of_all: percentile(&sorted(flows.iter().map(|flow| flow.0).collect()), 50.0)?,
        median_ratio: percentile(&sorted(lost.iter().map(|flow| flow.2 / flow.1).collect()), 50.0)?,
    })
}

impl Estimate {
    /// The same of another scale; `of` must rise.
    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Estimate { value: of(self.value), interval: self.interval.map(|ends| ends.map(of)) }
    }
}

/// The mean of values in order of time, by means of batches.
fn by_batches(values: &[f64]) -> Option<Estimate> {
    let value = mean(values)?;
    if values.len() < MIN_FLOWS {
        return Some(Estimate { value, interval: None });
    }
    let batches = (values.len() / IN_A_BATCH).clamp(BATCHES[0], BATCHES[1]);
    let batch = |number: usize| {
        let [from, to] = [number, number + 1].map(|number| number * values.len() / batches);
        values[from..to].iter().sum::<f64>() / (to - from) as f64
    };
    let means: Vec<f64> = (0..batches).map(batch).collect();
    let half = half_interval(&means)?;
    Some(Estimate { value, interval: Some([value - half, value + half]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::random::Stream;

    fn pair(bytes: u64, before: f64, after: f64) -> Pair {
        Pair { bytes, start_ns: 0.0, before: Some(before), after: Some(after) }
    }

    #[test]
    fn pairs_are_counted_by_hand() {
        let mut pairs =
            vec![pair(10, 4.0, 2.0), pair(20, 1.0, 1.005), pair(30, 1.0, 2.0), pair(40, 2.0, 2.1)];
        pairs.push(Pair { after: None, ..pair(50, 1.0, 0.0) });
        pairs.push(Pair { before: None, after: None, ..pair(60, 0.0, 0.0) });
        let found = Pairs::of(&pairs).unwrap();
        assert_eq!((found.flows, found.unpaired, found.faster, found.slower), (4, 1, 0.25, 0.5));
        assert!((found.ratio.value - (0.5 * 1.005 * 2.0 * 1.05_f64).powf(0.25)).abs() < 1e-12);
        assert!((found.mean_change.value - (7.105 / 8.0 - 1.0)).abs() < 1e-12);
        assert_eq!(found.ratio.interval, None);
        let lost = found.lost.unwrap();
        assert_eq!(
            (lost.share, lost.median_bytes, lost.median_bytes_of_all, lost.median_ratio),
            (0.25, 30.0, 20.0, 2.0)
        );
        assert_eq!(Pairs::of(&[]), None);
        assert_eq!(Pairs::of(&pairs[..2]).unwrap().lost, None);
    }

    #[test]
    fn a_list_under_several_seeds_is_as_many_flows_as_it_has() {
        let seed = |factor: f64| {
            (0..400).map(|n| Pair { start_ns: f64::from(n), ..pair(9, factor, 2.0 * factor) }).collect()
        };
        let pairs = together(vec![seed(1.0), seed(3.0)]);
        assert_eq!((pairs.len(), pairs[7].before, pairs[7].after), (400, Some(2.0), Some(4.0)));
        let other: Vec<Pair> =
            (0..400).map(|n| Pair { start_ns: f64::from(2 * n), ..pair(9, 1.0, 1.0) }).collect();
        assert_eq!(together(vec![seed(1.0), other]).len(), 800);
        assert!(together(vec![]).is_empty());
    }

    /// Ratios that follow one another (each keeps some of the last), around a truth that is known: an interval of 95 % has it in 95
    /// of a hundred repetitions.
    #[test]
    fn intervals_cover_the_truth() {
        let (repetitions, flows, truth) = (400, 3_000, 0.7_f64);
        let (mut covered, mut covered_mean) = (0, 0);
        for repetition in 0..repetitions {
            let mut random = Stream::new(repetition, "noise", 0);
            let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            let mut slow = 0.0;
            let pairs: Vec<Pair> = (0..flows)
                .map(|_| {
                    slow = 0.8 * slow + 0.6 * normal();
                    let before = 100.0 * (0.5 * normal()).exp();
                    pair(1, before, before * truth * (0.4 * slow).exp())
                })
                .collect();
            let found = Pairs::of(&pairs).unwrap();
            let covers = |of: Estimate, truth: f64| {
                let [low, high] = of.interval.unwrap();
                low <= truth && truth <= high
            };
            covered += u32::from(covers(found.ratio, truth));
            // The mean of exp(0.4 z), where z has variance 1.
            covered_mean += u32::from(covers(found.mean_change, truth * 0.08_f64.exp() - 1.0));
        }
        println!("covered: ratio {covered}, mean {covered_mean} of {repetitions}");
        // 380 are expected, with a deviation of 4.4.
        for covered in [covered, covered_mean] {
            assert!((367..=393).contains(&covered), "{covered}");
        }
    }
}
