//! Flows that are alike to the network: of one path and rank, they have equal rates, so one account of what each has
//! been served tells when every one of them is done.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_core::{FlowId, Rank, Time};

use crate::routes::Path;

/// What sets bundles apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) rank: Rank,
    pub(crate) path: Path,
    /// The only flow, where flows do not share a bundle.
    pub(crate) only: Option<FlowId>,
}

/// A flow that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnderWay {
    /// Of the bundle's service when the flow is done, in bytes: the bits of a number above zero are in its order.
    finish: u64,
    pub(crate) flow: FlowId,
    /// By which the workload is told of its end.
    pub(crate) ticket: u32,
}

/// A bundle's flows, and how far they are.
pub(crate) struct Bundle {
    pub(crate) kind: Kind,
    /// Bytes that each flow has been served which was there all the time, until `since`.
    served: f64,
    since: Time,
    /// Bytes a second of each flow.
    rate: f64,
    /// Weight of each flow.
    each: f64,
    /// Bytes that all flows together have been served until `since`.
    sent: f64,
    /// Bytes of flows that are done.
    finished: u64,
    flows: BinaryHeap<Reverse<UnderWay>>,
    /// Bytes served after which its rank is to be looked at.
    turn: f64,
}

impl Bundle {
    pub(crate) fn new(kind: Kind, now: Time) -> Self {
        Bundle {
            kind,
            served: 0.0,
            since: now,
            rate: 0.0,
            each: 1.0,
            sent: 0.0,
            finished: 0,
            flows: BinaryHeap::new(),
            turn: f64::INFINITY,
        }
    }

    /// After so many more bytes its rank is to be looked at.
    pub(crate) fn turn_after(&mut self, now: Time, bytes: f64) {
        self.advance(now);
        self.turn = self.served + bytes;
    }

    /// Whether its rank is to be looked at.
    pub(crate) fn has_turned(&mut self, now: Time) -> bool {
        self.advance(now);
        self.turn <= self.served + self.slack()
    }

    /// Times are whole picoseconds, and sums are rounded.
    fn slack(&self) -> f64 {
        self.rate * 2e-12 + self.served * 1e-14
    }

    /// Number of flows.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Bytes that all flows together have been served, those that are gone included.
    pub(crate) fn sent(&mut self, now: Time) -> f64 {
        self.advance(now);
        self.sent
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
    fn advance(&mut self, now: Time) {
        let each = self.rate * (now - self.since).as_secs_f64();
        self.served += each;
        self.sent += each * self.flows.len() as f64;
        self.since = now;
    }

    /// A flow that has `bytes` to send comes in.
    pub(crate) fn enter(&mut self, now: Time, bytes: f64, flow: FlowId, ticket: u32) {
        self.advance(now);
        self.flows.push(Reverse(UnderWay { finish: (self.served + bytes).to_bits(), flow, ticket }));
    }

    /// From now on each flow has so many bytes a second for each unit of its weight.
    pub(crate) fn set_level(&mut self, now: Time, level: f64) {
        self.advance(now);
        self.rate = level * self.each;
    }

    /// From the next level on each flow has this weight.
    pub(crate) fn weigh(&mut self, each: f64) {
        self.each = each;
    }

    /// Sum of the flows' weights.
    pub(crate) fn weight(&self) -> f64 {
        self.flows.len() as f64 * self.each
    }

    /// Bytes that each flow has been served by `now`, if it was there all the time.
    pub(crate) fn served_by(&self, now: Time) -> f64 {
        self.served + self.rate * (now - self.since).as_secs_f64()
    }

    /// A flow that is done by `now`.
    pub(crate) fn leave(&mut self, now: Time) -> Option<UnderWay> {
        self.advance(now);
        let Reverse(first) = self.flows.peek()?;
        let done = f64::from_bits(first.finish) <= self.served + self.slack();
        if done { self.flows.pop().map(|Reverse(flow)| flow) } else { None }
    }

    /// When the next flow will be done at this rate, or its rank is to be looked at; [`Time::MAX`] if that is never.
    pub(crate) fn next_event(&self) -> Time {
        let Some(Reverse(first)) = self.flows.peek() else { return Time::MAX };
        let seconds = (f64::from_bits(first.finish).min(self.turn) - self.served) / self.rate;
        let picoseconds = (seconds.max(0.0) * 1e12).ceil();
        // A rate of zero gives infinity, and infinity the largest integer.
        self.since.saturating_add(Time::from_ps(picoseconds as u64))
    }

    /// The flows with the bytes that they have yet to send at `now`.
    pub(crate) fn left(&mut self, now: Time) -> impl Iterator<Item = (UnderWay, f64)> {
        self.advance(now);
        let served = self.served;
        self.flows.iter().map(move |Reverse(flow)| (*flow, (f64::from_bits(flow.finish) - served).max(0.0)))
    }
}
