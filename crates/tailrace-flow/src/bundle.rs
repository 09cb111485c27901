//! Flows that are alike to the network: of one path and rank, they have equal rates, so one account of what each has
//! been served tells when every one of them is done.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::num::NonZeroU64;

use tailrace_core::{FlowId, Time};

use crate::clocks::{Clocks, after};
use crate::routes::Path;
use crate::solver::ClassId;

/// A flow that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnderWay {
    /// Of the bundle's service when the flow is done, in bytes: the bits of a number above zero are in its order.
    finish: NonZeroU64,
    pub(crate) flow: FlowId,
    /// By which the workload is told of its end.
    pub(crate) ticket: u32,
}

impl UnderWay {
    fn finish(self) -> f64 {
        f64::from_bits(self.finish.get())
    }
}

/// How fast a bundle's flows go.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// At so many bytes a second each, since a time.
    Own { rate: f64, since: Time },
    /// By the clock of a class, since that read so much.
    Clock { class: ClassId, mark: f64 },
}

/// A bundle's flows, and how far they are: two lines of memory, of which the first has what changes with rates, but for `armed`.
#[repr(C, align(64))]
pub(crate) struct Bundle {
    /// Bytes that each flow has been served which was there all the time, until its pace began.
    served: f64,
    pace: Pace,
    /// Weight of each flow.
    each: f64,
    /// The flow that is done next.
    next: Option<UnderWay>,
    /// Bytes served after which its rank is to be looked at.
    turn: f64,
    /// When it is to be looked at, if that was asked for; by a clock the class is.
    armed: Time,
    /// Those that are done later. Most bundles never have any.
    others: Option<Box<Others>>,
    /// Bytes that flows which are gone have been served, less what had been served when each of all flows came.
    gone: f64,
    /// Bytes of flows that are done.
    finished: u64,
    pub(crate) path: Path,
}

/// Flows by when they are done.
type Others = BinaryHeap<Reverse<UnderWay>>;

impl Bundle {
    pub(crate) fn new(path: Path, now: Time) -> Self {
        Bundle {
            served: 0.0,
            pace: Pace::Own { rate: 0.0, since: now },
            each: 1.0,
            next: None,
            others: None,
            gone: 0.0,
            finished: 0,
            turn: f64::INFINITY,
            armed: Time::MAX,
            path,
        }
    }

    /// Loads what a new level asks for.
    #[inline]
    pub(crate) fn fetch(&self) {
        black_box(self.served);
    }

    /// The class by whose clock it goes.
    pub(crate) fn clock(&self) -> Option<ClassId> {
        match self.pace {
            Pace::Own { .. } => None,
            Pace::Clock { class, .. } => Some(class),
        }
    }

