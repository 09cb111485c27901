//! Statistics of tasks: completion times.

use serde::{Deserialize, Serialize};
use tailrace_core::{TaskRecord, Time};

use crate::stats::groups::Group;
use crate::stats::numbers::{mean, percentile};

/// Statistics of the tasks of one group. Times are in microseconds, from the task's arrival to the end of its last
/// flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// Tasks that were measured.
    pub tasks: usize,
    /// Of these, tasks that did not complete; they are in no percentile.
    pub unfinished_tasks: usize,
    /// Mean completion time.
    pub tct_mean_us: Option<f64>,
    /// Median completion time.
    pub tct_p50_us: Option<f64>,
    /// 95th percentile of completion times.
    pub tct_p95_us: Option<f64>,
    /// 99th percentile of completion times.
    pub tct_p99_us: Option<f64>,
    /// Longest completion time.
    pub tct_max_us: Option<f64>,
}

impl TaskSummary {
    /// The statistics of the tasks of a group that arrived at `warmup` or later; `None` without any.
    pub fn of(group: Group, tasks: &[TaskRecord], warmup: Time) -> Option<Self> {
        let belongs = |task: &&TaskRecord| match group {
            Group::All => true,
            Group::Class(class) => task.class == class,
            // Flows have deadlines, tasks do not.
            Group::Deadline | Group::NoDeadline => false,
        };
        let measured: Vec<&TaskRecord> =
            tasks.iter().filter(|task| task.start >= warmup).filter(belongs).collect();
        let mut times: Vec<f64> =
            measured.iter().filter_map(|task| task.tct()).map(|time| time.as_secs_f64() * 1e6).collect();
        times.sort_unstable_by(f64::total_cmp);
        (!measured.is_empty()).then(|| TaskSummary {
            tasks: measured.len(),
            unfinished_tasks: measured.len() - times.len(),
            tct_mean_us: mean(&times),
            tct_p50_us: percentile(&times, 50.0),
            tct_p95_us: percentile(&times, 95.0),
            tct_p99_us: percentile(&times, 99.0),
            tct_max_us: times.last().copied(),
        })
    }
}

/// Names of the columns of tasks, which a summary has where there are tasks.
pub const TASK_METRICS: [&str; 7] =
    ["tasks", "unfinished_tasks", "tct_mean_us", "tct_p50_us", "tct_p95_us", "tct_p99_us", "tct_max_us"];

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Bytes;

    fn task(class: u8, start_us: u64, tct_us: Option<u64>) -> TaskRecord {
        let start = Time::from_us(start_us);
        let end = tct_us.map_or(Time::MAX, |time| start + Time::from_us(time));
        TaskRecord { bytes: Bytes::new(1), start, end, id: 1, flows: 1, slice: 0, class }
    }

    #[test]
    fn times_are_those_of_the_group_after_the_warm_up() {
        let tasks = [
            task(0, 0, Some(1000)),
            task(0, 10, Some(30)),
            task(1, 10, Some(10)),
            task(0, 20, None),
            task(0, 30, Some(50)),
        ];
        let of = |group| TaskSummary::of(group, &tasks, Time::from_us(10));
        let zero = of(Group::Class(0)).unwrap();
        assert_eq!((zero.tasks, zero.unfinished_tasks), (3, 1));
        let times = [zero.tct_mean_us, zero.tct_p50_us, zero.tct_p99_us, zero.tct_max_us];
        assert_eq!(times.map(|time| time.unwrap().round()), [40.0, 30.0, 50.0, 50.0]);
        assert_eq!(of(Group::All).unwrap().tasks, 4);
        assert_eq!((of(Group::Class(2)), of(Group::Deadline)), (None, None));
    }
}
