//! The coflows of a trace as tasks, in order of arrival.

use std::sync::Arc;
use std::vec::IntoIter;

use tailrace_core::Time;

use super::ids::Counters;
use super::live::Task;
use crate::task::Coflow;

/// The tasks of a trace.
#[derive(Clone, Debug)]
pub(crate) struct TraceSource {
    coflows: IntoIter<Coflow>,
    class: u8,
}

impl TraceSource {
    /// The coflows, ordered by arrival, as tasks of traffic class `class`.
    pub(crate) fn new(coflows: Vec<Coflow>, class: u8) -> Self {
        TraceSource { coflows: coflows.into_iter(), class }
    }

    /// When the next task arrives.
    pub(super) fn peek(&self) -> Option<Time> {
        self.coflows.as_slice().first().map(|coflow| coflow.arrival)
    }

    /// The next task, numbered by a counter.
    pub(super) fn next(&mut self, counters: &mut Counters) -> Option<Task> {
        let coflow = self.coflows.next()?;
        let (shape, sizes) = coflow.shape();
        Some(Task {
            id: counters.next(coflow.arrival, coflow.mappers[0].into(), false),
            start: coflow.arrival,
            class: self.class,
            slice: 0,
            shape: Arc::new(shape),
            hosts: (0..coflow.ports_end().into()).collect(),
            sizes,
            delays: Vec::new(),
        })
    }
}
