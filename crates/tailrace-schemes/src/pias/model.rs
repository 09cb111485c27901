//! Kleinrock's multi-level first-come-first-served model, and the thresholds that minimise its mean.
//!
//! Flows arrive as a Poisson process at one link; a flow is served in level i while it has sent between
//! α_{i−1} and α_i bytes, and lower levels wait for higher ones. With ρ(a) = λ·E[min(S,a)]/C and
//! W(a) = λ·E[min(S,a)²] / (2·C²·(1 − ρ(a))), a flow of size x in level (α_{i−1}, α_i] takes
//! T(x) = (W(α_i) + x/C) / (1 − ρ(α_{i−1})). The mean of T is a sum of terms that each depend on two
//! neighbouring thresholds only, so dynamic programming finds the global optimum on a grid of sizes.
//!
//! PIAS itself minimises an M/M/1 approximation of the same delay (Bai et al., §4.1); its published
//! thresholds are in the table beside this file.

use tailrace_core::{Bytes, SizeDistribution};

/// Thresholds and what the model says of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Ascending, one fewer than queues. Thresholds that do not help are at the largest size.
    pub thresholds: Vec<Bytes>,
    /// Mean completion time in units of one byte's time on the link.
    pub mean: f64,
}

/// The model at one load.
pub struct Model<'a> {
    sizes: &'a SizeDistribution,
    /// λ/C, per byte.
    rate: f64,
}

impl<'a> Model<'a> {
    /// Sizes at a load in (0, 1).
    pub fn new(sizes: &'a SizeDistribution, load: f64) -> Self {
        Model { sizes, rate: load / sizes.mean() }
    }

    /// Mean completion time, in bytes of link time, with levels ending at `thresholds` (in bytes).
    pub fn mean(&self, thresholds: &[f64]) -> f64 {
        let mut bounds = vec![0.0];
        bounds.extend(thresholds.iter().map(|&a| a.min(self.sizes.max())));
        bounds.push(self.sizes.max());
        let points: Vec<Point> = bounds.iter().map(|&a| self.point(a)).collect();
        points.windows(2).map(|pair| pair[0].cost_to(&pair[1])).sum()
    }

    fn point(&self, a: f64) -> Point {
        let share = if a > 0.0 { self.sizes.cdf(a) } else { 0.0 };
        let capped = self.sizes.mean_capped(a);
        let rho = self.rate * capped;
        Point {
            size: a,
            share,
            below: capped - (1.0 - share) * a,
            idle: 1.0 - rho,
            wait: self.rate * self.sizes.square_capped(a) / (2.0 * (1.0 - rho)),
        }
    }
}

/// A candidate boundary with all that the cost of a level needs.
struct Point {
    size: f64,
    /// F(a).
    share: f64,
    /// E[S; S ≤ a].
    below: f64,
    /// 1 − ρ(a).
    idle: f64,
    /// W(a).
    wait: f64,
}

impl Point {
    /// The part of the mean that flows between this boundary and `end` bring, if they are one level.
    fn cost_to(&self, end: &Point) -> f64 {
        let flows = end.share - self.share;
        if flows <= 0.0 { 0.0 } else { (flows * end.wait + end.below - self.below) / self.idle }
    }
}

/// Points of the grid between two points of the CDF.
const STEPS: usize = 1200;

/// Thresholds that minimise the mean completion time with `queues` levels at `load`.
///
/// Exact up to the grid, whose points are the kinks of the CDF (where optima like to lie), equal steps of
/// its quantiles, and equal ratios of size.
pub fn optimal(sizes: &SizeDistribution, load: f64, queues: usize) -> Plan {
    let model = Model::new(sizes, load);
    let points: Vec<Point> = grid(sizes).into_iter().map(|a| model.point(a)).collect();
    let last = points.len() - 1;
    // best[j]: least cost of all flows up to point j with the levels so far; from[level][j]: where its
    // last level starts.
    let mut best: Vec<f64> = points.iter().map(|p| points[0].cost_to(p)).collect();
    let mut from: Vec<Vec<usize>> = Vec::new();
    for _ in 1..queues {
        let mut next = best.clone();
        let mut start: Vec<usize> = (0..=last).collect();
        for j in 1..=last {
            for i in 1..j {
                let cost = best[i] + points[i].cost_to(&points[j]);
                if cost < next[j] - 1e-12 * next[j] {
                    next[j] = cost;
                    start[j] = i;
                }
            }
        }
        best = next;
        from.push(start);
    }
    let mut end = last;
    let mut thresholds: Vec<Bytes> = from
        .iter()
        .rev()
        .map(|start| {
            let here = end;
            end = start[here];
            // A level that starts where it ends is not needed: its threshold goes to the top.
            Bytes::new(points[if end == here { last } else { end }].size.round() as u64)
        })
        .collect();
    thresholds.sort_unstable();
    Plan { thresholds, mean: best[last] }
}

/// Candidate boundaries, ascending, from 0 to the largest size.
fn grid(sizes: &SizeDistribution) -> Vec<f64> {
    let max = sizes.max();
    let least = sizes.quantile(0.0).max(1.0);
    let ratio = max / least;
    let mut grid: Vec<f64> = vec![0.0, max];
    grid.extend(sizes.points().iter().map(|&(size, _)| size));
    for step in 1..STEPS / 2 {
        let u = step as f64 / (STEPS / 2) as f64;
        grid.push(sizes.quantile(u).round());
        grid.push((least * libm::pow(ratio, u)).round());
    }
    grid.retain(|&a| a <= max);
    grid.sort_unstable_by(f64::total_cmp);
    grid.dedup();
    grid
}
