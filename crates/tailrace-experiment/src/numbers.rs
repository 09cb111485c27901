//! A number out of many.

/// A value at percentile `p` (0 to 100) by nearest rank; `None` of an empty list. `sorted` must ascend.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (p / 100.0 * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).checked_sub(1)?).copied()
}

/// Arithmetic mean; `None` of an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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

/// Names that [`SeriesQuery::stat`] and [`crate::judge::Quantity::points`] may have.
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
