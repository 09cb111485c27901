//! The search for the best thresholds.
//!
//! The mean is a sum of terms of two neighbouring pairs (β, α), so the best sequence of pairs out of given
//! candidates is a shortest path. First over a coarse grid of pairs, then within a corridor around the path
//! found, finer and finer: no random numbers, and all thresholds move at once.

use tailrace_core::Bytes;

use super::{Kind, Model, Moments, Plan, Point};
use crate::pias::model::grid;

/// Coarse candidates for each type, besides the corners of its CDF.
const COARSE: usize = 40;

/// Corners of a CDF that become coarse candidates at most.
const CORNERS: usize = 16;

/// Candidates on each side of a threshold in the corridor.
const REACH: isize = 3;

/// A pair of candidates by index.
type Pair = (usize, usize);

/// What one type brings up to each candidate.
struct Axis {
    /// Candidates in bytes, ascending, from 0 to the largest size.
    sizes: Vec<f64>,
    parts: Vec<Moments>,
}

impl Axis {
    /// Of an absent type there is nothing to choose.
    fn new<'a>(kind: Option<Kind<'a>>, part: fn(&Kind<'a>, f64) -> Moments) -> Self {
        let Some(kind) = kind else { return Axis { sizes: vec![0.0], parts: vec![Moments::default()] } };
        let sizes = grid(kind.sizes);
        let parts = sizes.iter().map(|&size| part(&kind, size)).collect();
        Axis { sizes, parts }
    }

    fn last(&self) -> usize {
        self.sizes.len() - 1
    }

    /// Some of the candidates, evenly chosen, and the corners of the CDF, where optima like to lie.
    fn coarse(&self, kind: Option<Kind>) -> Vec<usize> {
        let mut chosen: Vec<usize> = (0..=COARSE).map(|step| step * self.last() / COARSE).collect();
        let corners = kind.map_or(&[][..], |kind| kind.sizes.points());
        for corner in 0..corners.len().min(CORNERS) {
            let (size, _) = corners[corner * corners.len() / corners.len().min(CORNERS)];
            chosen.push(self.sizes.partition_point(|&candidate| candidate < size).min(self.last()));
        }
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }
}

impl Model<'_> {
    /// Thresholds for so many levels that make the mean completion time least.
    pub fn optimal(&self, levels: usize) -> Plan {
        let (splitting, sieving) = optimal(self, levels);
        let whole = |sizes: &[f64]| -> Vec<f64> { sizes.iter().map(|size| size.round()).collect() };
        let (splitting, sieving) = (whole(&splitting), whole(&sieving));
        Plan {
            mean: self.mean(&splitting, &sieving),
            known_shares: shares(&splitting, self.known, Kind::split),
            unknown_shares: shares(&sieving, self.unknown, Kind::sieved),
            splitting: splitting.iter().map(|&size| Bytes::new(size as u64)).collect(),
            sieving: sieving.iter().map(|&size| Bytes::new(size as u64)).collect(),
        }
    }
}

/// The share of a type's bytes that each level serves, with levels ending at `ends`.
fn shares<'a>(ends: &[f64], kind: Option<Kind<'a>>, part: fn(&Kind<'a>, f64) -> Moments) -> Vec<f64> {
    let Some(kind) = kind else { return vec![0.0; ends.len() + 1] };
    let served = |end: f64| part(&kind, end).served / kind.load;
    let served: Vec<f64> = ends.iter().map(|&end| served(end)).chain([1.0]).collect();
    (0..served.len()).map(|level| served[level] - if level > 0 { served[level - 1] } else { 0.0 }).collect()
}

