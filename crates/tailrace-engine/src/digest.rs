//! A digest of the event stream: the same runs have the same digest, and others have it by chance only, once in 2⁶⁴.

/// Folds (time, entity) of every event into 64 bits: a sum of hashes, so that it does not depend on the order in
/// which events at one time, or of independent parts of a run, are taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Takes in one event.
    #[inline]
    pub fn add(&mut self, at_ps: u64, entity: u32) {
        self.0 = self.0.wrapping_add(hash(at_ps, entity));
    }

    /// Takes out one event that was taken in.
    pub fn remove(&mut self, at_ps: u64, entity: u32) {
        self.0 = self.0.wrapping_sub(hash(at_ps, entity));
    }

    /// The digest so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// A folded multiplication (Yi, wyhash): each bit depends on all bits of time and entity.
#[inline]
fn hash(at_ps: u64, entity: u32) -> u64 {
    let product =
        u128::from(at_ps ^ 0x9E37_79B9_7F4A_7C15) * u128::from(u64::from(entity) ^ 0xA24B_AED4_963E_E407);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(events: &[(u64, u32)]) -> u64 {
        let mut digest = Digest::default();
        events.iter().for_each(|&(at, entity)| digest.add(at, entity));
        digest.value()
    }

    #[test]
    fn order_does_not_matter_and_all_else_does() {
        let events = [(5_000, 1), (5_000, 2), (6_200, 1), (7_400, 9)];
        let mut turned = events;
        turned.reverse();
        assert_eq!(digest(&events), digest(&turned));
        assert_ne!(digest(&events), digest(&events[1..]));
        let mut less = Digest(digest(&events));
        less.remove(events[0].0, events[0].1);
        assert_eq!(less.value(), digest(&events[1..]));
        assert_ne!(digest(&events), digest(&[events, events].concat()));
    }

    #[test]
    fn two_events_that_swap_their_entities_are_another_run() {
        // As when two links of a run each do what the other should: times and entities are the same, not their pairs.
        for step in 1..2_000u64 {
            let (a, b) = (1_200_000 * step, 1_200_000 * step + 1_230 * (step % 7 + 1));
            for (first, second) in [(0, 1), (3, 5), (16, 1 << 20)] {
                assert_ne!(digest(&[(a, first), (b, second)]), digest(&[(a, second), (b, first)]), "{step}");
            }
        }
    }
}
