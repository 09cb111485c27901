//! Distributions that are formulas rather than tables, as fine tables: what is drawn is then exactly what
//! planners reckon with.

use tailrace_core::SizeDistribution;

/// Pieces of a formula's table. With sizes in geometric steps, means are off by less than 10⁻⁴.
const PIECES: u32 = 1024;

/// Bounded Pareto: density ∝ x^−(shape + 1) from `min` to `max`.
pub(super) fn pareto(shape: f64, min: f64, max: f64) -> SizeDistribution {
    let below = |x: f64| 1.0 - libm::pow(min / x, shape);
    geometric(min, max, |x| below(x) / below(max))
}

/// Lognormal, cut off at `max`: sizes beyond it are drawn again. What would be less than a byte is one.
pub(super) fn lognormal(median: f64, sigma: f64, max: f64) -> SizeDistribution {
    let normal =
        |x: f64| 0.5 * libm::erfc(-(libm::log(x) - libm::log(median)) / sigma / std::f64::consts::SQRT_2);
    let min = (median * libm::exp(-8.0 * sigma)).max(1.0);
    geometric(min, max, |x| normal(x) / normal(max))
}

/// 85 % uniform from 0.95 to 1.05 times `base`, the others between multiples of it. Exact.
pub(super) fn bimodal(base: f64, heavy: [f64; 2]) -> SizeDistribution {
    let points = [(0.95, 0.0), (1.05, 0.85), (heavy[0], 0.85), (heavy[1], 1.0)];
    SizeDistribution::new(points.map(|(factor, below)| (factor * base, below)).to_vec())
        .expect("heavy sizes above the usual ones were checked")
}

/// The table of a distribution function from `min` to `max`.
fn geometric(min: f64, max: f64, cdf: impl Fn(f64) -> f64) -> SizeDistribution {
    let step = libm::log(max / min) / f64::from(PIECES);
    let mut points = vec![(min, cdf(min).clamp(0.0, 1.0))];
    for piece in 1..PIECES {
        let (size, probability) = points[points.len() - 1];
        let x = (min * libm::exp(f64::from(piece) * step)).clamp(size, max);
        points.push((x, cdf(x).clamp(probability, 1.0)));
    }
    points.push((max, 1.0));
    SizeDistribution::new(points).expect("sizes and probabilities were kept from falling")
}

