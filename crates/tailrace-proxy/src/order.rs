//! What may overtake one another, put back in order by its number.

use std::collections::BTreeMap;

/// Numbered things of which the next is given out, and those that came early wait.
#[derive(Debug)]
pub(crate) struct InOrder<T> {
    next: u32,
    early: BTreeMap<u32, T>,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        InOrder { next: 0, early: BTreeMap::new() }
    }
}

impl<T> InOrder<T> {
    /// One has come. One that has come before changes nothing.
    pub(crate) fn push(&mut self, number: u32, thing: T) {
        if number >= self.next {
            self.early.entry(number).or_insert(thing);
        }
    }

    /// The next one, if it has come.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let thing = self.early.remove(&self.next)?;
        self.next += 1;
        Some(thing)
    }

    /// Whether something waits for another that has not come.
    pub(crate) fn has_gap(&self) -> bool {
        !self.early.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_out_by_number_and_once() {
        let mut order = InOrder::default();
        let mut out = Vec::new();
        for number in [2, 0, 0, 4, 1, 3, 2] {
            order.push(number, number);
            out.push(std::iter::from_fn(|| order.pop()).collect::<Vec<_>>());
        }
        assert_eq!(out, [vec![], vec![0], vec![], vec![], vec![1, 2], vec![3, 4], vec![]]);
        assert!(!order.has_gap());
    }
}
