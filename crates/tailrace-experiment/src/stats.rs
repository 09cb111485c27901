//! Statistics of finished runs: completion times and slowdowns by size class.

use serde::{Deserialize, Serialize};
use tailrace_core::{FlowRecord, TaskRecord, Time};
use tailrace_scenario::Measure;

use crate::groups::{ALL_SIZES, Group, Measured, SIZE_CLASSES, size_class};
use crate::numbers::percentiles;
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
        let mut tally = Tally::default();
        flows.iter().for_each(|flow| tally.add(flow));
        tally.summary(class, among, all_bytes)
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

/// What is known of flows, of which each is seen once.
#[derive(Default)]
struct Tally {
    flows: usize,
    bytes: u64,
    /// The first start and the last.
    begin: Option<f64>,
    end: Option<f64>,
    /// Completion times in microseconds and slowdowns of those that completed.
    fct: Vec<f64>,
    slowdown: Vec<f64>,
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
    /// Makes room for so many flows. What is not needed takes no memory.
    fn make_room(&mut self, flows: usize) {
        self.fct.reserve_exact(flows);
        self.slowdown.reserve_exact(flows);
    }

    fn add(&mut self, flow: &Measured) {
        let start = Some(flow.start);
        self.flows += 1;
        self.bytes += flow.size;
        self.begin = extreme(f64::min, self.begin, start);
        self.end = extreme(f64::max, self.end, start);
        if let Some(fct) = flow.fct {
            let (fct_us, slowdown) = (fct * 1e6, fct / flow.ideal);
            self.fct.push(fct_us);
            self.slowdown.push(slowdown);
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
    fn join(&mut self, other: Tally) {
        if self.flows == 0 {
            *self = other;
            return;
        }
        let Tally { mut fct, mut slowdown, .. } = other;
        self.flows += other.flows;
        self.bytes += other.bytes;
        self.begin = extreme(f64::min, self.begin, other.begin);
        self.end = extreme(f64::max, self.end, other.end);
        self.fct.append(&mut fct);
        self.slowdown.append(&mut slowdown);
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
    fn summary(&mut self, class: String, among: usize, all_bytes: u64) -> ClassSummary {
        let [fct_p99_us, fct_p95_us, fct_p50_us] = percentiles(&mut self.fct, TAILS);
        let [slowdown_p99, slowdown_p95, slowdown_p50] = percentiles(&mut self.slowdown, TAILS);
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
            slowdown_min: self.slowdown.iter().copied().reduce(f64::min),
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

/// Statistics of the measured flows by size class, over all traffic and for each traffic class. `ideals` has the ideal
/// completion time of each flow, in order.
pub(crate) fn summarise(
    measure: &Measure,
    records: impl Iterator<Item = FlowRecord> + Clone,
    tasks: &[TaskRecord],
    ideals: &[Time],
) -> Vec<ClassSummary> {
    let measured = |(record, _): &(FlowRecord, &Time)| record.start >= measure.warmup;
    let measured = records.zip(ideals).filter(measured);
    let (mut count, mut all_bytes) = (0, 0);
    let groups = Group::of(measured.clone().map(|(record, _)| {
        count += 1;
        all_bytes += record.size.get();
        record
    }));
    let mut summaries = Vec::new();
    // Records are unpacked in each pass over all of them, so groups that have none in common go together.
    for apart in groups.chunk_by(|one, other| one.is_apart_from(*other)) {
        let none = || SIZE_CLASSES.map(|size| (size, Tally::default()));
        let mut of_groups: Vec<_> = apart.iter().map(|&group| (group, none())).collect();
        if let [(Group::All, tallies)] = of_groups.as_mut_slice() {
            // It takes in the others at the end.
            tallies[1].1.make_room(count);
        }
        for (record, ideal) in measured.clone() {
            let size = size_class(record.size.get(), measure);
            let of_group = of_groups.iter_mut().find(|(group, _)| group.has(&record));
            let own = of_group.and_then(|(_, tallies)| tallies.iter_mut().find(|(name, _)| *name == size));
            own.into_iter().for_each(|(_, tally)| tally.add(&Measured::of(&record, *ideal)));
        }
        for (group, tallies) in of_groups {
            let tasks = TaskSummary::of(group, tasks, measure.warmup);
            summaries.extend(of_sizes(group, tallies, all_bytes, tasks));
        }
    }
    summaries
}

/// Statistics of all flows of a group, with its tasks, and of those of each size class, in a run of so many bytes.
fn of_sizes(
    group: Group,
    tallies: [(&str, Tally); SIZE_CLASSES.len()],
    all_bytes: u64,
    tasks: Option<TaskSummary>,
) -> Vec<ClassSummary> {
    let among = tallies.iter().map(|(_, tally)| tally.flows).sum();
    let (mut all, mut of_sizes) = (Tally::default(), Vec::new());
    for (size, mut tally) in tallies.into_iter().filter(|(size, _)| *size != ALL_SIZES) {
        of_sizes.push(tally.summary(format!("{size}{}", group.suffix()), among, all_bytes));
        all.join(tally);
    }
    let all = all.summary(format!("{ALL_SIZES}{}", group.suffix()), among, all_bytes);
    of_sizes.insert(0, ClassSummary { tasks, ..all });
    of_sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::percentile;
    use crate::task_stats::TASK_METRICS;
    use tailrace_core::Bytes;
    use tailrace_workload::FlowSpec;

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

    /// Of flows in several groups, whose sizes come in any order, each class has those that are its own, and their numbers.
    #[test]
    fn classes_are_those_of_their_flows_alone() {
        let record = |id: u32| FlowRecord {
            size: Bytes::new(u64::from(id % 7) * 40_000 + 1),
            start: Time::from_us(u64::from(id)),
            end: if id.is_multiple_of(11) { Time::MAX } else { Time::from_us(u64::from(id + 5 + id % 13)) },
            deadline: if id.is_multiple_of(3) { Time::from_us(u64::from(id + 11)) } else { Time::MAX },
            retransmitted: id % 5,
            timeouts: (id % 2) as u16,
            stopped: id.is_multiple_of(11),
            class: (id % 2) as u8,
            ..FlowSpec::default().record(id)
        };
        let records: Vec<FlowRecord> = (0..500).map(record).collect();
        let ideals: Vec<Time> = (0..500).map(|id| Time::from_us(2 + id % 3)).collect();
        let measure = Measure { warmup: Time::from_us(20), ..Measure::default() };
        let found = summarise(&measure, records.iter().copied(), &[], &ideals);
        let both: Vec<(&FlowRecord, Measured)> = records
            .iter()
            .zip(&ideals)
            .skip(20)
            .map(|(record, ideal)| (record, Measured::of(record, *ideal)))
            .collect();
        let all_bytes = both.iter().map(|(_, flow)| flow.size).sum();
        let groups = Group::of(records[20..].iter().copied());
        assert_eq!((groups.len(), found.len()), (5, 20));
        let expected = groups.iter().flat_map(|group| SIZE_CLASSES.map(|size| (*group, size)));
        for ((group, size), found) in expected.zip(found) {
            let of_group: Vec<Measured> =
                both.iter().filter(|(record, _)| group.has(record)).map(|(_, flow)| *flow).collect();
            let belongs = |flow: &&Measured| size == ALL_SIZES || size_class(flow.size, &measure) == size;
            let flows: Vec<Measured> = of_group.iter().filter(belongs).copied().collect();
            let name = format!("{size}{}", group.suffix());
            let alone = ClassSummary::of(name.clone(), &flows, of_group.len(), all_bytes);
            let means = |class: &ClassSummary| {
                [class.fct_mean_us, class.slowdown_mean].map(Option::unwrap_or_default)
            };
            std::iter::zip(means(&found), means(&alone))
                .for_each(|(a, b)| assert!((a - b).abs() <= 1e-12 * b, "{name}"));
            let (fct_mean_us, slowdown_mean) = (alone.fct_mean_us, alone.slowdown_mean);
            assert_eq!(ClassSummary { fct_mean_us, slowdown_mean, ..found }, alone, "{name}");
            // The tails again, by sorting.
            let mut times: Vec<f64> = flows.iter().filter_map(|flow| flow.fct).map(|fct| fct * 1e6).collect();
            times.sort_by(f64::total_cmp);
            let tails = [50.0, 95.0, 99.0].map(|p| percentile(&times, p));
            assert_eq!([alone.fct_p50_us, alone.fct_p95_us, alone.fct_p99_us], tails, "{name}");
        }
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
