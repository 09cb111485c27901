//! Sensor and actuator: completed sizes in a sliding window, and the percentiles that become thresholds
//! (Algorithm 1).

use std::collections::VecDeque;

use tailrace_core::{Bytes, SeriesRow, SeriesSink, TagTable, Time};

/// The list of completed flows and the thresholds that follow from it.
#[derive(Clone, Debug)]
pub struct Estimator {
    period: Time,
    window: Time,
    percentiles: Vec<f64>,
    /// (when, size) of completed flows, in order of time: O(1) to add and to prune (§5.2).
    completed: VecDeque<(Time, Bytes)>,
    thresholds: Vec<Bytes>,
    table: TagTable,
    next_adjustment: Time,
    /// Kept between adjustments for its memory.
    sorted: Vec<Bytes>,
}

impl Estimator {
    /// An empty list and the initial thresholds, one a percentile.
    pub fn new(period: Time, window: Time, percentiles: Vec<f64>, initial: Vec<Bytes>) -> Self {
        Estimator {
            period,
            window,
            percentiles,
            completed: VecDeque::new(),
            table: TagTable::with_limits(&initial),
            thresholds: initial,
            next_adjustment: period,
            sorted: Vec::new(),
        }
    }

    /// The thresholds as a table: a packet stays in queue i while fewer bytes than the i-th precede it, so
    /// a flow of exactly that size never leaves the queue.
    #[inline]
    pub fn table(&self) -> &TagTable {
        &self.table
    }

    /// The thresholds in force.
    pub fn thresholds(&self) -> &[Bytes] {
        &self.thresholds
    }

    /// A flow has completed (lines 16 to 22).
    pub fn record(&mut self, now: Time, size: Bytes) {
        self.completed.push_back((now, size));
    }

    /// When the next adjustment is due.
    pub fn next_adjustment(&self) -> Time {
        self.next_adjustment
    }

    /// Prunes the list and moves every threshold to its percentile (lines 26 to 35). With an empty list the
    /// thresholds stand.
    pub fn adjust(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.next_adjustment = now + self.period;
        let oldest = now.saturating_sub(self.window);
        while self.completed.front().is_some_and(|(at, _)| *at < oldest) {
            self.completed.pop_front();
        }
        if !self.completed.is_empty() {
            self.sorted.clear();
            self.sorted.extend(self.completed.iter().map(|(_, size)| *size));
            self.sorted.sort_unstable();
            for (threshold, percentile) in self.thresholds.iter_mut().zip(&self.percentiles) {
                *threshold = nearest_rank(&self.sorted, *percentile);
            }
            self.table = TagTable::with_limits(&self.thresholds);
        }
        let mut row = |metric, index, value| series.push(SeriesRow { at: now, metric, index, value });
        row("list_length", 0, self.completed.len() as f64);
        for (index, threshold) in self.thresholds.iter().enumerate() {
            row("threshold_bytes", index as u16, threshold.as_f64());
        }
    }
}

/// The smallest element that at least a share `p` of the sorted list does not exceed.
fn nearest_rank(sorted: &[Bytes], p: f64) -> Bytes {
    // Rounding errors of p·n (0.1·30 > 3) must not move the rank up.
    let rank = (p * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sizes: &[(u64, u64)], percentile: f64) -> Bytes {
        let mut estimator =
            Estimator::new(Time::from_ms(200), Time::from_ms(250), vec![percentile], vec![Bytes::new(7)]);
        for &(ms, size) in sizes {
            estimator.record(Time::from_ms(ms), Bytes::new(size));
        }
        estimator.adjust(Time::from_ms(400), &mut Vec::new());
        estimator.thresholds()[0]
    }

    #[test]
    fn percentiles_of_the_micro_benchmark() {
        // AWAFS §5.3: {10 KB × 80, 1000 KB × 20}.
        let mut sizes = vec![(300, 10_000); 80];
        sizes.extend(vec![(300, 1_000_000); 20]);
        assert_eq!(after(&sizes, 0.1), Bytes::new(10_000));
        assert_eq!(after(&sizes, 0.8), Bytes::new(10_000));
        assert_eq!(after(&sizes, 0.81), Bytes::new(1_000_000));
    }

    #[test]
    fn only_the_window_counts() {
        assert_eq!(after(&[(149, 5), (150, 100)], 0.5), Bytes::new(100));
    }

    #[test]
    fn an_empty_window_leaves_the_threshold() {
        assert_eq!(after(&[(10, 5)], 0.5), Bytes::new(7));
    }

    #[test]
    fn rank_is_exact_where_floats_are_not() {
        let sorted: Vec<Bytes> = (1..=30).map(Bytes::new).collect();
        assert_eq!(nearest_rank(&sorted, 0.1), Bytes::new(3));
        assert_eq!(nearest_rank(&sorted, 0.7), Bytes::new(21));
        assert_eq!(nearest_rank(&sorted, 0.001), Bytes::new(1));
    }

    #[test]
    fn adjustments_are_traced() {
        let mut estimator = Estimator::new(Time::from_ms(1), Time::from_ms(1), vec![0.5], vec![Bytes::ZERO]);
        estimator.record(Time::ZERO, Bytes::new(9));
        let mut rows = Vec::new();
        estimator.adjust(Time::from_ms(1), &mut rows);
        let values: Vec<_> = rows.iter().map(|r| (r.metric, r.value)).collect();
        assert_eq!(values, [("list_length", 1.0), ("threshold_bytes", 9.0)]);
        assert_eq!(estimator.next_adjustment(), Time::from_ms(2));
    }
}
