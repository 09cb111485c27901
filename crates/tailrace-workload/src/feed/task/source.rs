//! Tasks one after another, in order of arrival.
//!
//! Arrivals, hosts, sizes, shares and computing times are drawn from streams of their own for each table, all when
//! the task arrives, and the load only stretches time: what tasks are like depends neither on the load nor on how
//! schemes serve them (common random numbers).

use std::sync::Arc;

use tailrace_core::random::Stream;
use tailrace_core::{Bytes, Time};

use super::ids::Counters;
use super::live::Task;
use super::places::Places;
use crate::feed::clock::Clock;
use crate::task::{Compute, PlannedTasks, Shape, TaskSizes, uneven};

/// The tasks of one table.
#[derive(Clone, Debug)]
pub(super) struct TaskSource {
    plan: PlannedTasks,
    clock: Clock,
    places: Places,
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
            places: Places::new(plan.placement.clone(), stream("task places")),
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
        let PlannedTasks { rule, shape, sizes, .. } = &self.plan;
        let (entry, hosts) = self.places.draw();
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
        let (shape, sizes) = match rule.split {
            Some(most) => split(shape, &sizes, most),
            None => (Arc::clone(shape), sizes),
        };
        let delays = rule.compute.map_or_else(Vec::new, |compute| {
            shape.flows.iter().map(|_| computing(compute, &mut self.compute)).collect()
        });
        Some(Task {
            id: counters.next(start, entry, rule.background),
            start,
            class: rule.class.unwrap_or_default(),
            slice: rule.slice,
            shape,
            hosts,
            sizes,
            delays,
        })
    }
}

/// A task whose larger flows are several.
fn split(shape: &Arc<Shape>, sizes: &[u64], most: Bytes) -> (Arc<Shape>, Vec<u64>) {
    match sizes.iter().any(|&size| size > most.get()) {
        true => {
            let (shape, sizes) = shape.split(sizes, most.get());
            (Arc::new(shape), sizes)
        }
        false => (Arc::clone(shape), sizes.to_vec()),
    }
}

/// How long a sender computes.
fn computing(compute: Compute, stream: &mut Stream) -> Time {
    match compute {
        Compute::Fixed(time) => time,
        Compute::Exp(mean) => Time::from_ps((stream.exponential() * mean.as_ps() as f64) as u64),
    }
}
