//! A controller of slices: it follows their flows, and every slot, and whenever a flow comes or goes, it finds what
//! each flow needs and hands out weights (§3). Who gets how much of a slice's weight is its [`Sharing`]'s.

use std::collections::BTreeMap;

use tailrace_core::{
    Bytes, Controller, Facts, FlowId, FlowInfo, Objective, Slice, Time, Weight, WeightUpdate,
};

use super::ControlParams;
use super::allocate::Demand;

/// Least and largest urgency of a flow with a deadline: it may be off by a slot's measurement.
const URGENCY: [f64; 2] = [1.0 / 16.0, 16.0];

/// How the weights of slices are shared out.
pub trait Sharing {
    /// Between which two ends (racks, hosts) a flow counts, the sending one first; `None` if it has no part in
    /// this. They are the ends in its [`Demand`].
    fn ends(&self, flow: &FlowInfo) -> Option<[u16; 2]>;
    /// Whether flows of such slices keep their old weight as a factor ([`Demand::memory`]).
    fn remembers(&self, objective: Objective) -> bool;
    /// Fills `weights` with the weight of each of `flows`; `slices` are those of the slices.
    fn share(&mut self, slices: &[f64], flows: &[Demand], weights: &mut Vec<f64>);
    /// Turns these weights into those that hosts are told, which have a range.
    fn fit(&mut self, slices: &[f64], flows: &[Demand], weights: &mut [f64]);
}

/// The controller.
pub struct SliceController<S> {
    params: ControlParams,
    sharing: S,
    slices: Vec<Slice>,
    weights: Vec<f64>,
    /// Bytes a second of a host's link: what a flow without a past is taken to get.
    host_rate: f64,
    /// Bytes a second of a segment a round trip: what a flow gets at least.
    least_rate: f64,
    mss: f64,
    /// Flows that have a part in the sharing, in progress.
    flows: BTreeMap<FlowId, Tracked>,
    next_slot: Time,
    /// Whether flows have come or gone since weights were last given.
    stale: bool,
    demands: Vec<Demand>,
    given: Vec<f64>,
}

/// A flow in progress.
struct Tracked {
    slice: u32,
    ends: [u16; 2],
    size: Option<Bytes>,
    deadline: Option<Time>,
    /// Bytes a second over the last slot, once there was one.
    rate: Option<f64>,
    delivered: Bytes,
    /// When `delivered` was looked at.
    seen: Time,
    /// Its weight as of the last slot, before fitting: what Algorithm 1 multiplies.
    old: Option<f64>,
    /// The weight that was sent out.
    sent: Option<Weight>,
}

impl<S: Sharing> SliceController<S> {
    /// A controller that knows of no flow.
    pub fn new(params: ControlParams, sharing: S, facts: &Facts) -> Self {
        let mss = f64::from(facts.transport.mss);
        SliceController {
            params,
            sharing,
            slices: facts.slices.clone(),
            weights: facts.slices.iter().map(|slice| slice.weight).collect(),
            host_rate: facts.host_rate.bytes_per_sec(),
            least_rate: mss / facts.base_rtt.as_secs_f64(),
            mss,
            flows: BTreeMap::new(),
            next_slot: params.slot,
            stale: false,
            demands: Vec::new(),
            given: Vec::new(),
        }
    }

    /// Measures what flows have got since the last slot.
    fn measure(&mut self, now: Time, delivered: &dyn Fn(FlowId) -> Bytes) {
        for (id, flow) in &mut self.flows {
            let total = delivered(*id);
            let time = now.saturating_sub(flow.seen).as_secs_f64();
            if time > 0.0 {
                flow.rate = Some((total.as_f64() - flow.delivered.as_f64()) / time);
            }
            (flow.delivered, flow.seen) = (total, now);
        }
    }

    /// What a flow needs: T_c/D with a deadline (Eq. 4), 1/S otherwise (Eq. 5).
    fn metric(&self, now: Time, flow: &Tracked) -> f64 {
        let left =
            flow.size.map_or(self.mss, |size| size.saturating_sub(flow.delivered).as_f64()).max(self.mss);
        if self.slices[flow.slice as usize].objective == Objective::Completion {
            return 1.0 / left;
        }
        let [least, most] = URGENCY;
        let Some(deadline) = flow.deadline else { return 1.0 };
        let time = deadline.saturating_sub(now).as_secs_f64();
        let rate = flow.rate.unwrap_or(self.host_rate).max(self.least_rate);
        if time > 0.0 { (left / rate / time).clamp(least, most) } else { most }
    }

    /// What all flows ask for. A new flow's old weight is the mean of those between the same ends.
    fn demand(&mut self, now: Time) {
        let mut old: BTreeMap<(u32, [u16; 2]), (f64, f64)> = BTreeMap::new();
        for flow in self.flows.values() {
            if let Some(weight) = flow.old {
                let (sum, count) = old.entry((flow.slice, flow.ends)).or_default();
                (*sum, *count) = (*sum + weight, *count + 1.0);
            }
        }
        let demand = |flow: &Tracked| {
            let mean = || old.get(&(flow.slice, flow.ends)).map_or(1.0, |(sum, count)| sum / count);
            let remembers = self.sharing.remembers(self.slices[flow.slice as usize].objective);
            let memory = if remembers { flow.old.unwrap_or_else(mean) } else { 1.0 };
            let [from, to] = flow.ends;
            Demand { slice: flow.slice, from, to, metric: self.metric(now, flow), memory }
        };
        self.demands = self.flows.values().map(demand).collect();
    }
}

impl<S: Sharing> Controller for SliceController<S> {
    fn delay(&self) -> Time {
        self.params.delay
    }

    fn on_flow_start(&mut self, now: Time, flow: &FlowInfo) {
        let place = flow.slice.checked_sub(1).filter(|place| usize::from(*place) < self.slices.len());
        // Of no slice that it knows: not its concern.
        let (Some(slice), Some(ends)) = (place, self.sharing.ends(flow)) else { return };
        let tracked = Tracked {
            slice: slice.into(),
            ends,
            size: flow.size,
            deadline: flow.deadline,
            rate: None,
            delivered: Bytes::ZERO,
            seen: now,
            old: None,
            sent: None,
        };
        self.flows.insert(flow.id, tracked);
        self.stale = true;
    }

    fn on_flow_end(&mut self, _: Time, flow: FlowId) {
        self.stale |= self.flows.remove(&flow).is_some();
    }

    fn next_wake(&self) -> Time {
        if self.stale && self.params.at_once {
            Time::ZERO
        } else if self.flows.is_empty() {
            Time::MAX
        } else {
            self.next_slot
        }
    }

    fn on_wake(&mut self, now: Time, delivered: &dyn Fn(FlowId) -> Bytes, updates: &mut Vec<WeightUpdate>) {
        let slot_ends = now >= self.next_slot;
        if slot_ends {
            self.measure(now, delivered);
            self.next_slot = now + self.params.slot;
        }
        self.stale = false;
        self.demand(now);
        self.sharing.share(&self.weights, &self.demands, &mut self.given);
        for (flow, &weight) in self.flows.values_mut().zip(&self.given) {
            if slot_ends || flow.old.is_none() {
                flow.old = Some(weight);
            }
        }
        self.sharing.fit(&self.weights, &self.demands, &mut self.given);
        for ((id, flow), &weight) in self.flows.iter_mut().zip(&self.given) {
            let weight = Weight::nearest(weight);
            if flow.sent != Some(weight) {
                flow.sent = Some(weight);
                updates.push(WeightUpdate { flow: *id, weight });
            }
        }
    }
}
