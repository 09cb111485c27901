//! Durations as people say them: rounded, where [`Time`](crate::Time) prints all that there is.

/// Seconds in a unit, or two from a minute on.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round();
    let (minutes, hours, days) = (whole / 60.0, whole / 3_600.0, whole / 86_400.0);
    if seconds < 1e-3 {
        format!("{:.1} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.2} ms", seconds * 1e3)
    } else if whole < 60.0 {
        format!("{seconds:.2} s")
    } else if whole < 3_600.0 {
        format!("{} min {} s", minutes.floor(), whole % 60.0)
    } else if whole < 86_400.0 {
        format!("{} h {} min", hours.floor(), minutes.floor() % 60.0)
    } else {
        format!("{} d {} h", days.floor(), hours.floor() % 24.0)
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn people_say_no_thousands_of_seconds() {
        for (seconds, said) in [
            (0.0, "0.0 µs"),
            (207.4e-6, "207.4 µs"),
            (11.43e-3, "11.43 ms"),
            (59.4, "59.40 s"),
            (59.6, "1 min 0 s"),
            (150.0, "2 min 30 s"),
            (3_599.4, "59 min 59 s"),
            (3_600.0, "1 h 0 min"),
            (84_000.0, "23 h 20 min"),
            (1_000_000.0, "11 d 13 h"),
        ] {
            assert_eq!(duration(seconds), said);
        }
    }
}
