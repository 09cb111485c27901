//! Sensor and actuator: what is remembered of completed flows, and the thresholds that follow from it
//! (Algorithm 1).

use tailrace_core::{Bytes, SeriesRow, SeriesSink, TagTable, Time};

use super::memory::Memory;
use super::{Params, Percentiles};

/// What is remembered of completed flows and the thresholds that follow from it.
#[derive(Clone, Debug)]
pub struct Estimator {
    period: Time,
    percentiles: Percentiles,
    memory: Memory,
    /// Payload that the link can carry.
    bytes_per_sec: f64,
    thresholds: Vec<Bytes>,
    table: TagTable,
    next_adjustment: Time,
}

impl Estimator {
    /// Nothing is remembered, and the initial thresholds hold. The link carries so much payload a second.
    pub fn new(params: &Params, initial: &[Bytes], bytes_per_sec: f64) -> Self {
        Estimator {
            period: params.period,
            percentiles: params.percentiles.clone(),
            memory: Memory::new(params.memory, params.period, params.window),
            bytes_per_sec,
            thresholds: initial.to_vec(),
            table: TagTable::with_limits(initial),
            next_adjustment: params.period,
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
    #[inline]
    pub fn record(&mut self, now: Time, size: Bytes) {
        self.memory.record(now, size);
    }

    /// When the next adjustment is due.
    pub fn next_adjustment(&self) -> Time {
        self.next_adjustment
    }

    /// Forgets what is too old and moves every threshold (lines 26 to 35). If nothing is remembered the thresholds
    /// stand.
    pub fn adjust(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.next_adjustment = now + self.period;
        self.memory.prune(now);
        if let Some(thresholds) = self.target(now) {
            self.table = TagTable::with_limits(&thresholds);
            self.thresholds = thresholds;
        }
        let mut row = |metric, index, value| series.push(SeriesRow { at: now, metric, index, value });
        row("list_length", 0, self.memory.entries() as f64);
        for (index, threshold) in self.thresholds.iter().enumerate() {
            row("threshold_bytes", index as u16, threshold.as_f64());
        }
    }

    /// The thresholds for what is remembered, if anything is.
    fn target(&self, now: Time) -> Option<Vec<Bytes>> {
        match &self.percentiles {
            Percentiles::Named(_) => {
                self.memory.best_thresholds(now, self.thresholds.len() + 1, self.bytes_per_sec)
            }
            Percentiles::Given(percentiles) => {
                let sizes = self.memory.sizes();
                percentiles.iter().map(|p| nearest_rank(&sizes, *p)).collect()
            }
        }
    }
}

/// The smallest of some ascending sizes, each with a number of flows, that at least a share `p` of the flows does
/// not exceed. `None` without flows.
fn nearest_rank(sizes: &[(Bytes, f64)], p: f64) -> Option<Bytes> {
    let flows: f64 = sizes.iter().map(|(_, flows)| flows).sum();
    let mut rest = p * flows;
    // Rounding errors of p·n (0.1·30 > 3) must not move the rank up.
    let reaches = |(_, flows): &&(Bytes, f64)| {
        rest -= flows;
        rest <= 1e-9
    };
    sizes.iter().find(reaches).map(|(size, _)| *size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awafs::Forgetting;

    fn estimator(percentile: f64, memory: Forgetting) -> Estimator {
        let percentiles = Percentiles::Given(vec![percentile]);
        let params = Params { percentiles, memory, ..Params::default() };
        Estimator::new(&params, &[Bytes::new(7)], 1e9)
    }

    fn after(sizes: &[(u64, u64)], percentile: f64) -> Bytes {
        let mut estimator = estimator(percentile, Forgetting::Window);
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
        let sorted: Vec<(Bytes, f64)> = (1..=30).map(|size| (Bytes::new(size), 1.0)).collect();
        let rank = |p| nearest_rank(&sorted, p).map(Bytes::get);
        assert_eq!([0.1, 0.7, 0.001, 0.999].map(rank), [3, 21, 1, 30].map(Some));
        assert_eq!(nearest_rank(&[], 0.5), None);
    }

    #[test]
    fn what_decays_outlives_the_window_and_weighs_ever_less() {
        // A hundred flows of 1000 bytes before the first adjustment, then nine of 5000 before each.
        let mut estimator = estimator(0.5, Forgetting::Decay);
        (0..100).for_each(|_| estimator.record(Time::ZERO, Bytes::new(1000)));
        let mut thresholds = Vec::new();
        for adjustment in 1..8 {
            estimator.adjust(Time::from_ms(200 * adjustment), &mut Vec::new());
            thresholds.push(estimator.thresholds()[0].get());
            (0..9).for_each(|_| estimator.record(Time::ZERO, Bytes::new(5000)));
        }
        // exp(-0.8) is left of each after an adjustment: 100·0.449^n against 9·(1 + 0.449 + …), more than half from
        // n = 3 on. The thresholds are where the bins end.
        assert_eq!(thresholds, [1024, 1024, 1024, 5120, 5120, 5120, 5120]);
    }

    #[test]
    fn adjustments_are_traced() {
        let params = Params {
            period: Time::from_ms(1),
            percentiles: Percentiles::Given(vec![0.5]),
            ..Params::default()
        };
        let mut estimator = Estimator::new(&params, &[Bytes::ZERO], 1e9);
        estimator.record(Time::ZERO, Bytes::new(9));
        let mut rows = Vec::new();
        estimator.adjust(Time::from_ms(1), &mut rows);
        let values: Vec<_> = rows.iter().map(|r| (r.metric, r.value)).collect();
        assert_eq!(values, [("list_length", 1.0), ("threshold_bytes", 9.0)]);
        assert_eq!(estimator.next_adjustment(), Time::from_ms(2));
    }
}
