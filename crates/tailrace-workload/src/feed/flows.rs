//! What a simulator draws flows from, and tells of their ends.

use std::iter::Peekable;
use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::{TaskRecord, Time};

use crate::feed::source::FlowSource;
use crate::feed::task::{TaskFeed, TraceSource};
use crate::task::{TaskCounters, read_trace};
use crate::{FlowSpec, InputFile, Setting, Workload, flow_list};

/// All flows of a workload in order of start: those of rules and lists, which are known, and those of tasks, whose
/// later stages start when flows of earlier ones have ended. As an iterator it gives the flows that start without
/// any end being told: all of a workload without tasks, the first stages of tasks.
#[derive(Clone, Debug)]
pub struct Feed {
    flows: Peekable<FlowSource>,
    tasks: TaskFeed,
}

impl Feed {
    /// The flows of a workload. Lists and traces are read from their files, relative to `base`. Field names in errors
    /// are those of a scenario.
    pub fn new(workload: &Workload, base: &Path, setting: Setting, seed: u64) -> Result<Self, ScenarioError> {
        Self::read(workload, base, setting, seed).map_err(|error| error.within("workload"))
    }

    fn read(workload: &Workload, base: &Path, setting: Setting, seed: u64) -> Result<Self, ScenarioError> {
        if let Some(list) = &workload.flow_list {
            let path = base.join(&list.path);
            let flows = flow_list::read_csv(&path, &setting, &workload.flow_list_extra)?;
            let source = FlowSource::from_records(flows, &setting).map_err(|e| e.in_file(&path))?;
            return Ok(source.limited(workload.flows, workload.duration).into());
        }
        let read = |file: &InputFile| {
            let coflows = read_trace(&base.join(&file.path), &setting, workload.duration)?;
            Ok(TraceSource::new(coflows, workload.trace_class()))
        };
        let trace = workload.coflow_trace.as_ref().map(read).transpose();
        let trace = trace.map_err(|error: ScenarioError| error.within("coflow_trace"))?;
        let plan = workload.plan(&setting, seed)?;
        let tasks = TaskFeed::new(&plan.tasks, trace, plan.counters, seed);
        Ok(Feed { flows: FlowSource::of_rules(&plan).peekable(), tasks })
    }

    /// When the next flow starts, as far as is known now. An end that is told later may release flows that start
    /// from then on, and so before.
    pub fn peek(&mut self) -> Option<Time> {
        let known = self.flows.peek().map(|flow| flow.start);
        [known, self.tasks.peek()].into_iter().flatten().min()
    }

    /// The flow that starts next; at equal times, those of rules and lists come before those of tasks, and these in
    /// the order in which their tasks arrived.
    pub fn pop(&mut self) -> Option<FlowSpec> {
        let known = self.flows.peek().map(|flow| flow.start);
        let tasks = self.tasks.peek();
        if tasks.is_some_and(|start| known.is_none_or(|known| start < known)) {
            self.tasks.pop()
        } else {
            self.flows.next()
        }
    }

    /// Tells that a flow has ended at `now`: that it is complete, or given up, which releases what waits for it all
    /// the same. Stages that waited for it alone start at `now`, or when their senders have computed. Ends must be
    /// told in order of time, and before flows that start later are popped. Nothing happens if the flow is of no
    /// task (`ticket` 0).
    ///
    /// # Panics
    ///
    /// If no flow in progress has this ticket: an end was told twice.
    pub fn ended(&mut self, now: Time, ticket: u32) {
        if ticket != 0 {
            self.tasks.ended(now, ticket);
        }
    }

    /// Whether no flow will follow, whatever ends are told.
    pub fn is_empty(&mut self) -> bool {
        self.flows.peek().is_none() && self.tasks.is_empty()
    }

    /// One record for each task that has arrived until `now`, in order of arrival.
    pub fn task_records(&self, now: Time) -> &[TaskRecord] {
        let records = self.tasks.records();
        &records[..records.partition_point(|task| task.start <= now)]
    }
}

impl Iterator for Feed {
    type Item = FlowSpec;

    fn next(&mut self) -> Option<FlowSpec> {
        self.pop()
    }
}

impl From<FlowSource> for Feed {
    fn from(flows: FlowSource) -> Self {
        Feed { flows: flows.peekable(), tasks: TaskFeed::new(&[], None, TaskCounters::default(), 0) }
    }
}

/// Flows that have been drawn elsewhere, in order of start.
impl From<Vec<FlowSpec>> for Feed {
    fn from(flows: Vec<FlowSpec>) -> Self {
        FlowSource::from(flows).into()
    }
}
