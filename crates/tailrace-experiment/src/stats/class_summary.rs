//! Statistics of one group of flows.

use serde::{Deserialize, Serialize};

use crate::stats::task_stats::TaskSummary;

/// Statistics of one group of flows. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// Size class ("all", "short", "medium", "long"), with "@deadline", "@no-deadline" or "@" and a traffic
    /// class behind it for a part of the flows.
    pub class: String,
    /// Flows that were measured.
    pub flows: usize,
    /// Their share of all flows of their group ("short@2" of "all@2").
    pub flow_share: Option<f64>,
    /// Their share of the payload of all flows of the run.
    pub byte_share: Option<f64>,
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
    /// Payload of all flows, over the time from the first start to the last.
    pub offered_gbps: Option<f64>,
    /// Flows that had a deadline.
    pub deadlines: usize,
    /// Of these, flows that missed it, given up or not.
    pub missed: usize,
    /// Flows that their senders gave up.
    pub stopped: usize,
    /// Missed deadlines over deadlines.
    pub miss_rate: Option<f64>,
    /// Payload of flows that met their deadlines, over the time of `goodput_gbps`.
    pub met_goodput_gbps: Option<f64>,
    /// The group's tasks; for all sizes together, where there are tasks.
    #[serde(flatten)]
    pub tasks: Option<TaskSummary>,
}

impl ClassSummary {
    /// A metric by its column name, as in the summary table.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let value = serde_json::to_value(self).ok()?;
        value.get(name)?.as_f64()
    }
}

/// Names of the columns that [`ClassSummary::metric`] knows.
pub const METRICS: [&str; 23] = [
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
    "offered_gbps",
    "deadlines",
    "missed",
    "stopped",
    "miss_rate",
    "met_goodput_gbps",
    "flow_share",
    "byte_share",
];
