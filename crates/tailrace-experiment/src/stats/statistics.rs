//! Statistics of finished runs: completion times and slowdowns by size class.

use tailrace_core::{FlowRecord, TaskRecord, Time};
use tailrace_scenario::Measure;

use crate::stats::class_summary::ClassSummary;
use crate::stats::groups::{ALL_SIZES, Group, Kind, Measured, SIZE_CLASSES, size_class};
use crate::stats::tally::Tally;
use crate::stats::task_stats::TaskSummary;

impl ClassSummary {
    /// The statistics of `flows`, a class among so many flows of its group, in a run of so many bytes.
    pub fn of(class: String, flows: &[Measured], among: usize, all_bytes: u64) -> Self {
        let mut tally = Tally::default();
        flows.iter().for_each(|flow| tally.add(flow));
        tally.summary(class, among, all_bytes)
    }
}

/// What is known of flows so far, by the least parts that statistics tell apart: traffic class, deadline or not, size class.
#[derive(Default)]
pub(crate) struct Statistics {
    tallies: Vec<Tally>,
}

/// Whose flows the tally at a place is of, and of which size class, by its place in [`SIZE_CLASSES`].
fn of_place(place: usize) -> (Kind, usize) {
    let kind = place / SIZE_CLASSES.len();
    (Kind { class: (kind / 2) as u8, has_deadline: kind % 2 == 1 }, place % SIZE_CLASSES.len())
}

fn place_of(kind: Kind, size: usize) -> usize {
    (2 * usize::from(kind.class) + usize::from(kind.has_deadline)) * SIZE_CLASSES.len() + size
}

impl Statistics {
    /// What is known of those of `flows` that are measured, with the ideal completion time of each.
    pub(crate) fn of<'a>(measure: &Measure, flows: impl Iterator<Item = (&'a FlowRecord, &'a Time)>) -> Self {
        let mut statistics = Statistics::default();
        for (record, ideal) in flows.filter(|(record, _)| record.start >= measure.warmup) {
            let place = place_of(Kind::of(record), size_class(record.size.get(), measure));
            statistics.at(place).add(&Measured::of(record, *ideal));
        }
        statistics
    }

    fn at(&mut self, place: usize) -> &mut Tally {
        if place >= self.tallies.len() {
            self.tallies.resize_with(place + 1, Tally::default);
        }
        &mut self.tallies[place]
    }

    /// Takes in what is known of flows that come later.
    pub(crate) fn join(&mut self, later: Statistics) {
        for (place, tally) in later.tallies.into_iter().enumerate().filter(|(_, tally)| tally.flows > 0) {
            self.at(place).join(tally);
        }
    }

    /// The statistics by size class, over all traffic and for each group, with those of its tasks that came after the warm-up.
    pub(crate) fn summaries(mut self, tasks: &[TaskRecord], warmup: Time) -> Vec<ClassSummary> {
        let known = || self.tallies.iter().enumerate().filter(|(_, tally)| tally.flows > 0);
        let all_bytes = known().map(|(_, tally)| tally.bytes).sum();
        let groups = Group::of(known().map(|(place, _)| of_place(place).0));
        // All traffic comes last, since it leaves nothing, and is named first.
        let mut of_groups: Vec<_> = groups
            .into_iter()
            .rev()
            .map(|group| {
                of_sizes(group, self.of_group(group), all_bytes, TaskSummary::of(group, tasks, warmup))
            })
            .collect();
        of_groups.reverse();
        of_groups.concat()
    }

    /// What is known of a group's flows by size class, in the order of [`SIZE_CLASSES`]; of all traffic once only.
    fn of_group(&mut self, group: Group) -> [Tally; SIZE_CLASSES.len()] {
        let mut sizes: [Tally; SIZE_CLASSES.len()] = Default::default();
        for (place, tally) in self.tallies.iter_mut().enumerate().filter(|(_, tally)| tally.flows > 0) {
            let (kind, size) = of_place(place);
            match group {
                Group::All => sizes[size].join(std::mem::take(tally)),
                _ if group.has(kind) => sizes[size].join(tally.clone()),
                _ => {}
            }
        }
        sizes
    }
}

/// Statistics of all flows of a group, with its tasks, and of those of each size class, in a run of so many bytes.
fn of_sizes(
    group: Group,
    sizes: [Tally; SIZE_CLASSES.len()],
    all_bytes: u64,
    tasks: Option<TaskSummary>,
) -> Vec<ClassSummary> {
    let among = sizes.iter().map(|tally| tally.flows).sum();
    let (mut all, mut summaries) = (Tally::default(), Vec::new());
    for (size, tally) in SIZE_CLASSES.into_iter().zip(sizes).filter(|(size, _)| *size != ALL_SIZES) {
        summaries.push(tally.summary(format!("{size}{}", group.suffix()), among, all_bytes));
        all.join(tally);
    }
    let all = all.summary(format!("{ALL_SIZES}{}", group.suffix()), among, all_bytes);
    summaries.insert(0, ClassSummary { tasks, ..all });
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::class_summary::METRICS;
    use crate::stats::numbers::percentile;
    use crate::stats::task_stats::TASK_METRICS;
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
        // As they are known in pieces.
        let mut known = Statistics::default();
        for (records, ideals) in records.chunks(190).zip(ideals.chunks(190)) {
            known.join(Statistics::of(&measure, records.iter().zip(ideals)));
        }
        let found = known.summaries(&[], measure.warmup);
        let both: Vec<(&FlowRecord, Measured)> = records
            .iter()
            .zip(&ideals)
            .skip(20)
            .map(|(record, ideal)| (record, Measured::of(record, *ideal)))
            .collect();
        let all_bytes = both.iter().map(|(_, flow)| flow.size).sum();
        let groups = Group::of(records[20..].iter().map(Kind::of));
        assert_eq!((groups.len(), found.len()), (5, 20));
        let expected = groups.iter().flat_map(|group| SIZE_CLASSES.map(|size| (*group, size)));
        for ((group, size), found) in expected.zip(found) {
            let of_group: Vec<Measured> = both
                .iter()
                .filter(|(record, _)| group.has(Kind::of(record)))
                .map(|(_, flow)| *flow)
                .collect();
            let belongs =
                |flow: &&Measured| size == ALL_SIZES || SIZE_CLASSES[size_class(flow.size, &measure)] == size;
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
