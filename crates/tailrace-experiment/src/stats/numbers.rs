//! A number out of many.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A value at percentile `p` (0 to 100) by nearest rank; `None` of an empty list. `sorted` must ascend.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    sorted.get(place_of(p, sorted.len())?).copied()
}

/// Where percentile `p` (0 to 100) is by nearest rank, of so many values in order.
pub(crate) fn place_of(p: f64, count: usize) -> Option<usize> {
    let rank = (p / 100.0 * count as f64 - 1e-9).ceil().max(1.0) as usize;
    rank.min(count).checked_sub(1)
}

/// Arithmetic mean; `None` of an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value below which Student's t with so many degrees of freedom is with this probability; `None` without degrees
/// of freedom, or where no probability is.
pub fn student(probability: f64, freedom: u32) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, f64::from(freedom)).ok()?;
    (probability > 0.0 && probability < 1.0).then(|| t.inverse_cdf(probability))
}

/// Half of the 95 % interval of the mean of what these are a sample of; `None` of fewer than two.
pub(crate) fn half_interval(values: &[f64]) -> Option<f64> {
    let average = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - average).powi(2)).sum();
    let (count, freedom) = (values.len() as f64, values.len().checked_sub(1)?);
    let t = student(0.975, freedom as u32)?;
    Some(t * (squares / freedom as f64 / count).sqrt())
}

/// One of [`STATISTICS`] over `values`; `None` if there are none or it is unknown.
pub(crate) fn statistic(name: &str, values: Vec<f64>) -> Option<f64> {
    let average = mean(&values)?;
    let sorted = || {
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    match name {
        "mean" => Some(average),
        "median" => percentile(&sorted(), 50.0),
        "min" => sorted().first().copied(),
        "max" => sorted().last().copied(),
        "last" => values.last().copied(),
        "std" => mean(&values.iter().map(|v| (v - average).powi(2)).collect::<Vec<_>>()).map(f64::sqrt),
        _ => None,
    }
}

/// Four significant digits, no idle zeros.
pub fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9);
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Names that [`crate::SeriesQuery::stat`] and [`crate::Quantity::points`] may have.
pub const STATISTICS: [&str; 6] = ["mean", "median", "min", "max", "std", "last"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&values, 99.0), Some(99.0));
        assert_eq!(percentile(&values, 50.0), Some(50.0));
        assert_eq!(percentile(&values[..3], 99.0), Some(3.0));
        assert_eq!(percentile(&[], 99.0), None);
    }

    /// Against the tables of textbooks, and the closed forms of one and two degrees of freedom.
    #[test]
    fn students_quantiles() {
        let close = |p, freedom, expected: f64| {
            let found = student(p, freedom).unwrap();
            assert!((found - expected).abs() <= 5e-4 * expected.abs().max(1.0), "{p} {freedom}: {found}");
        };
        let of_975 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];
        let of_995 = [63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055];
        for (freedom, (a, b)) in (1..).zip(of_975.into_iter().zip(of_995)) {
            close(0.975, freedom, a);
            close(0.995, freedom, b);
            close(0.025, freedom, -a);
        }
        for (freedom, expected) in [(23, 2.807), (49, 2.680), (120, 2.617), (1_000_000, 2.5758)] {
            close(0.995, freedom, expected);
        }
        for p in [0.5, 0.6, 0.9, 0.999, 0.999_99] {
            close(p, 1, (std::f64::consts::PI * (p - 0.5)).tan());
            close(p, 2, (2.0 * p - 1.0) * (2.0 * p * (1.0 - p)).sqrt().recip());
        }
        assert_eq!(student(0.975, 0), None);
        assert!([0.0, 1.0, -0.5, f64::NAN].iter().all(|&p| student(p, 3).is_none()));
    }

    #[test]
    fn statistics_by_name() {
        let values = vec![3.0, 1.0, 2.0];
        let expected = [2.0, 2.0, 1.0, 3.0, (2.0f64 / 3.0).sqrt(), 2.0];
        for (name, expected) in STATISTICS.iter().zip(expected) {
            assert_eq!(statistic(name, values.clone()), Some(expected), "{name}");
        }
        assert_eq!(statistic("mode", values), None);
        assert_eq!(statistic("mean", vec![]), None);
    }
}
