//! Numbers as people write them, without loss: nanoseconds since 1970 have more digits than a float keeps.

use std::fmt;
use std::str::FromStr;

/// A number in trillionths of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(i128);

const SCALE: u32 = 12;
/// Nothing that is measured has more digits before its point.
const MAX: i128 = 10_i128.pow(SCALE + 20);

/// A text that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoNumber {
    /// A number with a unit.
    HasUnit,
    /// Not a number, or one that nothing has.
    NotFinite,
    /// Something else.
    Other,
}

impl fmt::Display for NoNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoNumber::HasUnit => {
                "but all values of a column have one unit, which its name says (size_kb, start_us): give numbers"
            }
            NoNumber::NotFinite => "but must be a finite number",
            NoNumber::Other => "but must be a number",
        })
    }
}

impl FromStr for Decimal {
    type Err = NoNumber;

    fn from_str(text: &str) -> Result<Self, NoNumber> {
        let text = text.trim();
        let (sign, digits) = match text.as_bytes().first() {
            Some(b'-') => (-1, &text[1..]),
            Some(b'+') => (1, &text[1..]),
            _ => (1, text),
        };
        if ["nan", "inf", "infinity"].contains(&digits.to_ascii_lowercase().as_str()) {
            return Err(NoNumber::NotFinite);
        }
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let (number, rest) = digits.split_at(end);
        let exponent: i32 = match rest.strip_prefix(['e', 'E']) {
            Some(exponent) => exponent.parse().map_err(|_| NoNumber::Other)?,
            None if rest.is_empty() => 0,
            None if !number.is_empty() && rest.trim_start().starts_with(char::is_alphabetic) => {
                return Err(NoNumber::HasUnit);
            }
            None => return Err(NoNumber::Other),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits: Vec<u8> = whole.bytes().chain(part.bytes()).collect();
        if digits.is_empty() || digits.contains(&b'.') {
            return Err(NoNumber::Other);
        }
        // Digits of this power of ten and below are lost, rounded to the nearest.
        let shift = i64::from(exponent) - part.len() as i64 + i64::from(SCALE);
        let mut value: i128 = 0;
        let kept = digits.len() as i64 + shift.min(0);
        for &digit in &digits[..usize::try_from(kept).unwrap_or(0)] {
            value = value * 10 + i128::from(digit - b'0');
            if value > MAX {
                return Err(NoNumber::NotFinite);
            }
        }
        let next = usize::try_from(kept).ok().and_then(|place| digits.get(place));
        value += i128::from(next.is_some_and(|&digit| digit >= b'5'));
        for _ in 0..shift.max(0) {
            value *= 10;
            if value > MAX || value == 0 {
                break;
            }
        }
        if value > MAX { Err(NoNumber::NotFinite) } else { Ok(Decimal(sign * value)) }
    }
}

impl Decimal {
    /// So many times as much.
    pub fn times(self, factor: u64) -> Self {
        Decimal(self.0.saturating_mul(i128::from(factor)))
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Self {
        Decimal(self.0.saturating_sub(other.0))
    }

    /// Rounded to a whole number, if it is one from 0 to `most`.
    pub fn whole(self, most: u64) -> Option<u64> {
        let unit = 10_i128.pow(SCALE);
        let rounded = self.0.saturating_add(unit / 2).div_euclid(unit);
        u64::try_from(rounded).ok().filter(|&number| number <= most && self.0 >= 0)
    }

    /// Whether it has no part behind the point.
    pub fn is_whole(self) -> bool {
        self.0 % 10_i128.pow(SCALE) == 0
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_i128.pow(SCALE);
        let (sign, whole, part) =
            (if self.0 < 0 { "-" } else { "" }, self.0.abs() / unit, self.0.abs() % unit);
        match format!("{part:012}").trim_end_matches('0') {
            "" => write!(f, "{sign}{whole}"),
            part => write!(f, "{sign}{whole}.{part}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<String, NoNumber> {
        text.parse::<Decimal>().map(|number| number.to_string())
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (text, number) in [
            ("1700000000123456789", "1700000000123456789"),
            ("-0.25", "-0.25"),
            ("1e-6", "0.000001"),
            ("2.5E3", "2500"),
            (".5", "0.5"),
            ("+7.", "7"),
            (" 3 ", "3"),
            ("0.0000000000005", "0.000000000001"),
            ("0.00000000000049", "0"),
            ("0e99999999", "0"),
            ("1e-99999999", "0"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(number), "{text}");
        }
        assert_eq!(read("10KB"), Err(NoNumber::HasUnit));
        assert_eq!(read("10 ms"), Err(NoNumber::HasUnit));
        for text in ["NaN", "-inf", "1e400", "1e99999999", "123456789012345678901234567890123"] {
            assert_eq!(read(text), Err(NoNumber::NotFinite), "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "0x10", "host1", "1,5", "1e", "2024-05-01"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = read(&text);
        }

        #[test]
        fn what_is_written_is_read_back(value in -MAX..MAX) {
            prop_assert_eq!(Decimal(value).to_string().parse(), Ok(Decimal(value)));
        }

        #[test]
        fn floats_are_near(value in -1e9..1e9_f64) {
            let unit = 10_f64.powi(SCALE as i32);
            let read: Decimal = format!("{value:e}").parse().unwrap();
            prop_assert!((read.0 as f64 / unit - value).abs() < 1e-6);
        }
    }
}
