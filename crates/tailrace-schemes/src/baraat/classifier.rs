//! Which class a flow's task is in, and what the classes hold: counters by task, none by flow (Baraat §4.3.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Bytes, FlowId, TaskId, Time};
use tailrace_queues::{Epoch, SoftState, Tally};

use super::held::Held;
use super::numbers::search;
use super::scale::{Grains, bps_of};

/// Which flows go first: how flows are mapped to priority classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Tasks in order of their numbers, one by one; one that turns out heavy shares its class with the next.
    #[default]
    FifoLm,
    /// Tasks one by one, however heavy.
    Fifo,
    /// All flows in one class.
    Fair,
    /// Flows one by one, in order of start.
    Flow,
}

impl Order {
    /// The number of what a flow is counted with; lower ones go first.
    #[inline]
    fn key(self, task: TaskId, flow: FlowId) -> u32 {
        match self {
            Order::FifoLm | Order::Fifo => task,
            Order::Fair => 0,
            Order::Flow => flow,
        }
    }
}

/// The counters of a task.
#[derive(Clone, Debug)]
struct Task {
    key: u32,
    heavy: bool,
    held: SoftState<Held>,
    /// Bytes: the integral of what its flows were allocated, up to a time.
    reserved: f64,
    until: Time,
}

impl Task {
    fn reserve(&mut self, now: Time, threshold: Bytes) {
        let rate = bps_of(self.held.total().allocated) as f64 / 8.0;
        self.reserved += rate * now.saturating_sub(self.until).as_secs_f64();
        self.until = now;
        // Once heavy, always heavy: what has finished in its wake has not made it smaller.
        self.heavy |= self.reserved > threshold.as_f64();
    }
}

/// What a flow finds at a port, without itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Demand of higher classes.
    pub above: Grains,
    /// Demand of higher classes, and of all higher tasks if the link is full before.
    pub ahead: Grains,
    /// The flow's class.
    pub class: Held,
    /// If the flow's task is heavy, its part of what such tasks keep however many light ones there are.
    pub own: Grains,
    /// If it is light, what heavy ones of its class lack of that.
    pub owed: Grains,
    /// Allocated to all flows of the port.
    pub allocated: Grains,
}

/// The place of a task among the tasks of its port; good until another task is counted or ends.
#[derive(Clone, Copy, Debug)]
pub struct TaskIndex(usize);

/// A task that has no flows at the port for now.
#[derive(Clone, Copy, Debug)]
struct Absent {
    key: u32,
    reserved: f64,
    since: Time,
}

/// The classifier of one port.
#[derive(Clone, Debug)]
pub struct Classifier {
    order: Order,
    /// A task that has reserved more is heavy.
    threshold: Bytes,
    span: Time,
    /// In order of their keys; those whose flows have fallen silent are cleared away once an epoch.
    tasks: Vec<Task>,
    /// In order of their keys. A task may come back, and what counts is all that it has ever reserved (footnote 4).
    absent: Vec<Absent>,
    all: SoftState<Held>,
}

impl Classifier {
    /// So many tasks without flows are remembered, those that left last.
    pub const MEMORY: usize = 256;

    /// Has counted nothing; `span` is the epoch of its soft state.
    pub fn new(order: Order, threshold: Bytes, span: Time) -> Self {
        Classifier {
            order,
            threshold,
            span,
            tasks: Vec::new(),
            absent: Vec::new(),
            all: SoftState::new(span),
        }
    }

    /// What all flows hold at `now`.
    pub fn total(&mut self, now: Time) -> Held {
        self.advance(now);
        self.all.total()
    }

    /// Tasks of which flows are counted, in order of their keys, as they stand at `now`.
    pub fn tasks(&mut self, now: Time) -> impl Iterator<Item = (u32, Held, bool)> {
        self.advance(now);
        self.tasks.iter().map(|task| (task.key, task.held.total(), task.heavy))
    }

    fn advance(&mut self, now: Time) {
        if self.all.advance(now) {
            self.tasks.iter_mut().for_each(|task| {
                task.held.advance(now);
            });
            for place in (0..self.tasks.len()).rev() {
                if self.tasks[place].held.total().flows == 0 {
                    self.leave(place);
                }
            }
        }
    }

    /// The task has no flows here any more.
    fn leave(&mut self, place: usize) {
        let Task { key, reserved, until, .. } = self.tasks.remove(place);
        if self.order != Order::FifoLm || reserved == 0.0 {
            return;
        }
        self.absent.reserve_exact(Self::MEMORY - self.absent.len());
        if self.absent.len() == Self::MEMORY {
            let oldest = (0..Self::MEMORY).min_by_key(|&at| self.absent[at].since).unwrap_or_default();
            self.absent.remove(oldest);
        }
        let at = search(&self.absent, key, |task| task.key).unwrap_or_else(|at| at);
        self.absent.insert(at, Absent { key, reserved, since: until });
    }

