//! The flows of tasks, stage by stage: a stage starts when those that it waits for have ended.

#[cfg(test)]
mod feed_tests;
mod ids;
mod live;
#[cfg(test)]
mod live_tests;
mod places;
mod source;
mod trace;

pub(crate) use trace::TraceSource;

use tailrace_core::{TaskRecord, Time};

use self::ids::Counters;
use self::live::{Task, Tasks};
use self::source::TaskSource;
use crate::FlowSpec;
use crate::task::{PlannedTasks, TaskCounters};

/// The flows of all tasks, in order of start. Memory grows with the tasks in progress, and by a record for each.
#[derive(Clone, Debug)]
pub(crate) struct TaskFeed {
    sources: Vec<Source>,
    counters: Counters,
    tasks: Tasks,
}

/// Where tasks come from.
#[derive(Clone, Debug)]
enum Source {
    Table(Box<TaskSource>),
    Trace(TraceSource),
}

impl Source {
    /// When the next task arrives.
    fn peek(&mut self) -> Option<Time> {
        match self {
            Source::Table(tasks) => tasks.peek(),
            Source::Trace(trace) => trace.peek(),
        }
    }

    /// The next task.
    fn next(&mut self, counters: &mut Counters) -> Option<Task> {
        match self {
            Source::Table(tasks) => tasks.next(counters),
            Source::Trace(trace) => trace.next(counters),
        }
    }
}

impl TaskFeed {
    pub(crate) fn new(
        plans: &[PlannedTasks],
        trace: Option<TraceSource>,
        counters: TaskCounters,
        seed: u64,
    ) -> Self {
        let tables = plans.iter().map(|plan| Source::Table(Box::new(TaskSource::new(plan, seed))));
        let sources = tables.chain(trace.map(Source::Trace)).collect();
        TaskFeed { sources, counters: Counters::new(counters), tasks: Tasks::default() }
    }

    /// When the next flow starts, as far as is known.
    pub(crate) fn peek(&mut self) -> Option<Time> {
        while let Some((at, next)) = self.next_arrival()
            && self.tasks.head().is_none_or(|head| at < head)
            && let Some(task) = self.sources[next].next(&mut self.counters)
        {
            self.tasks.arrive(task);
        }
        self.tasks.head()
    }

    /// That flow.
    pub(crate) fn pop(&mut self) -> Option<FlowSpec> {
        self.peek()?;
        self.tasks.pop()
    }

    /// A flow has ended.
    pub(crate) fn ended(&mut self, now: Time, ticket: u32) {
        self.tasks.ended(now, ticket);
    }

    /// Whether all tasks have arrived and ended.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.next_arrival().is_none() && self.tasks.is_empty()
    }

    /// One record a task, in order of arrival.
    pub(crate) fn records(&self) -> &[TaskRecord] {
        self.tasks.records()
    }

    /// The next arrival, and the source that it comes from.
    fn next_arrival(&mut self) -> Option<(Time, usize)> {
        let arrival = |(number, source): (usize, &mut Source)| Some((source.peek()?, number));
        self.sources.iter_mut().enumerate().filter_map(arrival).min()
    }
}