/// A flow's size is drawn from one of several distributions, chosen by weight. Exact.
pub(crate) fn mixture(parts: &[(f64, SizeDistribution)]) -> SizeDistribution {
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let mut sizes: Vec<f64> =
        parts.iter().flat_map(|(_, part)| part.points()).map(|&(size, _)| size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let mean_of = |f: &dyn Fn(&SizeDistribution) -> f64| {
        parts.iter().map(|(weight, part)| weight / total * f(part)).sum::<f64>()
    };
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(2 * sizes.len());
    let mut so_far = 0.0;
    for &size in &sizes {
        for probability in [mean_of(&|part| cdf_before(part, size)), mean_of(&|part| part.cdf(size))] {
            so_far = probability.clamp(so_far, 1.0);
            if points.last() != Some(&(size, so_far)) {
                points.push((size, so_far));
            }
        }
    }
    if let Some(last) = points.last_mut() {
        last.1 = 1.0;
    }
    SizeDistribution::new(points).expect("a mixture of distributions is one")
}

/// The share of flows of less than `size` bytes.
fn cdf_before(distribution: &SizeDistribution, size: f64) -> f64 {
    let points = distribution.points();
    let next = points.partition_point(|&(s, _)| s < size);
    match (next.checked_sub(1).map(|i| points[i]), points.get(next)) {
        (None, _) => 0.0,
        (Some(_), None) => 1.0,
        (Some((low, p_low)), Some(&(high, p_high))) => p_low + (p_high - p_low) * (size - low) / (high - low),
    }
}

/// Mean size if each is rounded up to whole packets of `mss` bytes, at least one.
pub(super) fn mean_in_packets(distribution: &SizeDistribution, mss: f64) -> f64 {
    let packets = |size: f64| (size / mss).ceil().max(1.0);
    // ∫₀ˣ ⌈t/mss⌉ dt: whole steps and the rest of the last one.
    let area = |x: f64| {
        let whole = (x / mss).floor();
        mss * whole * (whole + 1.0) / 2.0 + (x - whole * mss) * (whole + 1.0)
    };
    let points = distribution.points();
    let mut mean = points[0].1 * packets(points[0].0);
    for pair in points.windows(2) {
        let ((low, p_low), (high, p_high)) = (pair[0], pair[1]);
        let within = if high > low { (area(high) - area(low)) / (high - low) } else { packets(low) };
        mean += (p_high - p_low) * within;
    }
    mean * mss
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tailrace_core::random::Stream;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
    }

    #[test]
    fn pareto_has_the_mean_of_the_formula() {
        for (a, l, h) in [(1.2f64, 1e3f64, 1e8f64), (2.5, 100.0, 1e6), (0.5, 1e3, 1e7)] {
            let exact =
                l.powf(a) / (1.0 - (l / h).powf(a)) * a / (a - 1.0) * (l.powf(1.0 - a) - h.powf(1.0 - a));
            close(pareto(a, l, h).mean(), exact, 1e-4);
        }
        assert_eq!(pareto(1.2, 1e3, 1e8).quantile(0.0), 1e3);
        assert_eq!(pareto(1.2, 1e3, 1e8).max(), 1e8);
    }

    #[test]
    fn lognormal_has_median_and_mean_of_the_formula() {
        let wide = lognormal(1e4, 1.0, 1e9);
        close(wide.quantile(0.5), 1e4, 1e-4);
        close(wide.mean(), 1e4 * 0.5f64.exp(), 1e-4);
        let tiny = lognormal(2.0, 3.0, 1e6);
        assert_eq!(tiny.quantile(0.01), 1.0);
    }

    #[test]
    fn packets_are_counted_whole() {
        let fixed = SizeDistribution::new(vec![(10_000.0, 1.0)]).unwrap();
        assert_eq!(mean_in_packets(&fixed, 1460.0), 7.0 * 1460.0);
        let table = SizeDistribution::new(vec![
            (0.0, 0.0),
            (500.0, 0.3),
            (4_000.0, 0.6),
            (4_000.0, 0.8),
            (90_000.0, 1.0),
        ]);
        let table = table.unwrap();
        let mut stream = Stream::new(1, "test", 0);
        let n = 400_000;
        let drawn: f64 = (0..n).map(|_| (table.quantile(stream.unit()) / 1460.0).ceil().max(1.0)).sum();
        close(mean_in_packets(&table, 1460.0), 1460.0 * drawn / f64::from(n), 0.01);
    }

    proptest! {
        #[test]
        fn formulas_give_distributions(shape in 0.01f64..100.0, min in 1.0f64..1e9, ratio in 1.000001f64..1e9) {
            prop_assert!(pareto(shape, min, min * ratio).mean() >= min * 0.999);
        }

        #[test]
        fn cut_off_anywhere(sigma in 0.01f64..10.0, median in 1.0f64..1e9, ratio in 1.000001f64..1e9) {
            prop_assert!(lognormal(median, sigma, median * ratio).mean() >= 1.0);
        }

        #[test]
        fn a_mixture_mixes_means_and_shares(weights in prop::array::uniform3(0.01f64..10.0), size in 1.0f64..1e8) {
            let parts = [
                SizeDistribution::new(vec![(5_000.0, 1.0)]).unwrap(),
                SizeDistribution::new(vec![(1_000.0, 0.0), (5_000.0, 0.5), (1e7, 1.0)]).unwrap(),
                pareto(1.2, 1e3, 1e8),
            ];
            let parts: Vec<_> = weights.into_iter().zip(parts).collect();
            let (mixed, total) = (mixture(&parts), weights.iter().sum::<f64>());
            let expected = |f: &dyn Fn(&SizeDistribution) -> f64| {
                parts.iter().map(|(weight, part)| weight / total * f(part)).sum::<f64>()
            };
            prop_assert!((mixed.mean() / expected(&|part| part.mean()) - 1.0).abs() < 1e-9);
            prop_assert!((mixed.cdf(size) - expected(&|part| part.cdf(size))).abs() < 1e-9);
        }
    }
}
