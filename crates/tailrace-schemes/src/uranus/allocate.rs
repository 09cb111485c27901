//! Who gets how much: slices to racks, racks to rack pairs (PS-N), rack pairs to flows (Uranus §3, Eq. 2 to 5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flow between racks that asks for a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Its slice, counted from 0.
    pub slice: u32,
    /// The rack that sends.
    pub from: u16,
    /// The rack that receives; another one.
    pub to: u16,
    /// How much it needs beside the other flows of its slice; above 0.
    pub metric: f64,
    /// What it is multiplied by within its rack-flow: the flow's old weight, or 1.
    pub memory: f64,
}

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

/// Shares out weights. It keeps its memory from slot to slot.
#[derive(Clone, Debug, Default)]
pub struct Allocator {
    order: Vec<u32>,
    /// Of one slice: each rack's sum of metrics, its part of the slice, and the racks that it talks to.
    racks: Vec<Rack>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    metric: f64,
    peers: u32,
}

/// Orders flows by slice, pair of racks and direction.
fn place(flow: &Demand) -> (u32, u16, u16, u16) {
    (flow.slice, flow.from.min(flow.to), flow.from.max(flow.to), flow.from)
}

impl Allocator {
    /// Fills `weights` with the weight of each of `flows`. `slices` are the slices' weights. In each slice that has
    /// flows, the parts of its pairs of racks add up to its weight (Eq. 3); each direction of a pair in which it
    /// has flows shares out that part (under [`Norm::Rackflow`]).
    pub fn allocate(&mut self, slices: &[f64], flows: &[Demand], norm: Norm, weights: &mut Vec<f64>) {
        weights.clear();
        weights.resize(flows.len(), 0.0);
        let racks =
            flows.iter().map(|flow| flow.from.max(flow.to)).max().map_or(0, |most| usize::from(most) + 1);
        self.racks.resize(racks.max(self.racks.len()), Rack::default());
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..flows.len() as u32);
        order.sort_unstable_by_key(|&flow| (place(&flows[flow as usize]), flow));
        for of_slice in order.chunk_by(|&a, &b| flows[a as usize].slice == flows[b as usize].slice) {
            let slice = flows[of_slice[0] as usize].slice;
            self.share_slice(slices[slice as usize], flows, of_slice, norm, weights);
        }
        self.order = order;
    }

    /// Shares out a slice's weight to its flows, which are given in order.
    fn share_slice(&mut self, weight: f64, flows: &[Demand], own: &[u32], norm: Norm, weights: &mut [f64]) {
        let flow = |&number: &u32| &flows[number as usize];
        let mut sum = 0.0;
        for flow in own.iter().map(flow) {
            // Each flow counts at both its racks (Eq. 4, 5).
            self.racks[usize::from(flow.from)].metric += flow.metric;
            self.racks[usize::from(flow.to)].metric += flow.metric;
            sum += 2.0 * flow.metric;
        }
        let same_pair =
            |a: &u32, b: &u32| (place(flow(a)).1, place(flow(a)).2) == (place(flow(b)).1, place(flow(b)).2);
        for pair in own.chunk_by(same_pair) {
            let Demand { from, to, .. } = *flow(&pair[0]);
            self.racks[usize::from(from)].peers += 1;
            self.racks[usize::from(to)].peers += 1;
        }
        let part = |rack: &Rack| weight * rack.metric / sum;
        match norm {
            Norm::Rackflow => {
                for pair in own.chunk_by(same_pair) {
                    let Demand { from, to, .. } = *flow(&pair[0]);
                    // PS-N: a rack's part is the same for all racks that it talks to (Eq. 2).
                    let of = |rack: u16| {
                        part(&self.racks[usize::from(rack)]) / f64::from(self.racks[usize::from(rack)].peers)
                    };
                    let pair_weight = of(from) + of(to);
                    for direction in pair.chunk_by(|a, b| flow(a).from == flow(b).from) {
                        share(pair_weight, flows, direction, weights);
                    }
                }
            }
            Norm::Rack => {
                let mut by_source: Vec<u32> = own.to_vec();
                by_source.sort_unstable_by_key(|number| (flow(number).from, *number));
                for source in by_source.chunk_by(|a, b| flow(a).from == flow(b).from) {
                    share(part(&self.racks[usize::from(flow(&source[0]).from)]), flows, source, weights);
                }
            }
        }
        for flow in own.iter().map(flow) {
            self.racks[usize::from(flow.from)] = Rack::default();
            self.racks[usize::from(flow.to)] = Rack::default();
        }
    }
}

/// No flow is given less than this of the mean of its rack-flow: an old weight is a factor in every slot, and would
/// become nothing for good.
const LEAST: f64 = 1.0 / 64.0;

/// Shares out `weight` in proportion to metric and memory (Algorithms 1 and 2).
fn share(weight: f64, flows: &[Demand], members: &[u32], weights: &mut [f64]) {
    let claim = |&number: &u32| flows[number as usize].metric * flows[number as usize].memory;
    let sum: f64 = members.iter().map(claim).sum();
    let least = sum / members.len() as f64 * LEAST;
    let scale = members.iter().map(|number| claim(number).max(least)).sum::<f64>() / weight;
    for number in members {
        weights[*number as usize] = claim(number).max(least) / scale;
    }
}
