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
    Model::new(sizes, load).best_among(&grid(sizes), queues)
}

impl Model<'_> {
    /// Thresholds that minimise the mean completion time with `queues` levels, of those whose boundaries are
    /// `candidates`: sizes in bytes, ascending, from 0 to the largest.
    pub fn best_among(&self, candidates: &[f64], queues: usize) -> Plan {
        let points: Vec<Point> = candidates.iter().map(|&a| self.point(a)).collect();
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
}

/// Candidate boundaries, ascending, from 0 to the largest size.
pub(crate) fn grid(sizes: &SizeDistribution) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Web search in packets of 1460 bytes (DCTCP, SIGCOMM 2010).
    fn web_search() -> SizeDistribution {
        let points = [
            (6.0, 0.0),
            (6.0, 0.15),
            (13.0, 0.2),
            (19.0, 0.3),
            (33.0, 0.4),
            (53.0, 0.53),
            (133.0, 0.6),
            (667.0, 0.7),
            (1333.0, 0.8),
            (3333.0, 0.9),
            (6667.0, 0.97),
            (20000.0, 1.0),
        ];
        SizeDistribution::new(points.to_vec()).unwrap()
    }

    fn data_mining() -> SizeDistribution {
        let points = [
            (1.0, 0.0),
            (1.0, 0.5),
            (2.0, 0.6),
            (3.0, 0.7),
            (7.0, 0.8),
            (267.0, 0.9),
            (2107.0, 0.95),
            (66667.0, 0.99),
            (666667.0, 1.0),
        ];
        SizeDistribution::new(points.to_vec()).unwrap()
    }

    /// Computed by an independent script: means in packet times for one level, two and eight.
    #[test]
    fn check_values() {
        for (sizes, load, one, two, eight) in [
            (web_search(), 0.5, 4775.0, 2361.0, 2071.0),
            (web_search(), 0.8, 15678.0, 5887.0, 4463.0),
            (web_search(), 0.9, 33850.0, 11270.0, 7964.0),
            (data_mining(), 0.5, 171802.0, 13589.0, 8465.0),
            (data_mining(), 0.8, 671858.0, 29121.0, 17445.0),
        ] {
            let close = |measured: f64, expected: f64| {
                assert!((measured / expected - 1.0).abs() < 0.01, "{measured} against {expected} at {load}");
            };
            close(Model::new(&sizes, load).mean(&[]), one);
            close(optimal(&sizes, load, 2).mean, two);
            close(optimal(&sizes, load, 8).mean, eight);
        }
    }

    /// The published thresholds are worse than the optimum, but not by much (§13, item 2, last column).
    #[test]
    fn published_thresholds_are_near_the_optimum() {
        let sizes = web_search();
        let published: Vec<f64> =
            super::super::published("web-search", 0.8).unwrap().iter().map(|b| b.as_f64() / 1460.0).collect();
        let mean = Model::new(&sizes, 0.8).mean(&published);
        assert!((mean / 5724.0 - 1.0).abs() < 0.01, "{mean}");
    }

    /// Two and three queues against every combination on a grid of 300 quantiles and all kinks.
    #[test]
    fn brute_force_finds_nothing_better() {
        for sizes in [web_search(), data_mining()] {
            let model = Model::new(&sizes, 0.8);
            let mut candidates: Vec<f64> = (1..300).map(|i| sizes.quantile(f64::from(i) / 300.0)).collect();
            candidates.extend(sizes.points().iter().map(|p| p.0));
            candidates.sort_unstable_by(f64::total_cmp);
            candidates.dedup();
            let two = candidates.iter().map(|&a| model.mean(&[a])).fold(f64::INFINITY, f64::min);
            assert!(optimal(&sizes, 0.8, 2).mean <= two * 1.0005);
            let mut three = f64::INFINITY;
            for (i, &a) in candidates.iter().enumerate() {
                three = candidates[i..].iter().map(|&b| model.mean(&[a, b])).fold(three, f64::min);
            }
            assert!(optimal(&sizes, 0.8, 3).mean <= three * 1.0005);
        }
    }

    /// The plan's mean is what the model says of the plan's thresholds.
    #[test]
    fn the_plan_is_what_the_model_says() {
        for queues in 1..=8 {
            let sizes = web_search();
            let plan = optimal(&sizes, 0.7, queues);
            assert_eq!(plan.thresholds.len(), queues - 1);
            assert!(plan.thresholds.is_sorted());
            let thresholds: Vec<f64> = plan.thresholds.iter().map(|b| b.as_f64()).collect();
            assert!((Model::new(&sizes, 0.7).mean(&thresholds) / plan.mean - 1.0).abs() < 1e-9);
        }
    }

    /// Under a uniform distribution demotion never helps: one level stays.
    #[test]
    fn increasing_hazard_needs_no_levels() {
        let sizes = SizeDistribution::new(vec![(1.0, 0.0), (10_000.0, 1.0)]).unwrap();
        let plan = optimal(&sizes, 0.8, 4);
        let single = Model::new(&sizes, 0.8).mean(&[]);
        assert!((plan.mean / single - 1.0).abs() < 1e-6, "{} against {single}", plan.mean);
    }
}
