//! A rate in one byte and a scale (Baraat §4.4).
//!
//! The paper's unit is 7.8125 Mbps, so that 1 Gbps is 128, and its scale factor is there for faster links. Here it
//! also goes down: of 1 Gbps, 40 flows have 3.2 units each, and a grant that is rounded down to whole units would
//! lose up to a third. The sender picks a scale in which its share takes all eight bits, so that
//! rounding loses less than 1/128 of it.

/// A rate in units of the finest scale: 7.8125 Mbps / 128, about 61 kbit/s. Ports add up grains, so that they take
/// back exactly what they have counted.
pub type Grains = u64;

/// 61035.15625 bit/s, as a fraction: a grain is `BPS.0 / BPS.1` bit/s.
const BPS: (u64, u64) = (1_953_125, 32);

/// The highest number of grains that is no more than `bps`.
#[inline]
pub fn grains_in(bps: u64) -> Grains {
    bps.saturating_mul(BPS.1) / BPS.0
}

/// So many grains in bit/s, rounded down.
#[inline]
pub fn bps_of(grains: Grains) -> u64 {
    grains.saturating_mul(BPS.0) / BPS.1
}

/// The unit of a header's rates: 7.8125 Mbps times 2⁻⁷ to 2⁸. A byte tells up to 510 Gbps of the coarsest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scale(u8);

impl Scale {
    /// The finest: bytes are grains.
    pub const FINEST: Scale = Scale(0);
    /// The paper's, of which 128 are 1 Gbps.
    pub const PAPER: Scale = Scale(7);
    const COARSEST: Scale = Scale(15);

    /// The finest in which a byte tells `grains`.
    #[inline]
    pub fn of(grains: Grains) -> Self {
        let bits = (Grains::BITS - grains.leading_zeros()).saturating_sub(u8::BITS);
        let scale = Scale(bits.min(Self::COARSEST.0.into()) as u8);
        // What lies above 255 units is rounded up to 256, and takes the next one.
        let fits = grains <= scale.grains(u8::MAX) || scale == Self::COARSEST;
        if fits { scale } else { Scale(scale.0 + 1) }
    }

    /// The highest byte that is no more than `grains`: for what is granted.
    #[inline]
    pub fn at_most(self, grains: Grains) -> u8 {
        u8::try_from(grains >> self.0).unwrap_or(u8::MAX)
    }

    /// The lowest byte that is no less than `grains`, as far as there is one: for what is asked for.
    #[inline]
    pub fn at_least(self, grains: Grains) -> u8 {
        u8::try_from(grains.div_ceil(1 << self.0)).unwrap_or(u8::MAX)
    }

    /// What a byte means.
    #[inline]
    pub fn grains(self, byte: u8) -> Grains {
        Grains::from(byte) << self.0
    }

    /// The one with units 16 times as large.
    pub fn coarser(self) -> Self {
        Scale((self.0 + 4).min(Self::COARSEST.0))
    }

    /// Two scales in a byte.
    pub(super) fn to_byte(self, other: Scale) -> u8 {
        self.0 << 4 | other.0
    }

    /// The two scales of a byte.
    pub(super) fn from_byte(raw: u8) -> (Self, Self) {
        (Scale(raw >> 4), Scale(raw & 15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_gigabit_is_128_units_of_the_papers_scale() {
        let gigabit = grains_in(1_000_000_000);
        assert_eq!((Scale::PAPER.at_most(gigabit), Scale::PAPER.at_least(gigabit)), (128, 128));
        assert_eq!(bps_of(gigabit), 1_000_000_000);
        assert_eq!(bps_of(Scale::COARSEST.grains(255)), 510_000_000_000);
        assert_eq!(Scale::COARSEST.at_least(u64::MAX), 255);
        assert_eq!(Scale::of(u64::MAX), Scale::COARSEST);
    }

    #[test]
    fn whole_units_of_the_papers_scale_would_lose_a_quarter_of_a_fortieth() {
        // 32 flows share 127 units: 3.97 each, 3 of them told.
        let share = grains_in(127 * 7_812_500 / 32);
        let told = |scale: Scale| scale.grains(scale.at_most(share)) as f64 / share as f64;
        assert!((told(Scale::PAPER) - 0.756).abs() < 0.002, "{}", told(Scale::PAPER));
        assert!(told(Scale::of(share * 17 / 16)) > 0.992, "{}", told(Scale::of(share * 17 / 16)));
    }

    proptest! {
        #[test]
        fn a_demand_takes_all_bits_and_a_grant_loses_less_than_a_128th(grains in 1u64..8_355_840) {
            let scale = Scale::of(grains);
            let demand = scale.at_least(grains);
            prop_assert!(scale.grains(demand) >= grains);
            prop_assert!(demand >= 128 || scale == Scale::FINEST);
            let lost = grains - scale.grains(scale.at_most(grains));
            prop_assert!(lost * 128 <= grains || scale == Scale::FINEST && lost == 0);
        }

        #[test]
        fn bits_a_second_come_back_within_a_grain(bps in 0u64..10_000_000_000_000) {
            let back = bps_of(grains_in(bps));
            prop_assert!(back <= bps && bps - back <= 61_036);
        }
    }
}