    /// What the task has reserved before it left, if it was there.
    fn come_back(&mut self, key: u32) -> f64 {
        let found = search(&self.absent, key, |task| task.key);
        found.map_or(0.0, |at| self.absent.remove(at).reserved)
    }

    fn find(&self, key: u32) -> Result<usize, usize> {
        search(&self.tasks, key, |task| task.key)
    }

    fn open(&mut self, now: Time, key: u32) -> usize {
        self.find(key).unwrap_or_else(|place| {
            let mut held = SoftState::new(self.span);
            held.advance(now);
            let reserved = self.come_back(key);
            let heavy = reserved > self.threshold.as_f64();
            self.tasks.insert(place, Task { key, heavy, held, reserved, until: now });
            place
        })
    }

    /// Takes back what a flow held when it was counted last (algorithm 1, line 1), and tells where its task is.
    pub fn release(
        &mut self,
        now: Time,
        (task, flow): (TaskId, FlowId),
        counted: Epoch,
        held: Held,
    ) -> TaskIndex {
        self.advance(now);
        let place = self.open(now, self.order.key(task, flow));
        self.tasks[place].reserve(now, self.threshold);
        self.tasks[place].held.release(counted, held);
        self.all.release(counted, held);
        TaskIndex(place)
    }

    /// Counts what a flow of the task holds from now on.
    pub fn count(&mut self, TaskIndex(place): TaskIndex, holds: Held) -> Epoch {
        self.tasks[place].held.count(holds);
        self.all.count(holds)
    }

    /// A flow has ended. A task without flows is none.
    pub fn end(&mut self, now: Time, flow: (TaskId, FlowId), counted: Epoch, held: Held) {
        let TaskIndex(place) = self.release(now, flow, counted, held);
        if self.tasks[place].held.total().flows == 0 {
            self.leave(place);
        }
    }

    /// What a flow of the task finds (algorithm 1, lines 2 to 4). A heavy task and the next one are of one
    /// class, so a chain of heavy tasks is as well, with the first one that is not (§4.3.1).
    ///
    /// What a next one has been granted is as good as sent, so the one after it takes part as well, as long as what such tasks
    /// still wait for is no more than one's share. In the paper it waits: of tasks of a packet, each is served some round
    /// trips after the one before, although the link has room for hundreds in a round trip. Heavy ones keep a part of theirs.
    ///
    /// Only classes that the `capacity` reaches are looked at: what higher ones demand may be told too low once
    /// it exceeds that.
    pub fn standing(&self, TaskIndex(place): TaskIndex, capacity: Grains) -> Standing {
        let allocated = self.all.total().allocated;
        let (mut above, mut between, mut class) = (0, 0, Class::default());
        for (at, task) in self.tasks.iter().enumerate() {
            if !class.is_open {
                if at > place {
                    break;
                }
                above += class.held.demand;
                class = Class::default();
                if above >= capacity {
                    between = self.tasks[at..place].iter().map(|task| task.held.total().demand).sum();
                    break;
                }
            }
            class.join(task, at == place, capacity - above);
            class.is_open &= self.order == Order::FifoLm;
        }
        let kept = class.kept(capacity.saturating_sub(above));
        let (own, owed) = if self.tasks[place].heavy {
            (kept / Grains::from(class.heavy.flows + 1), 0)
        } else {
            (0, kept.min(class.heavy.demand).saturating_sub(class.heavy.allocated))
        };
        Standing { above, ahead: above + between, class: class.held, own, owed, allocated }
    }
}

/// Tasks that share what higher classes leave, without the flow that asks.
#[derive(Default)]
struct Class {
    held: Held,
    /// Whether the flow that asks is of one of these tasks.
    asks: bool,
    /// What tasks demand that are not heavy, and have not been granted, and what one has of equal shares.
    light: Grains,
    share: Grains,
    /// What heavy tasks hold.
    heavy: Held,
    /// Whether the next task takes part.
    is_open: bool,
}

impl Class {
    fn join(&mut self, task: &Task, asks: bool, available: Grains) {
        let held = task.held.total();
        self.held.add(held);
        if task.heavy {
            self.is_open = true;
            self.heavy.add(held);
        } else {
            let flows = self.heavy.flows + held.flows + u32::from(self.asks || asks);
            let equal = available / Grains::from(flows.max(1)) * Grains::from(held.flows + u32::from(asks));
            self.share = self.share.max(equal);
            self.light += held.demand.saturating_sub(held.content_demand);
            let is_within = self.light <= self.share;
            // What the flow that asks will be granted is not known yet.
            self.is_open &= !asks && is_within;
        }
        self.asks |= asks;
    }

    /// What heavy tasks keep however many light ones there are: half of what is theirs beside one. All of it would be too much,
    /// for the share of light ones is idle in part while one hands over to the next.
    fn kept(&self, available: Grains) -> Grains {
        if self.share == 0 { 0 } else { available.saturating_sub(self.share) / 2 }
    }
}
