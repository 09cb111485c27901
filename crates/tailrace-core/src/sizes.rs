//! Flow-size distributions as piecewise-linear CDFs, with the moments that threshold models need.

/// A distribution of flow sizes: uniform between the points of its CDF; a repeated size is an atom.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution {
    points: Vec<(f64, f64)>,
}

/// Points that are no CDF. `index` counts from 0.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// Fewer than one point.
    #[error("a CDF needs at least one point")]
    Empty,
    /// A size below zero or not a number.
    #[error("point {index}: size {size} must be a number ≥ 0")]
    BadSize {
        /// Which point.
        index: usize,
        /// Its size.
        size: f64,
    },
    /// A probability outside [0, 1] or not a number.
    #[error("point {index}: probability {probability} must lie in 0..1")]
    BadProbability {
        /// Which point.
        index: usize,
        /// Its probability.
        probability: f64,
    },
    /// Sizes or probabilities that fall.
    #[error("point {index}: sizes and probabilities must not fall from one point to the next")]
    NotMonotone {
        /// Which point.
        index: usize,
    },
    /// The last probability is not 1.
    #[error("the last probability is {last}, but a CDF must end at 1")]
    DoesNotEndAtOne {
        /// The last probability.
        last: f64,
    },
    /// All mass at size 0.
    #[error("the mean size is 0")]
    NoMass,
}

impl SizeError {
    /// The point that is wrong, where one is.
    pub fn index(&self) -> Option<usize> {
        match *self {
            SizeError::BadSize { index, .. }
            | SizeError::BadProbability { index, .. }
            | SizeError::NotMonotone { index } => Some(index),
            SizeError::Empty | SizeError::DoesNotEndAtOne { .. } | SizeError::NoMass => None,
        }
    }
}

