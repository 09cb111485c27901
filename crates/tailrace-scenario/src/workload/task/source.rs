//! Tasks one after another, in order of arrival.
//!
//! Arrivals, hosts, sizes, shares and computing times are drawn from streams of their own for each table, all when
//! the task arrives, and the load only stretches time: what tasks are like depends neither on the load nor on how
//! schemes serve them (common random numbers).

use tailrace_core::Time;
use tailrace_core::random::Stream;

use super::ids::Counters;
use super::live::Task;
use super::plan::{PlannedTasks, TaskSizes};
use super::rule::Compute;
use super::shape::uneven;
use crate::workload::clock::Clock;

/// The tasks of one table.
#[derive(Clone, Debug)]
pub(super) struct TaskSource {
    plan: PlannedTasks,
    clock: Clock,
    places: Stream,
    sizes: Stream,
    shares: Stream,
    compute: Stream,
}

impl TaskSource {
    pub(super) fn new(plan: &PlannedTasks, seed: u64) -> Self {
        let rule = &plan.rule;
        let most = rule.count.map_or(u64::MAX, u64::from);
        let gap_ps = 1e12 / plan.tasks_per_sec;
        let stream = |purpose| plan.stream(purpose, seed);
        TaskSource {
            clock: Clock::new(rule.arrivals, gap_ps, most, rule.start..plan.end, stream("task arrivals")),
            places: stream("task places"),
            sizes: stream("task sizes"),
            shares: stream("task shares"),
            compute: stream("task compute"),
            plan: plan.clone(),
        }
    }

    /// When the next task arrives.
    pub(super) fn peek(&self) -> Option<Time> {
        self.clock.peek()
    }

    /// The next task, numbered by a counter.
    pub(super) fn next(&mut self, counters: &mut Counters) -> Option<Task> {
        let (_, start) = self.clock.tick()?;
        let PlannedTasks { rule, shape, sizes, placement, .. } = &mut self.plan;
        let (entry, hosts) = placement.draw(&mut self.places);
        let sizes = match sizes {
            TaskSizes::Whole(sampler) => {
                let bytes = sampler.draw(&mut self.sizes).get();
                shape.sizes(bytes, uneven(bytes, shape.shares(), &mut self.shares))
            }
            TaskSizes::Each(sampler) => {
                let mut draw = || sampler.draw(&mut self.sizes).get();
                shape.sizes(0, std::iter::repeat_with(&mut draw))
            }
        };
        let delays = rule.compute.map_or_else(Vec::new, |compute| {
            shape.flows.iter().map(|_| compute.draw(&mut self.compute)).collect()
        });
        Some(Task {
            id: counters.next(entry, rule.background),
            start,
            class: rule.class.unwrap_or_default(),
            slice: rule.slice,
            shape: shape.clone(),
            hosts,
            sizes,
            delays,
        })
    }
}

impl Compute {
    fn draw(self, stream: &mut Stream) -> Time {
        match self {
            Compute::Fixed(time) => time,
            Compute::Exp(mean) => Time::from_ps((stream.exponential() * mean.as_ps() as f64) as u64),
        }
    }
}
