//! A set of segment numbers within a sliding window: a ring of 64-bit words.

/// Segment numbers, all within a window that starts at the base given with each call.
///
/// Bits below the base are always clear, which is why the ring can reuse their words.
#[derive(Clone, Debug, Default)]
pub struct SeqSet {
    words: Vec<u64>,
    len: u32,
}

impl SeqSet {
    /// How many numbers are in the set.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Empties the set and keeps its memory.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.len = 0;
    }

    /// Whether `seq` is in the set.
    #[inline]
    pub fn contains(&self, base: u32, seq: u32) -> bool {
        self.len > 0 && seq >= base && self.reaches(base, seq) && self.word(seq) >> (seq & 63) & 1 == 1
    }

    /// Adds `start..end`, all at or above `base`; returns how many were new.
    pub fn insert_range(&mut self, base: u32, start: u32, end: u32) -> u32 {
        debug_assert!(start >= base && end > start);
        if !self.reaches(base, end - 1) {
            self.grow(base, end - 1);
        }
        let mut added = 0;
        for (index, mask) in masks(start, end) {
            let slot = index as usize & (self.words.len() - 1);
            added += (mask & !self.words[slot]).count_ones();
            self.words[slot] |= mask;
        }
        self.len += added;
        added
    }

    /// Removes `base..end`, the front of the window; returns how many were in the set.
    #[inline]
    pub fn remove_front(&mut self, base: u32, end: u32) -> u32 {
        if self.len == 0 {
            return 0;
        }
        let mut removed = 0;
        for (index, mask) in masks(base, end) {
            if !self.reaches(base, index << 6) && index != base >> 6 {
                break;
            }
            let slot = index as usize & (self.words.len() - 1);
            removed += (mask & self.words[slot]).count_ones();
            self.words[slot] &= !mask;
        }
        self.len -= removed;
        removed
    }

    /// How many of `start..end` are in the set.
    pub fn count(&self, base: u32, start: u32, end: u32) -> u32 {
        if self.len == 0 {
            return 0;
        }
        let within = |index: u32| index == base >> 6 || self.reaches(base, index << 6);
        masks(start, end)
            .take_while(|&(index, _)| within(index))
            .map(|(index, mask)| (self.words[index as usize & (self.words.len() - 1)] & mask).count_ones())
            .sum()
    }

    /// The first number at or above `from` that is not in the set.
    pub fn first_missing(&self, base: u32, from: u32) -> u32 {
        let mut seq = from;
        while self.len > 0 && self.reaches(base, seq) {
            let ones = (self.word(seq) >> (seq & 63)).trailing_ones();
            seq += ones;
            if ones == 0 || seq & 63 != 0 {
                break;
            }
        }
        seq
    }

    /// The first number of the unbroken run that ends with `seq`, which is in the set.
    pub fn run_start(&self, base: u32, seq: u32) -> u32 {
        let mut start = seq;
        loop {
            let below = start & 63;
            // Bits at and below `start`, moved to the top of the word.
            let ones = (self.word(start) << (63 - below)).leading_ones().min(below + 1);
            start = start + 1 - ones;
            if ones != below + 1 || start <= base {
                return start.max(base);
            }
            if self.word(start - 1) >> 63 == 0 {
                return start;
            }
            start -= 1;
        }
    }

    /// Whether the ring, standing at `base`, has a word for `seq`.
    #[inline]
    fn reaches(&self, base: u32, seq: u32) -> bool {
        ((seq >> 6) - (base >> 6)) < self.words.len() as u32
    }

    #[inline]
    fn word(&self, seq: u32) -> u64 {
        self.words[(seq >> 6) as usize & (self.words.len() - 1)]
    }

    #[cold]
    fn grow(&mut self, base: u32, seq: u32) {
        let old = std::mem::take(&mut self.words);
        let needed = ((seq >> 6) - (base >> 6) + 1) as usize;
        self.words = vec![0; needed.next_power_of_two().max(2)];
        let first = (base >> 6) as usize;
        for index in first..first + old.len() {
            let (from, to) = (index & (old.len() - 1), index & (self.words.len() - 1));
            self.words[to] = old[from];
        }
    }
}

/// The words that `start..end` touches, each with the bits it covers.
#[inline]
fn masks(start: u32, end: u32) -> impl Iterator<Item = (u32, u64)> {
    let last = if end > start { (end - 1) >> 6 } else { start >> 6 };
    let words = if end > start { start >> 6..last + 1 } else { 0..0 };
    words.map(move |index| {
        let from = if index == start >> 6 { !0 << (start & 63) } else { !0 };
        let to = if index == last { !0 >> (63 - ((end - 1) & 63)) } else { !0 };
        (index, from & to)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(
            start_base in 0u32..200,
            operations in prop::collection::vec((0u32..300, 1u32..200, any::<bool>()), 1..60),
        ) {
            let (mut set, mut naive, mut base) = (SeqSet::default(), BTreeSet::new(), start_base);
            for (ahead, length, advance) in operations {
                if advance {
                    let end = base + ahead;
                    let gone = naive.iter().filter(|&&s| s < end).count();
                    prop_assert_eq!(set.remove_front(base, end), gone as u32);
                    naive.retain(|&s| s >= end);
                    base = end;
                } else {
                    let range = base + ahead..base + ahead + length;
                    let new = range.clone().filter(|&s| naive.insert(s)).count();
                    prop_assert_eq!(set.insert_range(base, range.start, range.end), new as u32);
                    let run = (base..range.start).rev().take_while(|s| naive.contains(s)).count() as u32;
                    prop_assert_eq!(set.run_start(base, range.start), range.start - run);
                }
                prop_assert_eq!(set.len() as usize, naive.len());
                for probe in base..base + 600 {
                    prop_assert_eq!(set.contains(base, probe), naive.contains(&probe));
                }
                let missing = (base + ahead..).find(|s| !naive.contains(s));
                prop_assert_eq!(Some(set.first_missing(base, base + ahead)), missing);
                let counted = naive.range(base + 5..base + 5 + length).count() as u32;
                prop_assert_eq!(set.count(base, base + 5, base + 5 + length), counted);
            }
        }
    }
}
