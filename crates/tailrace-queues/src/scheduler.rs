//! Which of a port's queues sends next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{MAX_PRIORITIES, MTU_BYTES};

/// Scheduling disciplines by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerKind {
    /// The first queue that holds anything.
    #[default]
    Strict,
    /// Deficit round robin (Shreedhar and Varghese 1995): bytes in proportion to the weights, O(1).
    Drr,
    /// Self-clocked fair queueing (Golestani 1994), a weighted fair queueing.
    Wfq,
}

/// A scheduling discipline and its state.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// Strict priority.
    Strict,
    /// Deficit round robin. Boxed, so that ports without it are small.
    Drr(Box<Drr>),
    /// Weighted fair queueing.
    Wfq(Box<Wfq>),
}

impl Scheduler {
    /// A scheduler of a port's `queues` queues; `weights` are theirs in order, 1 where missing. Only their
    /// ratios count.
    pub fn new(kind: SchedulerKind, queues: u8, weights: &[f64]) -> Self {
        let given = |queue: usize| weights.get(queue).copied().unwrap_or(1.0);
        let least = (0..usize::from(queues)).map(given).fold(f64::INFINITY, f64::min);
        let weight = |queue: usize| given(queue) / least;
        match kind {
            SchedulerKind::Strict => Scheduler::Strict,
            SchedulerKind::Drr => Scheduler::Drr(Box::new(Drr {
                // The smallest quantum is a full packet, so that each visit can send.
                quantum: std::array::from_fn(|queue| (f64::from(MTU_BYTES) * weight(queue)) as u32),
                deficit: [0; MAX_PRIORITIES],
                turn: 0,
            })),
            SchedulerKind::Wfq => Scheduler::Wfq(Box::new(Wfq {
                weight: std::array::from_fn(weight),
                finish: [0.0; MAX_PRIORITIES],
                now: 0.0,
            })),
        }
    }

    /// A packet of `bytes` became the head of `queue`: on arrival at an empty queue, or behind one sent.
    #[inline]
    pub(crate) fn head_changed(&mut self, queue: usize, bytes: u16) {
        if let Scheduler::Wfq(wfq) = self {
            wfq.tag(queue, bytes);
        }
    }

    /// Chooses among the queues whose bit is set in `occupied` (at least one); `head` tells the size of a
    /// queue's first packet, which is then sent.
    #[inline]
    pub(crate) fn choose(&mut self, occupied: u8, head: impl Fn(usize) -> u16) -> usize {
        match self {
            Scheduler::Strict => occupied.trailing_zeros() as usize,
            Scheduler::Drr(drr) => drr.choose(occupied, head),
            Scheduler::Wfq(wfq) => wfq.choose(occupied),
        }
    }

    /// `queue` has become empty.
    #[inline]
    pub(crate) fn emptied(&mut self, queue: usize) {
        if let Scheduler::Drr(drr) = self {
            drr.emptied(queue);
        }
    }
}

/// Deficit round robin.
#[derive(Clone, Debug)]
pub struct Drr {
    quantum: [u32; MAX_PRIORITIES],
    deficit: [u32; MAX_PRIORITIES],
    /// The queue whose turn it is.
    turn: usize,
}

impl Drr {
    fn choose(&mut self, occupied: u8, head: impl Fn(usize) -> u16) -> usize {
        loop {
            let queue = self.turn;
            if occupied & (1 << queue) != 0 {
                let bytes = u32::from(head(queue));
                if self.deficit[queue] >= bytes {
                    self.deficit[queue] -= bytes;
                    return queue;
                }
            }
            self.next_turn(occupied);
        }
    }

    fn next_turn(&mut self, occupied: u8) {
        self.turn = (self.turn + 1) % MAX_PRIORITIES;
        if occupied & (1 << self.turn) != 0 {
            self.deficit[self.turn] += self.quantum[self.turn];
        }
    }

    fn emptied(&mut self, queue: usize) {
        self.deficit[queue] = 0;
    }
}

/// Self-clocked fair queueing: virtual time is the finish tag of the packet sent last.
#[derive(Clone, Debug)]
pub struct Wfq {
    weight: [f64; MAX_PRIORITIES],
    /// Finish tag of each queue's head, or of the last packet it sent.
    finish: [f64; MAX_PRIORITIES],
    now: f64,
}

impl Wfq {
    fn tag(&mut self, queue: usize, bytes: u16) {
        self.finish[queue] = self.finish[queue].max(self.now) + f64::from(bytes) / self.weight[queue];
    }

    fn choose(&mut self, occupied: u8) -> usize {
        let mut best = occupied.trailing_zeros() as usize;
        for queue in best + 1..MAX_PRIORITIES {
            if occupied & (1 << queue) != 0 && self.finish[queue] < self.finish[best] {
                best = queue;
            }
        }
        self.now = self.finish[best];
        best
    }
}