/// The best thresholds β and α for so many levels, in bytes.
fn optimal(model: &Model<'_>, levels: usize) -> (Vec<f64>, Vec<f64>) {
    let known = Axis::new(model.known, Kind::split);
    let unknown = Axis::new(model.unknown, Kind::sieved);
    let point = |(beta, alpha): Pair| model.join(&known.parts[beta], &unknown.parts[alpha]);
    let top = (known.last(), unknown.last());
    let all = |axis: &Axis| (0..=axis.last()).collect();
    let (betas, alphas) = match (model.known, model.unknown) {
        (Some(_), Some(_)) => (known.coarse(model.known), unknown.coarse(model.unknown)),
        // With one type every candidate is affordable, and the optimum exact.
        _ => (all(&known), all(&unknown)),
    };
    let pairs: Vec<Pair> = betas.iter().flat_map(|&b| alphas.iter().map(move |&a| (b, a))).collect();
    let (mut cost, mut path) = shortest(&vec![pairs; levels - 1], top, point);
    let mut step = top.0.max(top.1) / COARSE;
    while step > 0 {
        let corridor: Vec<Vec<Pair>> = path.iter().map(|&pair| around(pair, step, top)).collect();
        let (less, better) = shortest(&corridor, top, point);
        if less < cost * (1.0 - 1e-9) {
            (cost, path) = (less, better);
        } else {
            step /= 2;
        }
    }
    // Levels that nothing is in come last.
    path.dedup();
    path.retain(|&pair| pair != (0, 0));
    path.resize(levels - 1, top);
    let sizes =
        |axis: &Axis, index: fn(&Pair) -> usize| path.iter().map(|pair| axis.sizes[index(pair)]).collect();
    let (splitting, sieving): (Vec<f64>, Vec<f64>) = (sizes(&known, |p| p.0), sizes(&unknown, |p| p.1));
    match (model.known, model.unknown) {
        // Flows of a type that was not planned are treated as the other's.
        (None, _) => (sieving.clone(), sieving),
        (_, None) => (splitting.clone(), splitting),
        _ => (splitting, sieving),
    }
}

/// Candidates around a pair, `step` apart, itself among them.
fn around((beta, alpha): Pair, step: usize, top: Pair) -> Vec<Pair> {
    let near = |index: usize, last: usize| -> Vec<usize> {
        let mut near: Vec<usize> =
            (-REACH..=REACH).map(|n| index.saturating_add_signed(n * step as isize).min(last)).collect();
        near.dedup();
        near
    };
    let alphas = near(alpha, top.1);
    near(beta, top.0).iter().flat_map(|&b| alphas.iter().map(move |&a| (b, a))).collect()
}

/// The cheapest ascending sequence with one pair of each stage, from (0, 0) to `top`, and its cost.
fn shortest(stages: &[Vec<Pair>], top: Pair, point: impl Fn(Pair) -> Point) -> (f64, Vec<Pair>) {
    let start = vec![((0, 0), point((0, 0)), 0.0)];
    let mut reached = vec![start];
    let mut from: Vec<Vec<usize>> = Vec::new();
    for stage in stages.iter().map(Vec::as_slice).chain([&[top][..]]) {
        let before = &reached[reached.len() - 1];
        let (next, origins) = stage.iter().map(|&pair| reach(pair, point(pair), before)).unzip();
        reached.push(next);
        from.push(origins);
    }
    let mut path = Vec::new();
    let mut index = 0;
    for (stage, origins) in stages.iter().zip(&from[1..]).rev() {
        index = origins[index];
        path.push(stage[index]);
    }
    path.reverse();
    (reached[reached.len() - 1][0].2, path)
}

/// A pair, what the cost of a level needs of it, and the least cost of all flows up to it.
type Reached = (Pair, Point, f64);

/// The cheapest way to a pair, and from which of those before it.
fn reach(pair: Pair, end: Point, before: &[Reached]) -> (Reached, usize) {
    let (mut least, mut origin) = (f64::INFINITY, 0);
    for (index, (from, point, cost)) in before.iter().enumerate() {
        if from.0 <= pair.0 && from.1 <= pair.1 {
            let cost = cost + point.cost_to(&end);
            if cost < least * (1.0 - 1e-12) {
                (least, origin) = (cost, index);
            }
        }
    }
    ((pair, end, least), origin)
}
