//! How numbers are distributed, in memory that does not grow with them.

use std::collections::BTreeMap;

/// Bins of an octave: numbers of one bin differ by less than 1/128 of themselves.
const BINS_BITS: u32 = 7;

/// Counts of numbers in bins of relative width 1/128; below 256 each number has its own. There are no more than 7,424 bins,
/// whatever comes, and the sum of two histograms is that of all their numbers, exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    bins: BTreeMap<u32, Bin>,
}

/// Numbers that are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    count: u64,
    sum: u128,
}

impl Histogram {
    /// Takes a number in.
    pub fn add(&mut self, number: u64) {
        let bin = self.bins.entry(bin_of(number)).or_default();
        bin.count += 1;
        bin.sum += u128::from(number);
    }

    /// Takes in all numbers of another one.
    pub fn merge(&mut self, other: &Histogram) {
        for (number, bin) in &other.bins {
            let own = self.bins.entry(*number).or_default();
            own.count += bin.count;
            own.sum += bin.sum;
        }
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.bins.values().map(|bin| bin.count).sum()
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.bins.values().map(|bin| bin.sum).sum()
    }

    /// Their mean; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.sum() as f64 / self.count().max(1) as f64
    }

    /// The number that a share `u` of all do not exceed, to the width of a bin; `None` if there are none.
    pub fn quantile(&self, u: f64) -> Option<f64> {
        let rank = (u.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = self.bins.values().find(|bin| {
            below += bin.count;
            below >= rank
        });
        found.map(Bin::mean)
    }

    /// Its bins, ascending: which one, how many numbers, and their sum.
    pub fn bins(&self) -> impl Iterator<Item = (u32, u64, u128)> {
        self.bins.iter().map(|(number, bin)| (*number, bin.count, bin.sum))
    }

    /// The histogram with these bins; `None` if there is none, because numbers of such a sum are not of that bin.
    pub fn of_bins(bins: impl IntoIterator<Item = (u32, u64, u128)>) -> Option<Self> {
        let mut histogram = Histogram::default();
        for (number, count, sum) in bins {
            let mean = u64::try_from(sum.checked_div(count.into())?).ok()?;
            let bin = Bin { count, sum };
            if bin_of(mean) != number || histogram.bins.insert(number, bin).is_some() {
                return None;
            }
        }
        Some(histogram)
    }

    /// Points `(number, share of those that do not exceed it)` of a step function with the mean of all numbers: those of a
    /// bin stand for its mean.
    pub fn steps(&self) -> Vec<(f64, f64)> {
        let (all, mut below) = (self.count(), 0);
        let mut points = Vec::new();
        for bin in self.bins.values() {
            let share = |count: u64| count as f64 / all as f64;
            points.push((bin.mean(), share(below)));
            below += bin.count;
            points.push((bin.mean(), share(below)));
        }
        points
    }
}

impl Bin {
    fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }
}

/// The first bits of a number, and how many follow.
fn bin_of(number: u64) -> u32 {
    let shift = (u64::BITS - number.leading_zeros()).saturating_sub(BINS_BITS + 1);
    (shift << BINS_BITS) + (number >> shift) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailrace_core::SizeDistribution;

    use super::*;

    fn of(numbers: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|&number| histogram.add(number));
        histogram
    }

    #[test]
    fn small_numbers_are_exact_and_bins_ascend_without_gaps() {
        let bins: Vec<u32> = (0..5_000).map(bin_of).collect();
        assert!(bins.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
        assert!((0..256).all(|number| bin_of(number) == number as u32));
        assert_eq!(bin_of(u64::MAX), 7_423);
    }

    #[test]
    fn quantiles_of_few_numbers_are_these() {
        let histogram = of(&[10, 20, 30, 40]);
        let quantiles: Vec<f64> =
            [0.0, 0.25, 0.26, 0.5, 1.0].map(|u| histogram.quantile(u).unwrap()).to_vec();
        assert_eq!(quantiles, [10.0, 10.0, 20.0, 20.0, 40.0]);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    /// Sizes as they are in networks: over many magnitudes.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0u32..50, any::<u64>()).prop_map(|(bits, any)| any >> (63 - bits)), 1..300)
    }

    proptest! {
        #[test]
        fn two_merged_are_one_of_all(a in numbers(), b in numbers()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn bins_make_the_same_histogram_and_no_other(all in numbers()) {
            let histogram = of(&all);
            prop_assert_eq!(Histogram::of_bins(histogram.bins()), Some(histogram.clone()));
            let shifted = histogram.bins().map(|(number, count, sum)| (number + 1, count, sum));
            prop_assert_eq!(Histogram::of_bins(shifted), None);
        }

        #[test]
        fn quantiles_are_right_to_the_width_of_a_bin(mut all in numbers(), u in 0.0..1.0) {
            let found = of(&all).quantile(u).unwrap();
            all.sort_unstable();
            let rank = ((u * all.len() as f64).ceil() as usize).max(1);
            let exact = all[rank - 1] as f64;
            prop_assert!((found - exact).abs() <= exact / 128.0 + 1e-9, "{} {}", found, exact);
        }

        #[test]
        fn steps_are_a_distribution_with_the_same_mean(all in numbers()) {
            let histogram = of(&all);
            prop_assume!(histogram.mean() > 0.0);
            let distribution = SizeDistribution::new(histogram.steps()).unwrap();
            let off = (distribution.mean() - histogram.mean()).abs();
            prop_assert!(off <= histogram.mean() * 1e-9, "{} {}", distribution.mean(), histogram.mean());
        }
    }
}
