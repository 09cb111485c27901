//! A slice's flows in progress: what they need, and what they are given.

use std::ops::Range;

use tailrace_core::{Bytes, Facts, FlowId, FlowInfo, Objective, Slice, Time, Weight, WeightUpdate};

use super::sharing::{Aggregate, Demand, Given, Sharing, aggregates};

/// A slice with its flows in progress.
pub struct SliceFlows {
    slice: Slice,
    /// In order, so that no slot has to sort them, and side by side: with very many of them slots wait for memory.
    flows: Vec<(Key, Tracked)>,
    /// How many aggregates they were when last decided on.
    aggregates: usize,
}

/// Where a flow is.
type Key = (Aggregate, FlowId);

/// A flow in progress.
struct Tracked {
    /// 0 if it is not known.
    size: Bytes,
    /// [`Time::MAX`] if there is none.
    deadline: Time,
    /// Bytes a second over the last slot; before that of a host's link: a flow without a past is taken to get all.
    rate: f64,
    delivered: Bytes,
    /// When `delivered` was looked at.
    seen: Time,
    /// Its weight as of the last slot: what Algorithm 1 multiplies.
    old: f64,
    /// Nothing before the first decision.
    given: Given,
    /// The weight that was sent out.
    sent: Option<Weight>,
}

/// What decisions need beside flows, with the memory that they work in.
pub struct Decision<S> {
    pub sharing: S,
    /// Bytes a second of a host's link.
    host_rate: f64,
    /// Bytes a second of a segment a round trip: what a flow gets at least.
    least_rate: f64,
    mss: f64,
    demands: Vec<Demand>,
    parts: Vec<f64>,
    weights: Vec<f64>,
}

