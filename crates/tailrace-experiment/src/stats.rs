//! Statistics of finished runs: completion times and slowdowns by size class.

use serde::{Deserialize, Serialize};

/// A value at percentile `p` (0 to 100) by nearest rank; `None` of an empty list. `sorted` must ascend.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (p / 100.0 * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).checked_sub(1)?).copied()
}

/// Arithmetic mean; `None` of an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// One measured flow, reduced to what statistics need.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Payload bytes.
    pub size: u64,
    /// The workload's rule that made it, or the flow list's class.
    pub class: u8,
    /// Start in seconds.
    pub start: f64,
    /// Completion time in seconds, if it completed.
    pub fct: Option<f64>,
    /// Ideal completion time in seconds.
    pub ideal: f64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Payload bytes sent again.
    pub retransmitted: u64,
}

/// Statistics of one group of flows. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// Size class ("all", "short", "medium", "long"), with "@rule" behind it for one traffic class only.
    pub class: String,
    /// Flows that were measured.
    pub flows: usize,
    /// Of these, flows that did not complete.
    pub unfinished: usize,
    /// Mean completion time.
    pub fct_mean_us: Option<f64>,
    /// Median completion time.
    pub fct_p50_us: Option<f64>,
    /// 95th percentile of completion times.
    pub fct_p95_us: Option<f64>,
    /// 99th percentile of completion times.
    pub fct_p99_us: Option<f64>,
    /// Least slowdown: no flow is faster than 1.
    pub slowdown_min: Option<f64>,
    /// Mean slowdown.
    pub slowdown_mean: Option<f64>,
    /// Median slowdown.
    pub slowdown_p50: Option<f64>,
    /// 95th percentile of slowdowns.
    pub slowdown_p95: Option<f64>,
    /// 99th percentile of slowdowns.
    pub slowdown_p99: Option<f64>,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Flows that saw a timeout.
    pub flows_with_timeouts: usize,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Payload of completed flows over the time from the first start to the last completion.
    pub goodput_gbps: Option<f64>,
}

impl ClassSummary {
    /// The statistics of `flows`.
    pub fn of(class: String, flows: &[Measured]) -> Self {
        let done: Vec<&Measured> = flows.iter().filter(|f| f.fct.is_some()).collect();
        let sorted = |of: &dyn Fn(&Measured, f64) -> f64| {
            let mut values: Vec<f64> = done.iter().filter_map(|f| f.fct.map(|fct| of(f, fct))).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let fct = sorted(&|_, fct| fct * 1e6);
        let slowdown = sorted(&|flow, fct| fct / flow.ideal);
        let first = done.iter().map(|f| f.start).fold(f64::INFINITY, f64::min);
        let last = done.iter().filter_map(|f| f.fct.map(|fct| f.start + fct)).fold(0.0, f64::max);
        let bytes: u64 = done.iter().map(|f| f.size).sum();
        ClassSummary {
            class,
            flows: flows.len(),
            unfinished: flows.len() - done.len(),
            fct_mean_us: mean(&fct),
            fct_p50_us: percentile(&fct, 50.0),
            fct_p95_us: percentile(&fct, 95.0),
            fct_p99_us: percentile(&fct, 99.0),
            slowdown_min: slowdown.first().copied(),
            slowdown_mean: mean(&slowdown),
            slowdown_p50: percentile(&slowdown, 50.0),
            slowdown_p95: percentile(&slowdown, 95.0),
            slowdown_p99: percentile(&slowdown, 99.0),
            timeouts: flows.iter().map(|f| u64::from(f.timeouts)).sum(),
            flows_with_timeouts: flows.iter().filter(|f| f.timeouts > 0).count(),
            retransmitted_bytes: flows.iter().map(|f| f.retransmitted).sum(),
            goodput_gbps: (last > first).then(|| bytes as f64 * 8.0 / (last - first) / 1e9),
        }
    }

    /// A metric by its column name, as in the summary table.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let value = serde_json::to_value(self).ok()?;
        value.get(name)?.as_f64()
    }
}

/// Size classes: of all flows, and of those that a scenario's `short` and `long` part.
pub const SIZE_CLASSES: [&str; 4] = ["all", "short", "medium", "long"];

/// Names of the columns that [`ClassSummary::metric`] knows.
pub const METRICS: [&str; 15] = [
    "flows",
    "unfinished",
    "fct_mean_us",
    "fct_p50_us",
    "fct_p95_us",
    "fct_p99_us",
    "slowdown_min",
    "slowdown_mean",
    "slowdown_p50",
    "slowdown_p95",
    "slowdown_p99",
    "timeouts",
    "flows_with_timeouts",
    "retransmitted_bytes",
    "goodput_gbps",
];

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
    fn every_metric_has_a_value() {
        let flow = Measured {
            size: 1,
            class: 0,
            start: 0.0,
            fct: Some(1.0),
            ideal: 0.5,
            timeouts: 1,
            retransmitted: 3,
        };
        let summary = ClassSummary::of("all".into(), &[flow]);
        for name in METRICS {
            assert!(summary.metric(name).is_some(), "{name}");
        }
        assert_eq!(summary.metric("slowdown_p99"), Some(2.0));
    }
}
