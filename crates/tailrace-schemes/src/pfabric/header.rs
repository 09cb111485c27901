//! What pFabric adds to packets: one number that says how urgent they are; smaller is more urgent (pFabric §4).

use tailrace_core::{Bytes, Header, Time};
use tailrace_queues::Ranked;

/// A packet's rank: the class in the top bit, a value in the other 31. Compared as a number, and so first by
/// class, then by value. Deadlines come before everything else; acknowledgements before deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u32);

/// The class of packets without a deadline.
const NO_DEADLINE: u32 = 1 << 31;
/// The largest value of that class: the authors' rank of a flow whose deadline is lost.
const WORST: u32 = 1 << 30;
const PS_PER_US: u64 = 1_000_000;

impl Rank {
    /// Of a flow that has lost its deadline: no rank is less urgent.
    pub const HOPELESS: Rank = Rank(NO_DEADLINE | WORST);

    /// By an absolute deadline, in whole microseconds. Those beyond 35 minutes are alike.
    #[inline]
    pub fn deadline(at: Time) -> Rank {
        let us = (at.as_ps() / PS_PER_US).min(u64::from(NO_DEADLINE - 1));
        // Rank 0 is that of acknowledgements.
        Rank((us as u32).max(1))
    }

    /// By an amount of data. Those beyond a gibibyte are alike, and no more urgent than a lost deadline.
    #[inline]
    pub fn amount(bytes: Bytes) -> Rank {
        Rank(NO_DEADLINE | bytes.get().min(u64::from(WORST)) as u32)
    }
}

impl Ranked for Rank {
    #[inline]
    fn rank(&self) -> u64 {
        u64::from(self.0)
    }
}

impl Header for Rank {
    /// Of acknowledgements: the most urgent.
    const NONE: Rank = Rank(0);
    const WIRE_BYTES: u16 = 4;

    fn encode(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.0.to_be_bytes());
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        raw.first_chunk().map(|bytes| Rank(u32::from_be_bytes(*bytes)))
    }

    /// Metadata, as in the authors' ns-2 code: packets are as long as under the schemes that this one is
    /// compared with.
    #[inline]
    fn wire_bytes(&self) -> u16 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_come_first_then_values() {
        let ascending = [
            Rank::NONE,
            Rank::deadline(Time::ZERO),
            Rank::deadline(Time::from_us(7)),
            Rank::deadline(Time::from_ms(1_000_000_000)),
            Rank::amount(Bytes::ZERO),
            Rank::amount(Bytes::new(1)),
            Rank::amount(Bytes::new((1 << 30) - 1)),
            Rank::HOPELESS,
        ];
        assert!(ascending.windows(2).all(|pair| pair[0] < pair[1]), "{ascending:?}");
        assert!(ascending.windows(2).all(|pair| pair[0].rank() < pair[1].rank()), "{ascending:?}");
        assert_eq!(Rank::amount(Bytes::MAX), Rank::HOPELESS);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(number in any::<u32>()) {
            let mut raw = [0xAA; 4];
            Rank(number).encode(&mut raw);
            prop_assert_eq!(raw, number.to_be_bytes());
            prop_assert_eq!(Rank::decode(&raw), Some(Rank(number)));
        }

        #[test]
        fn whatever_decodes_encodes_to_the_same_bytes(raw in prop::collection::vec(any::<u8>(), 0..8)) {
            let decoded = Rank::decode(&raw);
            prop_assert_eq!(decoded.is_some(), raw.len() >= 4);
            if let Some(rank) = decoded {
                let mut again = [0; 4];
                rank.encode(&mut again);
                prop_assert_eq!(&again[..], &raw[..4]);
            }
        }
    }
}
