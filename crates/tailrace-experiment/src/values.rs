//! Many numbers in several lists, and those at places of their order.

use std::sync::Arc;

use crate::numbers::{percentile, place_of};

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
            return of.map(|p| Some(self.at(place_of(p, count)?)));
        }
        let mut sorted: Vec<f64> = self.iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        of.map(|p| percentile(&sorted, p))
    }

    /// The number at a place of their order, without putting them in order or copying them: its bits are found some at a time,
    /// by counting those that have the ones before in common.
    fn at(&self, mut place: usize) -> f64 {
        let mut found = 0;
        for known in (0..u64::BITS).step_by(DIGIT as usize) {
            let mut counts = vec![0_usize; 1 << DIGIT];
            let alike = self.iter().map(in_order_of_bits);
            for bits in alike.filter(|bits| bits.checked_shr(u64::BITS - known).unwrap_or(0) == found) {
                counts[(bits >> (u64::BITS - DIGIT - known)) as usize & ((1 << DIGIT) - 1)] += 1;
            }
            let mut digit = 0;
            while place >= counts[digit] {
                place -= counts[digit];
                digit += 1;
            }
            found = found << DIGIT | digit as u64;
        }
        f64::from_bits(if found >> (u64::BITS - 1) == 0 { !found } else { found ^ 1 << (u64::BITS - 1) })
    }
}

/// A number's bits, such that those of a larger one are more.
fn in_order_of_bits(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | 1 << (u64::BITS - 1) }
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
                prop_assert_eq!(values.at(place).to_bits(), value.to_bits());
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
