//! Statistics of finished runs: completion times and slowdowns by size class.

use serde::{Deserialize, Serialize};
use tailrace_core::{FlowRecord, TaskRecord, Time};
use tailrace_scenario::Measure;

use crate::groups::{Group, Measured, SIZE_CLASSES, payload, size_class};
use crate::numbers::{mean, percentile};
use crate::task_stats::TaskSummary;

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
    /// The statistics of `flows`, a class among so many flows of its group, in a run of so many bytes.
    pub fn of(class: String, flows: &[Measured], among: usize, all_bytes: u64) -> Self {
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
        let met_bytes: u64 = done.iter().filter(|f| f.met()).map(|f| f.size).sum();
        let over = |bytes: u64, span: f64| (span > 0.0).then(|| bytes as f64 * 8.0 / span / 1e9);
        let gbps = |bytes: u64| over(bytes, last - first);
        let [begin, end] = [f64::min as fn(f64, f64) -> f64, f64::max]
            .map(|extreme| flows.iter().map(|f| f.start).reduce(extreme).unwrap_or_default());
        let deadlines = flows.iter().filter(|f| f.deadline.is_some()).count();
        let missed = deadlines - flows.iter().filter(|f| f.met()).count();
        ClassSummary {
            class,
            flows: flows.len(),
            flow_share: (among > 0).then(|| flows.len() as f64 / among as f64),
            byte_share: (all_bytes > 0).then(|| payload(flows) as f64 / all_bytes as f64),
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
            goodput_gbps: gbps(bytes),
            offered_gbps: over(payload(flows), end - begin),
            deadlines,
            missed,
            stopped: flows.iter().filter(|f| f.stopped).count(),
            miss_rate: (deadlines > 0).then(|| missed as f64 / deadlines as f64),
            met_goodput_gbps: gbps(met_bytes).filter(|_| deadlines > 0),
            tasks: None,
        }
    }

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

/// Statistics of the measured flows by size class, over all traffic and for each traffic class.
pub(crate) fn summarise<'a>(
    measure: &Measure,
    records: impl Iterator<Item = &'a FlowRecord>,
    tasks: &[TaskRecord],
    ideal: impl Fn(&FlowRecord) -> Time,
) -> Vec<ClassSummary> {
    let flows: Vec<Measured> =
        records.filter(|r| r.start >= measure.warmup).map(|r| Measured::of(r, ideal(r))).collect();
    let all_bytes = payload(&flows);
    let mut summaries = Vec::new();
    for group in Group::of(&flows) {
        let of_group: Vec<Measured> = flows.iter().filter(|flow| group.has(flow)).copied().collect();
        for size in SIZE_CLASSES {
            let belongs = |f: &&Measured| size == "all" || size_class(f.size, measure) == size;
            let members: Vec<Measured> = of_group.iter().filter(belongs).copied().collect();
            let class = format!("{size}{}", group.suffix());
            let of_tasks = || TaskSummary::of(group, tasks, measure.warmup);
            let tasks = if size == "all" { of_tasks() } else { None };
            let summary = ClassSummary::of(class, &members, of_group.len(), all_bytes);
            summaries.push(ClassSummary { tasks, ..summary });
        }
    }
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_stats::TASK_METRICS;
    use tailrace_core::Bytes;

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
            deadline: Some(2.0),
            stopped: false,
        };
        let later = Measured { start: 1.0, ..flow };
        let summary = ClassSummary::of("all".into(), &[flow, later], 4, 8);
        for name in METRICS {
            assert!(summary.metric(name).is_some(), "{name}");
        }
        assert_eq!(summary.metric("slowdown_p99"), Some(2.0));
        assert_eq!((summary.flow_share, summary.byte_share), (Some(0.5), Some(0.25)));
        // Two bytes in a second are offered, and in two seconds carried.
        assert_eq!((summary.offered_gbps, summary.goodput_gbps), (Some(16e-9), Some(8e-9)));
    }

    #[test]
    fn deadlines_are_met_missed_or_given_up() {
        let flow = |fct, deadline, stopped| Measured {
            size: 125_000_000,
            class: 0,
            start: 0.0,
            fct,
            ideal: 0.1,
            timeouts: 0,
            retransmitted: 0,
            deadline,
            stopped,
        };
        let flows = [
            flow(Some(1.0), Some(1.0), false),
            flow(Some(1.0), Some(0.9), false),
            flow(None, Some(5.0), true),
            flow(Some(2.0), None, false),
        ];
        let all = ClassSummary::of("all".into(), &flows, 4, 4);
        assert_eq!((all.deadlines, all.missed, all.stopped), (3, 2, 1));
        assert_eq!(all.miss_rate, Some(2.0 / 3.0));
        // 1 Gbit in 2 seconds met its deadline, of 3 Gbit that arrived.
        assert_eq!((all.met_goodput_gbps, all.goodput_gbps), (Some(0.5), Some(1.5)));
        assert_eq!(Group::of(&flows), [Group::All, Group::Deadline, Group::NoDeadline]);
        assert_eq!(flows.iter().filter(|flow| Group::NoDeadline.has(flow)).count(), 1);
        assert_eq!(ClassSummary::of("all".into(), &flows[3..], 1, 1).miss_rate, None);
    }

    #[test]
    fn every_metric_is_a_column_where_there_are_tasks_and_none_elsewhere() {
        let flows = ClassSummary::of("all".into(), &[], 0, 0);
        let (start, end) = (Time::ZERO, Time::from_us(5));
        let task = TaskRecord { bytes: Bytes::new(1), start, end, id: 1, flows: 1, slice: 0, class: 0 };
        let tasks = TaskSummary::of(Group::All, &[task], Time::ZERO);
        let with = ClassSummary { tasks, ..flows.clone() };
        for name in TASK_METRICS {
            assert!(with.metric(name).is_some() && flows.metric(name).is_none(), "{name}");
        }
        for summary in [with, flows] {
            let text = serde_json::to_string(&summary).unwrap();
            assert_eq!(serde_json::from_str::<ClassSummary>(&text).unwrap(), summary, "{text}");
            assert_eq!(text.contains("tct"), summary.tasks.is_some());
        }
    }
}
