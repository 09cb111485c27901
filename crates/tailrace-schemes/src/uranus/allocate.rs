//! Who gets how much: slices to racks, racks to rack pairs (PS-N), rack pairs to flows (Uranus §3, Eq. 2 to 5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sharing::{Demand, End, aggregates};

/// Among which flows the weights of a slice's second tier are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// Those from one rack to another: a pair of racks has its part of the slice, in each direction.
    #[default]
    Rackflow,
    /// Those that one rack sends: it has its part of the slice.
    Rack,
}

/// Divides the weights of slices among rack-flows. It keeps its memory from slice to slice.
#[derive(Clone, Debug, Default)]
pub struct Allocator {
    /// Zero between two slices.
    racks: Vec<Rack>,
}

/// What a slice's flows at a rack are together.
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    /// Of all its flows, each of which counts at both its racks (Eq. 4, 5).
    metric: f64,
    /// Racks that it talks to.
    peers: u32,
    /// Of the flows that it sends.
    claim: f64,
}

impl Allocator {
    /// Fills `parts` with what each rack-flow of `flows` has of their slice's `weight`. Under [`Norm::Rackflow`] the
    /// parts of its pairs of racks add up to that (Eq. 3), and each direction of a pair that has flows has all of
    /// the pair's.
    pub fn divide(&mut self, weight: f64, flows: &[Demand], norm: Norm, parts: &mut Vec<f64>) {
        let sum = self.add_up(flows);
        let part = |rack: &Rack| weight * rack.metric / sum;
        let racks = &self.racks;
        let of = |number: End| &racks[number as usize];
        parts.clear();
        parts.extend(aggregates(flows).map(|members| match norm {
            // PS-N: a rack's part is the same for all racks that it talks to (Eq. 2).
            Norm::Rackflow => {
                let [a, b] = members[0].aggregate.pair().map(of);
                part(a) / f64::from(a.peers) + part(b) / f64::from(b.peers)
            }
            Norm::Rack => {
                let source = of(members[0].aggregate.from());
                part(source) * (members.iter().map(Demand::claim).sum::<f64>() / source.claim)
            }
        }));
        self.clear(flows);
    }

    /// Adds up what flows are at their racks; returns the metric of all racks.
    fn add_up(&mut self, flows: &[Demand]) -> f64 {
        let most = flows.iter().flat_map(|flow| flow.aggregate.pair()).max().unwrap_or(0);
        self.racks.resize(self.racks.len().max(most as usize + 1), Rack::default());
        let mut sum = 0.0;
        for flow in flows {
            for rack in flow.aggregate.pair() {
                self.racks[rack as usize].metric += flow.metric;
            }
            self.racks[flow.aggregate.from() as usize].claim += flow.claim();
            sum += 2.0 * flow.metric;
        }
        for pair in flows.chunk_by(|a, b| a.aggregate.pair() == b.aggregate.pair()) {
            for rack in pair[0].aggregate.pair() {
                self.racks[rack as usize].peers += 1;
            }
        }
        sum
    }

    fn clear(&mut self, flows: &[Demand]) {
        for rack in flows.iter().flat_map(|flow| flow.aggregate.pair()) {
            self.racks[rack as usize] = Rack::default();
        }
    }
}

/// No flow is given less than this of the mean of its rack-flow: an old weight is a factor in every slot, and would
/// become nothing for good.
const MIN: f64 = 1.0 / 64.0;

/// Fills `weights` with what each flow of a rack-flow has of its `part`, in proportion to metric and memory
/// (Algorithms 1 and 2).
pub fn share(part: f64, flows: &[Demand], weights: &mut Vec<f64>) {
    let sum: f64 = flows.iter().map(Demand::claim).sum();
    let least = sum / flows.len() as f64 * MIN;
    weights.clear();
    weights.extend(flows.iter().map(|flow| flow.claim().max(least)));
    let scale = weights.iter().sum::<f64>() / part;
    weights.iter_mut().for_each(|weight| *weight /= scale);
}