    /// When it is to be looked at next, unless that was asked for already.
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let at = self.next_event();
        let is_nearer = at < self.armed;
        self.armed = self.armed.min(at);
        is_nearer.then_some(at)
    }

    /// It is looked at.
    pub(crate) fn disarm(&mut self) {
        self.armed = Time::MAX;
    }

    /// After so many more bytes its rank is to be looked at.
    pub(crate) fn turn_after(&mut self, now: Time, clocks: &Clocks, bytes: f64) {
        self.advance(now, clocks);
        self.turn = self.served + bytes;
    }

    /// Whether its rank is to be looked at.
    pub(crate) fn has_turned(&mut self, now: Time, clocks: &Clocks) -> bool {
        self.advance(now, clocks);
        self.turn <= self.served + self.slack(clocks)
    }

    /// Times are whole picoseconds, and sums are rounded.
    fn slack(&self, clocks: &Clocks) -> f64 {
        let of_pace = match self.pace {
            Pace::Own { rate, .. } => rate * 2e-12,
            Pace::Clock { class, .. } => self.each * clocks.slack(class),
        };
        of_pace + self.served * 1e-14
    }

    /// Number of flows.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.next.is_some()) + self.others.as_ref().map_or(0, |others| others.len())
    }

    /// Bytes that all flows together have been served by `now`, those that are gone included.
    pub(crate) fn sent(&self, now: Time, clocks: &Clocks) -> f64 {
        self.gone + self.served_by(now, clocks) * self.len() as f64
    }

    /// A flow of so many bytes is done.
    pub(crate) fn count(&mut self, bytes: u64) {
        self.finished += bytes;
    }

    /// Bytes of flows that are done.
    pub(crate) fn finished_bytes(&self) -> f64 {
        self.finished as f64
    }

    /// Counts what was served until `now`.
    fn advance(&mut self, now: Time, clocks: &Clocks) {
        self.served = self.served_by(now, clocks);
        match &mut self.pace {
            Pace::Own { since, .. } => *since = now,
            Pace::Clock { class, mark } => *mark = clocks.reading(*class, now),
        }
    }

    /// A flow that has `bytes` to send comes in.
    pub(crate) fn enter(&mut self, now: Time, clocks: &Clocks, bytes: f64, flow: FlowId, ticket: u32) {
        self.advance(now, clocks);
        self.gone -= self.served;
        let finish = NonZeroU64::new((self.served + bytes).to_bits()).unwrap_or(NonZeroU64::MIN);
        let mut flow = UnderWay { finish, flow, ticket };
        if let Some(next) = &mut self.next {
            if flow < *next {
                std::mem::swap(&mut flow, next);
            }
            self.others.get_or_insert_default().push(Reverse(flow));
        } else {
            self.next = Some(flow);
        }
    }

    /// From now on each flow has so many bytes a second for each unit of its weight.
    pub(crate) fn set_level(&mut self, now: Time, clocks: &Clocks, level: f64) {
        self.advance(now, clocks);
        self.pace = Pace::Own { rate: level * self.each, since: now };
    }

    /// From now on it goes by the clock of a class.
    pub(crate) fn follow(&mut self, now: Time, clocks: &Clocks, class: ClassId) {
        self.advance(now, clocks);
        self.pace = Pace::Clock { class, mark: clocks.reading(class, now) };
    }

    /// Bytes a second for each unit of a flow's weight.
    pub(crate) fn level(&self, clocks: &Clocks) -> f64 {
        match self.pace {
            Pace::Own { rate, .. } => rate / self.each,
            Pace::Clock { class, .. } => clocks.level(class),
        }
    }

    /// From the next level on each flow has this weight.
    pub(crate) fn weigh(&mut self, each: f64) {
        self.each = each;
    }

    /// Sum of the flows' weights.
    pub(crate) fn weight(&self) -> f64 {
        self.len() as f64 * self.each
    }

    /// Bytes that each flow has been served by `now`, if it was there all the time.
    pub(crate) fn served_by(&self, now: Time, clocks: &Clocks) -> f64 {
        let since = match self.pace {
            Pace::Own { rate, since } => rate * (now - since).as_secs_f64(),
            Pace::Clock { class, mark } => self.each * (clocks.reading(class, now) - mark),
        };
        self.served + since
    }

    /// A flow that is done by `now`.
    pub(crate) fn leave(&mut self, now: Time, clocks: &Clocks) -> Option<UnderWay> {
        self.advance(now, clocks);
        let first = self.next.filter(|first| first.finish() <= self.served + self.slack(clocks))?;
        self.gone += self.served;
        self.next = self.others.as_mut().and_then(|others| others.pop()).map(|Reverse(flow)| flow);
        Some(first)
    }

    /// Bytes until the next flow is done, or its rank is to be looked at.
    fn missing(&self) -> Option<f64> {
        self.next.map(|first| first.finish().min(self.turn) - self.served)
    }

    /// When the next flow will be done at its own pace, or its rank is to be looked at; [`Time::MAX`] if that is never.
    fn next_event(&self) -> Time {
        match (self.missing(), self.pace) {
            (Some(bytes), Pace::Own { rate, since }) => after(bytes / rate, since),
            _ => Time::MAX,
        }
    }

    /// The same by the clock that it goes by: what that will read.
    pub(crate) fn next_reading(&self) -> Option<f64> {
        match (self.missing(), self.pace) {
            (Some(bytes), Pace::Clock { mark, .. }) => Some(mark + bytes / self.each),
            _ => None,
        }
    }

    /// The only flow of a bundle that has one, with the bytes that it has yet to send at `now`.
    pub(crate) fn only(&self, now: Time, clocks: &Clocks) -> Option<(UnderWay, f64)> {
        let left = |flow: UnderWay| (flow.finish() - self.served_by(now, clocks)).max(0.0);
        self.next.map(|flow| (flow, left(flow)))
    }
}
