//! Many numbers in several lists, and those at places of their order.

use std::sync::Arc;

use crate::numbers::place_of;

/// Bits by which numbers are told apart at first: sign, exponent, and the first of the fraction.
const FIRST_BITS: u32 = 14;

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

    /// The numbers at percentiles (0 to 100) by nearest rank: counted by their first bits, so that only those are put in
    /// order that have them in common with one that is asked for.
    pub(crate) fn percentiles<const N: usize>(&self, of: [f64; N]) -> [Option<f64>; N] {
        let count = self.len();
        let mut counts = vec![0_usize; 1 << FIRST_BITS];
        self.iter().for_each(|value| counts[first_bits(value)] += 1);
        let mut places = of.map(|p| {
            let mut place = place_of(p, count)?;
            let bits = counts.iter().position(|&here| {
                let found = place < here;
                place -= if found { 0 } else { here };
                found
            });
            Some((bits?, place, Vec::new()))
        });
        for value in self.iter() {
            let bits = first_bits(value);
            let of_value = places.iter_mut().flatten().filter(|(wanted, ..)| *wanted == bits);
            of_value.for_each(|(_, _, alike)| alike.push(value));
        }
        places.map(|place| {
            let (_, place, mut alike) = place?;
            Some(*alike.select_nth_unstable_by(place, f64::total_cmp).1)
        })
    }
}

/// The first bits of a number, such that a larger one has none that are less.
fn first_bits(value: f64) -> usize {
    let bits = value.to_bits();
    let ordered = if value.is_sign_negative() { !bits } else { bits | 1 << (u64::BITS - 1) };
    (ordered >> (u64::BITS - FIRST_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numbers::percentile;

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
        }
    }
}
