//! Quantities that carry their unit in the type. Time is integer picoseconds, so serialisation times of
//! the usual link rates are exact; files and command lines write them with units ("10Gbps", "250ms").

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in virtual time, or a span of it, in picoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A number of bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A data rate in bit/s.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A quantity whose text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read \"{text}\" as {what}: expected a number with a unit, for example \"{example}\"")]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);

    /// The longest time that text may say, 1,000,000 s: sums of a few of them stay in range.
    pub const LONGEST: Time = Time(1_000_000_000_000_000_000);
    /// Later than everything.
    pub const MAX: Time = Time(u64::MAX);

    /// From picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Time(ps)
    }
    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Time(ns * 1_000)
    }
    /// From microseconds.
    pub const fn from_us(us: u64) -> Self {
        Time(us * 1_000_000)
    }
    /// From milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Time(ms * 1_000_000_000)
    }
    /// From seconds, rounded to the nearest picosecond; negative and non-finite values become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Time((s * 1e12).round() as u64)
    }
    /// In picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// In whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// The span since `earlier`, or zero if that lies ahead.
    pub const fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
    /// This time and a span after it, [`Time::MAX`] at most.
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);
    /// More than any buffer holds.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// From a count of bytes.
    pub const fn new(bytes: u64) -> Self {
        Bytes(bytes)
    }
    /// The count.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The count as a float, for laws.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// The difference, or zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// From bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// From Gbit/s (10^9 bit/s).
    pub const fn from_gbps(gbps: u64) -> Self {
        Rate(gbps * 1_000_000_000)
    }
    /// In bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// In bytes a second.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// The time that `bytes` take on a link of this rate, rounded up to a picosecond.
    pub fn time_for(self, bytes: Bytes) -> Time {
        let bits = u128::from(bytes.0) * 8 * 1_000_000_000_000;
        Time(bits.div_ceil(u128::from(self.0)) as u64)
    }
}

/// A link rate prepared for the per-packet path: picoseconds a byte in 48.16 fixed point, so a
/// serialisation time is one multiplication. Exact for every rate that divides 8·10¹² bit/s
/// (1, 2.5, 10, 25, 40, 50, 100, 200, 400 Gbps, …), within a picosecond for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRate(u64);

impl LinkRate {
    const SHIFT: u32 = 16;

    /// Prepares `rate`, which must not be zero.
    pub fn new(rate: Rate) -> Self {
        LinkRate((8_000_000_000_000u64 << Self::SHIFT).div_ceil(rate.0))
    }

    /// The serialisation time of a packet.
    #[inline]
    pub fn time_for(self, bytes: u16) -> Time {
        Time((u64::from(bytes) * self.0) >> Self::SHIFT)
    }

    /// The bytes that it carries in that time, to the nearest.
    #[inline]
    pub fn bytes_in(self, time: Time) -> u64 {
        let half = self.0 / 2;
        match time.0.checked_mul(1 << Self::SHIFT).and_then(|scaled| scaled.checked_add(half)) {
            Some(scaled) => scaled / self.0,
            None => {
                let scaled = (u128::from(time.0) << Self::SHIFT) + u128::from(half);
                (scaled / u128::from(self.0)).try_into().unwrap_or(u64::MAX)
            }
        }
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}
impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}
impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}
impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, times: u64) -> Time {
        Time(self.0 * times)
    }
}
impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(iter: I) -> Time {
        Time(iter.map(|t| t.0).sum())
    }
}
impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}
impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

/// What a text unit means: its name and its size in the base unit.
type Units = &'static [(&'static str, u64)];

