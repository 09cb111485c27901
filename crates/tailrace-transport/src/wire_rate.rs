//! A rate as headers carry it.

use tailrace_core::Rate;

/// A rate in 16 bits: a floating number of 5 bits of exponent and 11 of mantissa, in bit/s. Rates of up to
/// 4 kbit/s are exact, those up to 4.39 Tbit/s within 0.05 %, and all above count as that. Codes are in the
/// order of their rates, and every code is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WireRate(u16);

impl WireRate {
    const MANTISSA_BITS: u32 = 11;
    const MANTISSA: u16 = (1 << Self::MANTISSA_BITS) - 1;

    /// Nothing.
    pub const ZERO: WireRate = WireRate(0);
    /// The highest rate.
    pub const MAX: WireRate = WireRate(u16::MAX);

    /// The highest that is no more than `bps`: for what is granted.
    #[inline]
    pub fn at_most(bps: u64) -> Self {
        let bits = u64::BITS - bps.leading_zeros();
        if bits <= Self::MANTISSA_BITS {
            return WireRate(bps as u16);
        }
        // The leading one of the mantissa is not written.
        let shift = bits - Self::MANTISSA_BITS - 1;
        if shift + 1 > u32::from(u16::MAX >> Self::MANTISSA_BITS) {
            return Self::MAX;
        }
        let exponent = (shift as u16 + 1) << Self::MANTISSA_BITS;
        WireRate(exponent | (bps >> shift) as u16 & Self::MANTISSA)
    }

    /// The lowest that is no less than `bps`, as far as there is one: for what is asked for.
    #[inline]
    pub fn at_least(bps: u64) -> Self {
        let below = Self::at_most(bps);
        WireRate(below.0.saturating_add(u16::from(below.bps() < bps)))
    }

    /// In bit/s.
    #[inline]
    pub fn bps(self) -> u64 {
        let (exponent, mantissa) = (self.0 >> Self::MANTISSA_BITS, u64::from(self.0 & Self::MANTISSA));
        match exponent {
            0 => mantissa,
            _ => (mantissa + (1 << Self::MANTISSA_BITS)) << (exponent - 1),
        }
    }

    /// As a rate.
    #[inline]
    pub fn rate(self) -> Rate {
        Rate::from_bps(self.bps())
    }

    /// As written on the wire.
    pub const fn to_be_bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    /// As read from the wire.
    pub const fn from_be_bytes(raw: [u8; 2]) -> Self {
        WireRate(u16::from_be_bytes(raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_rates_are_exact_and_the_range_ends_at_four_terabits() {
        for bps in 0..=4096 {
            assert_eq!(WireRate::at_most(bps).bps(), bps);
        }
        assert_eq!(WireRate::MAX.bps(), 4095 << 30);
        assert_eq!(WireRate::at_most(u64::MAX), WireRate::MAX);
        assert_eq!(WireRate::at_least(u64::MAX), WireRate::MAX);
    }

    proptest! {
        #[test]
        fn rounding_costs_less_than_a_thousandth(bps in 1u64..4_390_000_000_000) {
            let (below, above) = (WireRate::at_most(bps).bps(), WireRate::at_least(bps).bps());
            prop_assert!(below <= bps && bps <= above);
            prop_assert!((bps - below) * 1000 <= bps && (above - bps) * 1000 <= bps);
        }

        #[test]
        fn every_code_is_a_rate_and_higher_codes_are_higher_rates(code in 0..u16::MAX) {
            let rate = WireRate::from_be_bytes(code.to_be_bytes());
            prop_assert_eq!(WireRate::at_most(rate.bps()), rate);
            prop_assert_eq!(WireRate::at_least(rate.bps()), rate);
            prop_assert!(WireRate(code + 1).bps() > rate.bps());
        }
    }
}
