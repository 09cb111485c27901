//! Uranus' controller: every slot, and whenever a flow comes or goes, it gives flows the weights that make slices
//! share in proportion (§3).

use std::collections::BTreeMap;

use tailrace_core::{
    Bytes, Controller, Facts, FlowId, FlowInfo, HostId, Objective, Slice, Time, Weight, WeightUpdate,
};

use super::ControlParams;
use super::allocate::{Allocator, Demand};

/// Least and largest urgency of a flow with a deadline: it may be off by a slot's measurement.
const URGENCY: [f64; 2] = [1.0 / 16.0, 16.0];
/// No flow is given less: below, a window of whole segments says nothing.
const LEAST: f64 = 1.0 / 64.0;

/// The controller.
pub struct UranusController {
    params: ControlParams,
    slices: Vec<Slice>,
    weights: Vec<f64>,
    racks: Vec<u16>,
    /// Bytes a second of a host's link: what a flow without a past is taken to get.
    host_rate: f64,
    /// Bytes a second of a segment a round trip: what a flow gets at least.
    least_rate: f64,
    mss: f64,
    /// Flows between racks, in progress.
    flows: BTreeMap<FlowId, Tracked>,
    next_slot: Time,
    /// Whether flows have come or gone since weights were last given.
    stale: bool,
    allocator: Allocator,
    demands: Vec<Demand>,
    given: Vec<f64>,
}

/// A flow in progress.
struct Tracked {
    slice: u32,
    from: u16,
    to: u16,
    size: Option<Bytes>,
    deadline: Option<Time>,
    /// Bytes a second over the last slot, once there was one.
    rate: Option<f64>,
    delivered: Bytes,
    /// When `delivered` was looked at.
    seen: Time,
    /// Its weight as of the last slot, before scaling: what Algorithm 1 multiplies.
    old: Option<f64>,
    /// The weight that was sent out.
    sent: Option<Weight>,
}

impl UranusController {
    /// A controller that knows of no flow.
    pub fn new(params: ControlParams, facts: &Facts) -> Self {
        let mss = f64::from(facts.transport.mss);
        UranusController {
            params,
            slices: facts.slices.clone(),
            weights: facts.slices.iter().map(|slice| slice.weight).collect(),
            racks: facts.racks.clone(),
            host_rate: facts.host_rate.bytes_per_sec(),
            least_rate: mss / facts.base_rtt.as_secs_f64(),
            mss,
            flows: BTreeMap::new(),
            next_slot: params.slot,
            stale: false,
            allocator: Allocator::default(),
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

    /// What all flows ask for. A new flow's old weight is the mean of its rack-flow's.
    fn demand(&mut self, now: Time) {
        let mut old: BTreeMap<(u32, u16, u16), (f64, f64)> = BTreeMap::new();
        for flow in self.flows.values() {
            if let Some(weight) = flow.old {
                let (sum, count) = old.entry((flow.slice, flow.from, flow.to)).or_default();
                (*sum, *count) = (*sum + weight, *count + 1.0);
            }
        }
        let demand = |flow: &Tracked| {
            let remembers = match self.slices[flow.slice as usize].objective {
                Objective::Deadline => self.params.deadline_memory,
                Objective::Completion => self.params.completion_memory,
            };
            let mean = || old.get(&(flow.slice, flow.from, flow.to)).map_or(1.0, |(sum, count)| sum / count);
            let memory = if remembers { flow.old.unwrap_or_else(mean) } else { 1.0 };
            Demand { slice: flow.slice, from: flow.from, to: flow.to, metric: self.metric(now, flow), memory }
        };
        self.demands = self.flows.values().map(demand).collect();
    }

    /// One scale for all weights, so that their proportions stay and none is above 1: the largest weight that a
    /// slice has for a rack on average.
    fn scale(&self) -> f64 {
        let mut pairs: Vec<(u32, u16)> =
            self.demands.iter().flat_map(|flow| [(flow.slice, flow.from), (flow.slice, flow.to)]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let of_slice = |racks: &[(u32, u16)]| self.weights[racks[0].0 as usize] / racks.len() as f64;
        pairs.chunk_by(|a, b| a.0 == b.0).map(of_slice).fold(f64::MIN_POSITIVE, f64::max)
    }
}

impl Controller for UranusController {
    fn delay(&self) -> Time {
        self.params.delay
    }

    fn on_flow_start(&mut self, now: Time, flow: &FlowInfo, src: HostId, dst: HostId) {
        let rack = |host: HostId| self.racks.get(usize::from(host)).copied().unwrap_or_default();
        let (from, to) = (rack(src), rack(dst));
        let place = flow.slice.checked_sub(1).filter(|place| usize::from(*place) < self.slices.len());
        // Within a rack, or of no slice that it knows: not its concern.
        let Some(slice) = place.filter(|_| from != to) else { return };
        let tracked = Tracked {
            slice: slice.into(),
            from,
            to,
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
        let mut given = std::mem::take(&mut self.given);
        self.allocator.allocate(&self.weights, &self.demands, self.params.norm, &mut given);
        let scale = self.scale();
        for ((id, flow), &weight) in self.flows.iter_mut().zip(&given) {
            if slot_ends || flow.old.is_none() {
                flow.old = Some(weight);
            }
            let weight = Weight::nearest((weight / scale).clamp(LEAST, 1.0));
            if flow.sent != Some(weight) {
                flow.sent = Some(weight);
                updates.push(WeightUpdate { flow: *id, weight });
            }
        }
        self.given = given;
    }
}
