//! The tasks in progress: which of their stages wait for which, and which flows are next to start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use tailrace_core::{Bytes, HostId, Reveals, TaskId, TaskRecord, Time};

use crate::FlowSpec;
use crate::task::{Shape, total};

/// A task about to arrive.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) id: TaskId,
    pub(super) start: Time,
    pub(super) class: u8,
    pub(super) slice: u16,
    pub(super) shape: Arc<Shape>,
    /// A host for each role.
    pub(super) hosts: Vec<HostId>,
    /// Bytes of each flow.
    pub(super) sizes: Vec<u64>,
    /// How long each flow's sender computes before it; empty if none does.
    pub(super) delays: Vec<Time>,
}

/// A task that has arrived.
#[derive(Clone, Debug)]
struct Live {
    task: Task,
    bytes: Bytes,
    /// Its place among the records.
    record: u32,
    stages: Vec<Progress>,
    unfinished: u32,
}

/// How far a stage is.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Stages that it still waits for.
    waits_for: u32,
    /// Flows that have not ended.
    flows: u32,
}

/// Flows of a task that start together, the first of them next. Ordered by start, then by arrival of their tasks,
/// then by their places, so that the order does not depend on which end was reported first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    start: Time,
    record: u32,
    first: u32,
    end: u32,
    stage: u32,
    slot: u32,
}

/// Where the end of a flow is to be noted.
#[derive(Clone, Copy, Debug)]
struct StageRef {
    slot: u32,
    stage: u32,
}

/// All tasks that have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    waiting: BinaryHeap<Reverse<Waiting>>,
    live: Vec<Option<Live>>,
    free: Vec<u32>,
    /// By ticket - 1.
    places: Vec<Option<StageRef>>,
    free_tickets: Vec<u32>,
    records: Vec<TaskRecord>,
}

impl Tasks {
    /// When the next flow starts.
    pub(super) fn head(&self) -> Option<Time> {
        self.waiting.peek().map(|Reverse(next)| next.start)
    }

    /// Whether all tasks have ended.
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.live.len()
    }

    /// One record a task, in order of arrival.
    pub(super) fn records(&self) -> &[TaskRecord] {
        &self.records
    }

    /// Takes in a task; its flows come in order of start, and no task arrives before one that was taken in.
    pub(super) fn arrive(&mut self, task: Task) {
        let bytes = Bytes::new(total(task.sizes.iter().copied()));
        let record = self.records.len() as u32;
        let Task { id, start, class, slice, .. } = task;
        let flows = task.sizes.len() as u32;
        self.records.push(TaskRecord { bytes, start, end: Time::MAX, id, flows, slice, class });
        let progress = |stage: &crate::task::Stage| Progress {
            waits_for: stage.waits_for,
            flows: stage.flows.end - stage.flows.start,
        };
        let stages: Vec<Progress> = task.shape.stages.iter().map(progress).collect();
        let unfinished = stages.len() as u32;
        let live = Some(Live { task, bytes, record, stages, unfinished });
        let slot = self.free.pop().unwrap_or(self.live.len() as u32);
        match self.live.get_mut(slot as usize) {
            Some(free) => *free = live,
            None => self.live.push(live),
        }
        let first: Vec<u32> =
            (0..unfinished).filter(|&stage| self.of(slot).stages[stage as usize].waits_for == 0).collect();
        first.into_iter().for_each(|stage| self.release(slot, stage, start));
    }

    /// The next flow to start.
    pub(super) fn pop(&mut self) -> Option<FlowSpec> {
        let Waiting { start, first, stage, slot, .. } = self.take_next()?;
        let ticket = self.issue(StageRef { slot, stage });
        let Live { task, bytes, .. } = self.of(slot);
        let hop = task.shape.flows[first as usize];
        Some(FlowSpec {
            src: task.hosts[usize::from(hop.src)],
            dst: task.hosts[usize::from(hop.dst)],
            size: Bytes::new(task.sizes[first as usize]),
            start,
            deadline: None,
            reveals: Reveals::Size,
            controlled: false,
            class: task.class,
            slice: task.slice,
            task: task.id,
            task_size: *bytes,
            ticket,
        })
    }

    /// Takes the first flow of those that wait.
    fn take_next(&mut self) -> Option<Waiting> {
        let mut next = self.waiting.peek_mut()?;
        let taken = next.0;
        if taken.first + 1 < taken.end {
            next.0.first += 1;
        } else {
            PeekMut::pop(next);
        }
        Some(taken)
    }

    /// A flow has ended: stages that waited for it alone are released, and its task ends with its last stage.
    pub(super) fn ended(&mut self, now: Time, ticket: u32) {
        let place = self.places.get_mut(ticket as usize - 1).and_then(Option::take);
        let Some(StageRef { slot, stage }) = place else {
            panic!("no flow with ticket {ticket} is in progress")
        };
        self.free_tickets.push(ticket);
        let progress = &mut self.of_mut(slot).stages[stage as usize];
        progress.flows -= 1;
        if progress.flows > 0 {
            return;
        }
        let shape = Arc::clone(&self.of(slot).task.shape);
        for &next in &shape.stages[stage as usize].then {
            let progress = &mut self.of_mut(slot).stages[next as usize];
            progress.waits_for -= 1;
            if progress.waits_for == 0 {
                self.release(slot, next, now);
            }
        }
        let live = self.of_mut(slot);
        live.unfinished -= 1;
        if live.unfinished == 0 {
            let record = live.record;
            self.records[record as usize].end = now;
            self.live[slot as usize] = None;
            self.free.push(slot);
        }
    }

    /// Lets the flows of a stage start at `now`, or when their senders have computed.
    fn release(&mut self, slot: u32, stage: u32, now: Time) {
        let Some(live) = &self.live[slot as usize] else { panic!("no task is in slot {slot}") };
        let flows = live.task.shape.stages[stage as usize].flows.clone();
        let record = live.record;
        let waiting = |start, first, end| Reverse(Waiting { start, record, first, end, stage, slot });
        if live.task.delays.is_empty() {
            self.waiting.push(waiting(now, flows.start, flows.end));
        } else {
            let after = |flow: u32| now.saturating_add(live.task.delays[flow as usize]);
            self.waiting.extend(flows.map(|flow| waiting(after(flow), flow, flow + 1)));
        }
    }

    fn issue(&mut self, place: StageRef) -> u32 {
        let ticket = self.free_tickets.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32
        });
        self.places[ticket as usize - 1] = Some(place);
        ticket
    }

    fn of(&self, slot: u32) -> &Live {
        match &self.live[slot as usize] {
            Some(live) => live,
            None => panic!("no task is in slot {slot}"),
        }
    }

    fn of_mut(&mut self, slot: u32) -> &mut Live {
        match &mut self.live[slot as usize] {
            Some(live) => live,
            None => panic!("no task is in slot {slot}"),
        }
    }
}
