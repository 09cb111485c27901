//! Many numbers in several lists, and those at places of their order.

use std::sync::Arc;

use crate::stats::numbers::{percentile, place_of};

/// So many are put in order.
const SORTED: usize = 1 << 14;
/// Of more, so many bits are found at a time.
const DIGIT: u32 = 16;

/// Numbers. Lists that are whole are shared by copies.
#[derive(Clone, Default)]
pub(crate) struct Values {
    whole: Vec<Arc<Vec<f64>>>,
    open: Vec<f64>,
}

impl Values {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lists().map(<[f64]>::len).sum()
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.open.push(value);
    }

    /// Takes in other numbers.
    pub(crate) fn join(&mut self, other: Values) {
        for values in [&mut self.open, &mut { other.open }] {
            if !values.is_empty() {
                values.shrink_to_fit();
                self.whole.push(Arc::new(std::mem::take(values)));
            }
        }
        self.whole.extend(other.whole);
    }

    fn lists(&self) -> impl Iterator<Item = &[f64]> {
        self.whole.iter().map(|list| list.as_slice()).chain([self.open.as_slice()])
    }

    fn iter(&self) -> impl Iterator<Item = f64> {
        self.lists().flatten().copied()
    }

    /// The numbers at percentiles (0 to 100) by nearest rank.
    pub(crate) fn percentiles<const N: usize>(&self, of: [f64; N]) -> [Option<f64>; N] {
        let count = self.len();
        if count > SORTED {
            // There are some, so that each has a place.
            return self.at(of.map(|p| place_of(p, count).unwrap_or_default())).map(Some);
        }
        let mut sorted: Vec<f64> = self.iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        of.map(|p| percentile(&sorted, p))
    }

    /// The numbers at places of their order, without putting them in order or copying them: their bits are found some at a time,
    /// by counting those that have the ones before in common.
    fn at<const N: usize>(&self, places: [usize; N]) -> [f64; N] {
        let mut sought = places.map(|place| Sought { found: 0, place });
        for known in (0..u64::BITS).step_by(DIGIT as usize) {
            let mut found = sought.each_ref().map(|one| one.found).to_vec();
            found.sort_unstable();
            found.dedup();
            let mut counts = vec![vec![0_u64; 1 << DIGIT]; found.len()];
            for bits in self.iter().map(in_order_of_bits) {
                let (begin, digit) = (begin_of(bits, known), begin_of(bits, known + DIGIT) & LAST_DIGIT);
                for (counts, _) in counts.iter_mut().zip(&found).filter(|(_, found)| **found == begin) {
                    counts[digit as usize] += 1;
                }
            }
            for one in &mut sought {
                let alike = found.iter().zip(&counts).find(|(found, _)| **found == one.found);
                alike.into_iter().for_each(|(_, counts)| one.advance(counts));
            }
        }
        sought.map(|one| number_of(one.found))
    }
}

/// A number of which some bits are known.
struct Sought {
    /// Its first bits.
    found: u64,
    /// Its place in the order of those that have them.
    place: usize,
}

impl Sought {
    /// Finds its next digit, of which so many have each.
    fn advance(&mut self, counts: &[u64]) {
        let mut digit = 0;
        while self.place as u64 >= counts[digit] {
            self.place -= counts[digit] as usize;
            digit += 1;
        }
        self.found = self.found << DIGIT | digit as u64;
    }
}

const LAST_DIGIT: u64 = (1 << DIGIT) - 1;

/// The first `known` bits.
fn begin_of(bits: u64, known: u32) -> u64 {
    bits.checked_shr(u64::BITS - known).unwrap_or(0)
}

/// A number's bits, such that those of a larger one are more.
fn in_order_of_bits(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | 1 << (u64::BITS - 1) }
}

/// The number whose bits in their order are these.
fn number_of(bits: u64) -> f64 {
    f64::from_bits(if bits >> (u64::BITS - 1) == 0 { !bits } else { bits ^ 1 << (u64::BITS - 1) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn a_number() -> impl Strategy<Value = f64> {
        prop_oneof![-9.0..9.0_f64, 1.0..1.001_f64, Just(1.0), Just(-0.0), Just(0.0), any::<f64>()]
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_a_sorted_list(lists in prop::collection::vec(prop::collection::vec(a_number(), 0..60), 0..5)) {
            let mut values = Values::default();
            for (number, list) in lists.iter().enumerate() {
                let mut more = Values::default();
                list.iter().for_each(|&value| more.push(value));
                if number.is_multiple_of(2) { values.join(more) } else { list.iter().for_each(|&value| values.push(value)) }
            }
            let mut sorted = lists.concat();
            sorted.sort_unstable_by(f64::total_cmp);
            prop_assert_eq!(values.len(), sorted.len());
            let at = [100.0, 99.0, 95.0, 50.0, 50.0, 0.0];
            let bits = |found: Option<f64>| found.map(f64::to_bits);
            prop_assert_eq!(values.percentiles(at).map(bits), at.map(|p| bits(percentile(&sorted, p))));
            for (place, value) in sorted.iter().enumerate().take(5) {
                let last = sorted.len() - 1;
                prop_assert_eq!(values.at([place, last, place]).map(f64::to_bits), [*value, sorted[last], *value].map(f64::to_bits));
            }
        }
    }

    #[test]
    fn percentiles_of_many_are_found_without_sorting() {
        let mut values = Values::default();
        (0..SORTED + 1).for_each(|number| values.push((number * 7919 % (SORTED + 1)) as f64 / 1e3));
        let sorted: Vec<f64> = (0..SORTED + 1).map(|number| number as f64 / 1e3).collect();
        for p in [0.0, 50.0, 95.0, 99.0, 100.0] {
            assert_eq!(values.percentiles([p]), [percentile(&sorted, p)]);
        }
    }
}
