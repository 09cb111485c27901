//! What statistics need to know of flows, added up.

use crate::stats::class_summary::ClassSummary;
use crate::stats::groups::Measured;
use crate::stats::values::Values;

/// What is known of flows, of which each is seen once.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) flows: usize,
    /// Their payload.
    pub(crate) bytes: u64,
    /// The first start and the last.
    begin: Option<f64>,
    end: Option<f64>,
    /// Completion times in microseconds and slowdowns of those that completed.
    fct: Values,
    slowdown: Values,
    /// The least slowdown.
    slowdown_min: Option<f64>,
    /// Their sums.
    fct_sum: f64,
    slowdown_sum: f64,
    /// Of these: the first start, the last end, and the payload.
    first: Option<f64>,
    last: Option<f64>,
    done_bytes: u64,
    timeouts: u64,
    flows_with_timeouts: usize,
    retransmitted: u64,
    deadlines: usize,
    met: usize,
    met_bytes: u64,
    stopped: usize,
}

/// The lesser or the greater of those that there are.
fn extreme(of: fn(f64, f64) -> f64, one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(of)
}

impl Tally {
    /// Takes in a flow.
    pub(crate) fn add(&mut self, flow: &Measured) {
        let start = Some(flow.start);
        self.flows += 1;
        self.bytes += flow.size;
        self.begin = extreme(f64::min, self.begin, start);
        self.end = extreme(f64::max, self.end, start);
        if let Some(fct) = flow.fct {
            let (fct_us, slowdown) = (fct * 1e6, fct / flow.ideal);
            self.fct.push(fct_us);
            self.slowdown.push(slowdown);
            self.slowdown_min = extreme(f64::min, self.slowdown_min, Some(slowdown));
            self.fct_sum += fct_us;
            self.slowdown_sum += slowdown;
            self.first = extreme(f64::min, self.first, start);
            self.last = extreme(f64::max, self.last, Some(flow.start + fct));
            self.done_bytes += flow.size;
        }
        self.timeouts += u64::from(flow.timeouts);
        self.flows_with_timeouts += usize::from(flow.timeouts > 0);
        self.retransmitted += flow.retransmitted;
        self.deadlines += usize::from(flow.deadline.is_some());
        if flow.met() {
            self.met += 1;
            self.met_bytes += flow.size;
        }
        self.stopped += usize::from(flow.stopped);
    }

    /// Takes in what is known of other flows.
    pub(crate) fn join(&mut self, other: Tally) {
        if self.flows == 0 {
            *self = other;
            return;
        }
        self.flows += other.flows;
        self.bytes += other.bytes;
        self.begin = extreme(f64::min, self.begin, other.begin);
        self.end = extreme(f64::max, self.end, other.end);
        self.fct.join(other.fct);
        self.slowdown.join(other.slowdown);
        self.slowdown_min = extreme(f64::min, self.slowdown_min, other.slowdown_min);
        self.fct_sum += other.fct_sum;
        self.slowdown_sum += other.slowdown_sum;
        self.first = extreme(f64::min, self.first, other.first);
        self.last = extreme(f64::max, self.last, other.last);
        self.done_bytes += other.done_bytes;
        self.timeouts += other.timeouts;
        self.flows_with_timeouts += other.flows_with_timeouts;
        self.retransmitted += other.retransmitted;
        self.deadlines += other.deadlines;
        self.met += other.met;
        self.met_bytes += other.met_bytes;
        self.stopped += other.stopped;
    }

    /// The statistics, of a class among so many flows of its group, in a run of so many bytes.
    pub(crate) fn summary(&self, class: String, among: usize, all_bytes: u64) -> ClassSummary {
        let [fct_p99_us, fct_p95_us, fct_p50_us] = self.fct.percentiles(TAILS);
        let [slowdown_p99, slowdown_p95, slowdown_p50] = self.slowdown.percentiles(TAILS);
        let span = |from: Option<f64>, to: Option<f64>| to.unwrap_or_default() - from.unwrap_or_default();
        let over = |bytes: u64, span: f64| (span > 0.0).then(|| bytes as f64 * 8.0 / span / 1e9);
        let carried = span(self.first, self.last);
        let done = self.fct.len();
        let mean = |sum: f64| (done > 0).then(|| sum / done as f64);
        let missed = self.deadlines - self.met;
        ClassSummary {
            class,
            flows: self.flows,
            flow_share: (among > 0).then(|| self.flows as f64 / among as f64),
            byte_share: (all_bytes > 0).then(|| self.bytes as f64 / all_bytes as f64),
            unfinished: self.flows - done,
            fct_mean_us: mean(self.fct_sum),
            fct_p50_us,
            fct_p95_us,
            fct_p99_us,
            slowdown_min: self.slowdown_min,
            slowdown_mean: mean(self.slowdown_sum),
            slowdown_p50,
            slowdown_p95,
            slowdown_p99,
            timeouts: self.timeouts,
            flows_with_timeouts: self.flows_with_timeouts,
            retransmitted_bytes: self.retransmitted,
            goodput_gbps: over(self.done_bytes, carried),
            offered_gbps: over(self.bytes, span(self.begin, self.end)),
            deadlines: self.deadlines,
            missed,
            stopped: self.stopped,
            miss_rate: (self.deadlines > 0).then(|| missed as f64 / self.deadlines as f64),
            met_goodput_gbps: over(self.met_bytes, carried).filter(|_| self.deadlines > 0),
            tasks: None,
        }
    }
}

/// Percentiles of the statistics.
const TAILS: [f64; 3] = [99.0, 95.0, 50.0];