const TIME_UNITS: Units = &[
    ("s", 1_000_000_000_000),
    ("ms", 1_000_000_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ns", 1_000),
    ("ps", 1),
];
const BYTE_UNITS: Units = &[
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("kB", 1_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];
const RATE_UNITS: Units = &[
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("Kbps", 1_000),
    ("kbps", 1_000),
    ("bps", 1),
];

/// Reads "<number><unit>", exact for decimal fractions such as "20.2us".
fn parse(text: &str, units: Units) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = (text[..split].trim(), &text[split..]);
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 18 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let part = if fraction.is_empty() {
        0
    } else {
        let ten = 10u128.pow(fraction.len() as u32);
        ((fraction.parse::<u128>().ok()? * u128::from(scale) + ten / 2) / ten) as u64
    };
    whole.checked_add(part)
}

/// Writes a value in its largest unit that keeps it exact with at most three decimals; nothing in the unit with the
/// shortest name, of which the others are made.
fn write(f: &mut fmt::Formatter<'_>, value: u64, units: Units) -> fmt::Result {
    if value == 0 {
        let shortest = units.iter().map(|(name, _)| name).min_by_key(|name| name.len());
        return write!(f, "0{}", shortest.unwrap_or(&""));
    }
    let fits = |scale: u64| value >= scale && (u128::from(value) * 1_000).is_multiple_of(u128::from(scale));
    let (name, scale) = units.iter().find(|(_, s)| fits(*s)).unwrap_or(&units[units.len() - 1]);
    let thousandths = u128::from(value) * 1_000 / u128::from(*scale);
    let (whole, part) = (thousandths / 1_000, thousandths % 1_000);
    if part == 0 {
        write!(f, "{whole}{name}")
    } else {
        write!(f, "{whole}.{}{name}", format!("{part:03}").trim_end_matches('0'))
    }
}

macro_rules! textual {
    ($type:ident, $units:ident, $most:expr, $what:literal, $example:literal) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, $units).filter(|&value| value <= $most).map($type).ok_or_else(|| UnitError {
                    text: text.to_owned(),
                    what: $what,
                    example: $example,
                })
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(f, self.0, $units)
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": concat!($what, ", for example \"", $example, "\"") })
            }
        }
    };
}

textual!(Time, TIME_UNITS, Time::LONGEST.0, "a time of at most 1000000s", "250ms");
textual!(Bytes, BYTE_UNITS, u64::MAX, "a number of bytes", "100KB");
textual!(Rate, RATE_UNITS, u64::MAX, "a rate", "10Gbps");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_link_carries_in_a_packets_time_its_bytes() {
        for bps in [10_000, 999_999_937, 1_000_000_000, 10_000_000_000, 400_000_000_000] {
            let link = LinkRate::new(Rate::from_bps(bps));
            for bytes in [0, 1, 40, 1_500, 65_535] {
                assert_eq!(link.bytes_in(link.time_for(bytes)), u64::from(bytes), "{bps} bit/s");
            }
        }
        // Half a minute of 1 Gbps; and a time in which there is no end of bytes.
        let link = LinkRate::new(Rate::from_gbps(1));
        assert_eq!(link.bytes_in(Time::from_ms(30_000)), 3_750_000_000);
        assert!(link.bytes_in(Time::MAX) > 1 << 50);
    }

    #[test]
    fn text_is_read_exactly() {
        assert_eq!("20.2us".parse(), Ok(Time::from_ps(20_200_000)));
        assert_eq!("0.2 us".parse(), Ok(Time::from_ns(200)));
        assert_eq!("100KB".parse(), Ok(Bytes::new(100_000)));
        assert_eq!("1KiB".parse(), Ok(Bytes::new(1024)));
        assert_eq!("2.5Gbps".parse(), Ok(Rate::from_bps(2_500_000_000)));
    }

    #[test]
    fn nothing_is_written_in_the_plain_unit() {
        assert_eq!([Time::ZERO.to_string(), Bytes::ZERO.to_string()], ["0s", "0B"]);
        assert_eq!(Rate::from_bps(0).to_string(), "0bps");
    }

    #[test]
    fn bad_text_says_what_would_be_right() {
        for bad in ["", "10", "ms", "-3ms", "1e3s", "3 parsecs", "9999999999999s", "1.2.3ms"] {
            let error = bad.parse::<Time>().unwrap_err().to_string();
            assert!(error.contains(bad) && error.contains("250ms"), "{error}");
        }
    }

    #[test]
    fn serialisation_is_exact_at_the_usual_rates() {
        for gbps in [1, 10, 25, 40, 50, 100, 200, 400] {
            let (rate, link) = (Rate::from_gbps(gbps), LinkRate::new(Rate::from_gbps(gbps)));
            for bytes in [1u16, 40, 64, 1500, 9000, u16::MAX] {
                assert_eq!(link.time_for(bytes), rate.time_for(Bytes::new(u64::from(bytes))));
            }
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(ps in 0..=Time::LONGEST.as_ps()) {
            let time = Time::from_ps(ps);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }

        #[test]
        fn odd_rates_are_within_a_picosecond(bps in 1_000_000u64..1_000_000_000_000, bytes in 1u16..9000) {
            let rate = Rate::from_bps(bps);
            let exact = rate.time_for(Bytes::new(u64::from(bytes))).as_ps();
            prop_assert!(exact - LinkRate::new(rate).time_for(bytes).as_ps() <= 1);
        }
    }
}
