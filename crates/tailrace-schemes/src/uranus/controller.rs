//! A controller of slices: every slot it measures their flows, finds what each needs and hands out weights (§3). In
//! between, a flow that comes or goes moves the weights of its neighbours only. Who gets how much of a slice's weight
//! is its [`Sharing`]'s.

use std::collections::{BTreeMap, BTreeSet};

use tailrace_core::{Bytes, Controller, Facts, FlowId, FlowInfo, Time, WeightUpdate};

use super::ControlParams;
use super::sharing::{Aggregate, Sharing};
use super::slice::{Decision, SliceFlows};

/// The controller.
pub struct SliceController<S> {
    params: ControlParams,
    decision: Decision<S>,
    slices: Vec<SliceFlows>,
    /// The slice, counted from 0, and the aggregate of each flow that it follows.
    places: BTreeMap<FlowId, (usize, Aggregate)>,
    /// What all weights are measured by. It moves between slots only if it must, for all weights move with it.
    scale: Option<f64>,
    next_slot: Time,
    /// Where flows have come or gone since weights were last given: in an aggregate that others share, or else in a
    /// slice, which has an aggregate more or less.
    stale: BTreeSet<(usize, Option<Aggregate>)>,
}

impl<S: Sharing> SliceController<S> {
    /// A controller that knows of no flow.
    pub fn new(params: ControlParams, sharing: S, facts: &Facts) -> Self {
        SliceController {
            params,
            decision: Decision::new(sharing, facts),
            slices: facts.slices.iter().copied().map(SliceFlows::new).collect(),
            places: BTreeMap::new(),
            scale: None,
            next_slot: params.slot,
            stale: BTreeSet::new(),
        }
    }

    /// The slices that it follows.
    #[cfg(test)]
    pub(super) fn slices(&self) -> &[SliceFlows] {
        &self.slices
    }

    /// What all weights are measured by, once some are given.
    #[cfg(test)]
    pub(super) fn scale(&self) -> Option<f64> {
        self.scale
    }

    /// A flow's slice, counted from 0, and its aggregate. There are none if it is not this controller's concern.
    fn place(&self, flow: &FlowInfo) -> Option<(usize, Aggregate)> {
        let slice = usize::from(flow.slice).checked_sub(1).filter(|slice| *slice < self.slices.len())?;
        Some((slice, self.decision.sharing.aggregate(flow)?))
    }

    /// A flow has come or gone; whether others are left in its aggregate.
    fn moved(&mut self, slice: usize, aggregate: Aggregate, others: bool) {
        if self.params.at_once {
            self.stale.insert((slice, others.then_some(aggregate)));
        }
    }

    /// Weights for all flows, by what they have got since the last slot. In few rounds: with many flows each waits for
    /// memory.
    fn end_slot(&mut self, now: Time, delivered: &dyn Fn(FlowId) -> Bytes, updates: &mut Vec<WeightUpdate>) {
        self.next_slot = now + self.params.slot;
        let decide = |slice: &mut SliceFlows| {
            slice.measure(now, delivered);
            slice.decide(now, &mut self.decision)
        };
        self.scale = self.slices.iter_mut().filter_map(decide).reduce(f64::max);
        let Some(scale) = self.scale else { return };
        for slice in &mut self.slices {
            slice.tell(None, scale, &self.decision.sharing, updates);
            slice.remember();
        }
    }

    /// Weights for the flows that those which came and went concern; for all if one is beyond the scale.
    fn decide_stale(&mut self, now: Time, scale: f64, updates: &mut Vec<WeightUpdate>) {
        let decide = |&(slice, aggregate): &(usize, Option<Aggregate>)| match aggregate {
            Some(aggregate) => self.slices[slice].decide_within(aggregate, now, &mut self.decision),
            None => self.slices[slice].decide(now, &mut self.decision),
        };
        let largest = self.stale.iter().filter_map(decide).fold(scale, f64::max);
        let sharing = &self.decision.sharing;
        if largest > scale {
            self.scale = Some(largest);
            self.slices.iter_mut().for_each(|slice| slice.tell(None, largest, sharing, updates));
        } else {
            for &(slice, aggregate) in &self.stale {
                self.slices[slice].tell(aggregate, scale, sharing, updates);
            }
        }
    }
}

impl<S: Sharing> Controller for SliceController<S> {
    fn delay(&self) -> Time {
        self.params.delay
    }

    fn on_flow_start(&mut self, now: Time, flow: &FlowInfo) {
        if let Some((slice, aggregate)) = self.place(flow) {
            self.places.insert(flow.id, (slice, aggregate));
            let others = self.slices[slice].join(now, flow, aggregate, &self.decision);
            self.moved(slice, aggregate, others);
        }
    }

    fn on_flow_end(&mut self, _: Time, flow: FlowId) {
        if let Some((slice, aggregate)) = self.places.remove(&flow) {
            let others = self.slices[slice].leave(flow, aggregate);
            self.moved(slice, aggregate, others);
        }
    }

    fn next_wake(&self) -> Time {
        if !self.stale.is_empty() {
            Time::ZERO
        } else if self.places.is_empty() {
            Time::MAX
        } else {
            self.next_slot
        }
    }

    fn on_wake(&mut self, now: Time, delivered: &dyn Fn(FlowId) -> Bytes, updates: &mut Vec<WeightUpdate>) {
        // The first flow starts the first slot: before it there is no scale.
        match self.scale.filter(|_| now < self.next_slot) {
            Some(scale) => self.decide_stale(now, scale, updates),
            None => self.end_slot(now, delivered, updates),
        }
        self.stale.clear();
    }
}
