//! In which unit the values of a column are.

use super::decimal::Decimal;

/// A unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name in full.
    pub name: &'static str,
    /// Bytes or picoseconds in it.
    pub factor: u64,
    /// How column names and options say it.
    pub(super) said: &'static [&'static str],
}

const fn unit(name: &'static str, factor: u64, said: &'static [&'static str]) -> Unit {
    Unit { name, factor, said }
}

pub(super) const TIMES: [Unit; 5] = [
    unit("seconds", 1_000_000_000_000, &["s", "sec", "secs", "second", "seconds"]),
    unit("milliseconds", 1_000_000_000, &["ms", "msec", "millis", "millisecond", "milliseconds"]),
    unit("microseconds", 1_000_000, &["us", "µs", "μs", "usec", "micros", "microsecond", "microseconds"]),
    unit("nanoseconds", 1_000, &["ns", "nsec", "nanos", "nanosecond", "nanoseconds"]),
    unit("picoseconds", 1, &["ps"]),
];

pub(super) const SIZES: [Unit; 7] = [
    unit("bytes", 1, &["bytes", "byte", "octets"]),
    unit("kilobytes", 1_000, &["kb", "kilobytes"]),
    unit("megabytes", 1_000_000, &["mb", "megabytes"]),
    unit("gigabytes", 1_000_000_000, &["gb", "gigabytes"]),
    unit("kibibytes", 1 << 10, &["kib", "kibibytes"]),
    unit("mebibytes", 1 << 20, &["mib", "mebibytes"]),
    unit("gibibytes", 1 << 30, &["gib", "gibibytes"]),
];

/// The unit that times must have, where their values say it: with parts behind the point seconds, else what has passed since 1970.
pub fn of_times(values: &[Option<Decimal>]) -> Option<Unit> {
    let numbers = || values.iter().flatten().copied();
    if numbers().any(|number| !number.is_whole()) {
        return Some(TIMES[0]);
    }
    // Between 2001 and 2286 in each unit.
    let since = |digits: u32| {
        let from: Decimal = format!("1e{digits}").parse().unwrap_or_default();
        numbers().next().is_some() && numbers().all(|number| number >= from && number < from.times(10))
    };
    TIMES.into_iter().zip([9, 12, 15, 18]).find(|(_, digits)| since(*digits)).map(|(unit, _)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_say_their_unit_where_they_can() {
        let unit = |values: &[&str]| {
            let values: Vec<_> = values.iter().map(|text| Some(text.parse().unwrap())).collect();
            of_times(&values).map(|unit| unit.name)
        };
        assert_eq!(unit(&["0.5", "1"]), Some("seconds"));
        assert_eq!(unit(&["1700000000", "1700000001"]), Some("seconds"));
        assert_eq!(unit(&["1700000000000", "1700000001000"]), Some("milliseconds"));
        assert_eq!(unit(&["1700000000000000"]), Some("microseconds"));
        assert_eq!(unit(&["1700000000000000000"]), Some("nanoseconds"));
        for values in [&["0", "100"][..], &[], &["1700000000", "17000000000"]] {
            assert_eq!(unit(values), None, "{values:?}");
        }
    }
}