impl<S: Sharing> Decision<S> {
    pub fn new(sharing: S, facts: &Facts) -> Self {
        let mss = f64::from(facts.transport.mss);
        Decision {
            sharing,
            host_rate: facts.host_rate.bytes_per_sec(),
            least_rate: mss / facts.base_rtt.as_secs_f64(),
            mss,
            demands: Vec::new(),
            parts: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// What a flow needs: T_c/D with a deadline (Eq. 4), 1/S otherwise (Eq. 5).
    fn metric(&self, now: Time, objective: Objective, flow: &Tracked) -> f64 {
        let left = flow.size.saturating_sub(flow.delivered).as_f64().max(self.mss);
        if objective == Objective::Completion {
            return 1.0 / left;
        }
        let most = self.sharing.most_urgent();
        let least = 1.0 / most;
        if flow.deadline == Time::MAX {
            return 1.0;
        }
        let time = flow.deadline.saturating_sub(now).as_secs_f64();
        if self.sharing.gives_up() && left > self.host_rate * time {
            return least;
        }
        if time > 0.0 { (left / flow.rate.max(self.least_rate) / time).clamp(least, most) } else { most }
    }

    /// Notes what flows of a slice ask for.
    fn ask(&mut self, now: Time, objective: Objective, flows: &[(Key, Tracked)]) {
        let mut demands = std::mem::take(&mut self.demands);
        let remembers = self.sharing.remembers(objective);
        demands.clear();
        demands.extend(flows.iter().map(|((aggregate, _), flow)| Demand {
            aggregate: *aggregate,
            metric: self.metric(now, objective, flow),
            memory: if remembers { flow.old } else { 1.0 },
        }));
        self.demands = demands;
    }
}

impl SliceFlows {
    pub fn new(slice: Slice) -> Self {
        SliceFlows { slice, flows: Vec::new(), aggregates: 0 }
    }

    /// Where each flow counts, and its weight.
    #[cfg(test)]
    pub fn given(&self) -> impl Iterator<Item = (Aggregate, FlowId, f64)> {
        self.flows.iter().map(|((aggregate, id), flow)| (*aggregate, *id, flow.given.weight))
    }

    /// Where the flows of an aggregate are.
    fn within(&self, aggregate: Aggregate) -> Range<usize> {
        let start = self.flows.partition_point(|((other, _), _)| *other < aggregate);
        let len = self.flows[start..].partition_point(|((other, _), _)| *other == aggregate);
        start..start + len
    }

    /// A flow has started. What is old of it is the mean of its aggregate. Returns whether that has other flows.
    pub fn join<S>(&mut self, now: Time, flow: &FlowInfo, aggregate: Aggregate, of: &Decision<S>) -> bool {
        let others = &self.flows[self.within(aggregate)];
        let mean = others.iter().map(|(_, flow)| flow.old).sum::<f64>() / others.len() as f64;
        let (old, part) = others.first().map_or((1.0, 0.0), |(_, first)| (mean, first.given.part));
        let alone = others.is_empty();
        let tracked = Tracked {
            size: flow.size.unwrap_or(Bytes::ZERO),
            deadline: flow.deadline.unwrap_or(Time::MAX),
            rate: of.host_rate,
            delivered: Bytes::ZERO,
            seen: now,
            old,
            given: Given { weight: 0.0, part },
            sent: None,
        };
        let key = (aggregate, flow.id);
        let at = self.flows.partition_point(|(other, _)| *other < key);
        self.flows.insert(at, (key, tracked));
        !alone
    }

    /// A flow has ended. Returns whether its aggregate has other flows.
    pub fn leave(&mut self, flow: FlowId, aggregate: Aggregate) -> bool {
        if let Ok(at) = self.flows.binary_search_by_key(&(aggregate, flow), |(key, _)| *key) {
            self.flows.remove(at);
        }
        !self.within(aggregate).is_empty()
    }

    /// Measures what flows have got since the last slot.
    pub fn measure(&mut self, now: Time, delivered: &dyn Fn(FlowId) -> Bytes) {
        for ((_, id), flow) in &mut self.flows {
            let total = delivered(*id);
            let time = now.saturating_sub(flow.seen).as_secs_f64();
            if time > 0.0 {
                flow.rate = (total.as_f64() - flow.delivered.as_f64()) / time;
            }
            (flow.delivered, flow.seen) = (total, now);
        }
    }

    /// Both tiers. Returns what weights are to be measured by if it is for this slice to say, or `None` without flows.
    pub fn decide<S: Sharing>(&mut self, now: Time, by: &mut Decision<S>) -> Option<f64> {
        if self.flows.is_empty() {
            return None;
        }
        by.ask(now, self.slice.objective, &self.flows);
        by.sharing.divide(self.slice.weight, &by.demands, &mut by.parts);
        let mut flows = self.flows.iter_mut();
        let mut most = 0.0;
        for (members, &part) in aggregates(&by.demands).zip(&by.parts) {
            by.sharing.share(part, members, &mut by.weights);
            for (&weight, (_, flow)) in by.weights.iter().zip(&mut flows) {
                flow.given = Given { weight, part };
                most = weight.max(most);
            }
        }
        self.aggregates = by.parts.len();
        Some(by.sharing.scale(self.slice.weight, self.aggregates, most))
    }

    /// The second tier in one aggregate: its flows share out anew what it has. Returns what [`Self::decide`] does.
    pub fn decide_within<S: Sharing>(
        &mut self,
        aggregate: Aggregate,
        now: Time,
        by: &mut Decision<S>,
    ) -> Option<f64> {
        let within = self.within(aggregate);
        let flows = &mut self.flows[within];
        let part = flows.first()?.1.given.part;
        by.ask(now, self.slice.objective, flows);
        by.sharing.share(part, &by.demands, &mut by.weights);
        let mut most = 0.0;
        for ((_, flow), &weight) in flows.iter_mut().zip(&by.weights) {
            flow.given.weight = weight;
            most = weight.max(most);
        }
        Some(by.sharing.scale(self.slice.weight, self.aggregates, most))
    }

    /// The weights that flows have are the old ones of the next slot.
    pub fn remember(&mut self) {
        self.flows.iter_mut().for_each(|(_, flow)| flow.old = flow.given.weight);
    }

    /// Writes updates for flows of which hosts know another weight, of one aggregate or of all.
    pub fn tell(
        &mut self,
        aggregate: Option<Aggregate>,
        scale: f64,
        sharing: &impl Sharing,
        updates: &mut Vec<WeightUpdate>,
    ) {
        let range = aggregate.map_or(0..self.flows.len(), |aggregate| self.within(aggregate));
        for ((_, id), flow) in &mut self.flows[range] {
            let weight = Weight::nearest(sharing.fit(flow.given, scale));
            if flow.sent != Some(weight) {
                flow.sent = Some(weight);
                updates.push(WeightUpdate { flow: *id, weight });
            }
        }
    }
}