impl SizeDistribution {
    /// From `(size in bytes, cumulative probability)` points. If the first probability is above 0, that
    /// much mass sits at the first size.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, SizeError> {
        for (index, &(size, probability)) in points.iter().enumerate() {
            if !(size.is_finite() && size >= 0.0) {
                return Err(SizeError::BadSize { index, size });
            }
            if !(0.0..=1.0).contains(&probability) {
                return Err(SizeError::BadProbability { index, probability });
            }
            if index > 0 && (size < points[index - 1].0 || probability < points[index - 1].1) {
                return Err(SizeError::NotMonotone { index });
            }
        }
        let last = points.last().ok_or(SizeError::Empty)?.1;
        if (last - 1.0).abs() > 1e-9 {
            return Err(SizeError::DoesNotEndAtOne { last });
        }
        let distribution = SizeDistribution { points };
        if distribution.mean() <= 0.0 { Err(SizeError::NoMass) } else { Ok(distribution) }
    }

    /// The points, `(size in bytes, cumulative probability)`.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The largest size in bytes.
    pub fn max(&self) -> f64 {
        self.points[self.points.len() - 1].0
    }

    /// The size in bytes below which a share `u` of flows lies.
    pub fn quantile(&self, u: f64) -> f64 {
        let next = self.points.partition_point(|&(_, p)| p < u);
        let Some(&(high, p_high)) = self.points.get(next) else { return self.max() };
        if next == 0 {
            return high;
        }
        let (low, p_low) = self.points[next - 1];
        if p_high > p_low { low + (high - low) * (u - p_low) / (p_high - p_low) } else { high }
    }

    /// The share of flows of at most `size` bytes.
    pub fn cdf(&self, size: f64) -> f64 {
        let next = self.points.partition_point(|&(s, _)| s <= size);
        if next == 0 {
            return 0.0;
        }
        let (low, p_low) = self.points[next - 1];
        match self.points.get(next) {
            Some(&(high, p_high)) => p_low + (p_high - p_low) * (size - low) / (high - low),
            None => 1.0,
        }
    }

    /// Mean size in bytes.
    pub fn mean(&self) -> f64 {
        self.mean_below(f64::INFINITY)
    }

    /// E[S; S ≤ a] in bytes: what flows of at most `a` bytes add to the mean.
    pub fn mean_below(&self, a: f64) -> f64 {
        self.integrate(a, |u, v, density| density * (v * v - u * u) / 2.0, |s| s)
    }

    /// E[S²; S ≤ a] in bytes²: what flows of at most `a` bytes add to the mean square.
    pub fn square_below(&self, a: f64) -> f64 {
        self.integrate(a, |u, v, density| density * (v * v * v - u * u * u) / 3.0, |s| s * s)
    }

    /// E[min(S, a)] in bytes.
    pub fn mean_capped(&self, a: f64) -> f64 {
        self.mean_below(a) + self.above(a) * a.min(self.max())
    }

    /// E[min(S, a)²] in bytes².
    pub fn square_capped(&self, a: f64) -> f64 {
        self.square_below(a) + self.above(a) * a.min(self.max()).powi(2)
    }

    /// The share of flows of more than `size` bytes.
    fn above(&self, size: f64) -> f64 {
        1.0 - self.cdf(size)
    }

    /// Sums a moment over sizes of at most `a`: `slope` over each piece of constant density, `atom` at
    /// repeated sizes.
    fn integrate(&self, a: f64, slope: impl Fn(f64, f64, f64) -> f64, atom: impl Fn(f64) -> f64) -> f64 {
        let (first, p_first) = self.points[0];
        let mut total = if first <= a { p_first * atom(first) } else { 0.0 };
        for pair in self.points.windows(2) {
            let ((low, p_low), (high, p_high)) = (pair[0], pair[1]);
            if low > a {
                break;
            }
            if high > low {
                total += slope(low, high.min(a), (p_high - p_low) / (high - low));
            } else {
                total += (p_high - p_low) * atom(low);
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn web_search_like() -> SizeDistribution {
        SizeDistribution::new(vec![(6.0, 0.0), (6.0, 0.15), (13.0, 0.2), (33.0, 0.4), (667.0, 1.0)]).unwrap()
    }

    #[test]
    fn bad_points_are_named() {
        let error = |points: &[(f64, f64)]| SizeDistribution::new(points.to_vec()).unwrap_err();
        assert_eq!(error(&[]), SizeError::Empty);
        assert_eq!(error(&[(-1.0, 0.0), (1.0, 1.0)]).index(), Some(0));
        assert_eq!(error(&[(1.0, 0.0), (2.0, 1.5)]).index(), Some(1));
        assert_eq!(error(&[(1.0, 0.5), (2.0, 0.4), (3.0, 1.0)]), SizeError::NotMonotone { index: 1 });
        assert_eq!(error(&[(1.0, 0.0), (2.0, 0.9)]), SizeError::DoesNotEndAtOne { last: 0.9 });
        assert_eq!(error(&[(0.0, 1.0)]), SizeError::NoMass);
    }

    #[test]
    fn quantile_inverts_cdf() {
        let sizes = web_search_like();
        for u in [0.16, 0.2, 0.33, 0.4, 0.77, 1.0] {
            assert!((sizes.cdf(sizes.quantile(u)) - u).abs() < 1e-12);
        }
        assert_eq!(sizes.quantile(0.0), 6.0);
        assert_eq!(sizes.quantile(0.15), 6.0);
    }

    #[test]
    fn moments_match_sampling() {
        let sizes = web_search_like();
        let mut stream = Stream::new(1, "sizes", 0);
        let drawn: Vec<f64> = (0..400_000).map(|_| sizes.quantile(stream.unit())).collect();
        let average = |f: &dyn Fn(f64) -> f64| drawn.iter().map(|&s| f(s)).sum::<f64>() / drawn.len() as f64;
        for a in [5.0, 6.0, 10.0, 100.0, 1e9] {
            let close = |exact: f64, sampled: f64| (exact / sampled - 1.0).abs() < 0.01;
            assert!(close(sizes.mean_capped(a), average(&|s| s.min(a))), "{a}");
            assert!(close(sizes.square_capped(a), average(&|s| s.min(a).powi(2))), "{a}");
            let below = |s: f64, moment: f64| if s <= a { moment } else { 0.0 };
            let (mean, square) = (average(&|s| below(s, s)), average(&|s| below(s, s * s)));
            // Nothing is below the least size.
            assert!(if a < 6.0 {
                mean == 0.0 && sizes.mean_below(a) == 0.0
            } else {
                close(sizes.mean_below(a), mean)
            });
            assert!(a < 6.0 || close(sizes.square_below(a), square), "{a}");
        }
    }
}
