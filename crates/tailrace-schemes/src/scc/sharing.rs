//! SCC's sharing: a slice's weight goes to its flows by what they need, wherever they are; a tunnel has what its
//! flows have together (Uranus §2.4).

use tailrace_core::{FlowInfo, Objective};

use crate::uranus::{Aggregate, Demand, Given, Sharing, aggregates};

/// Least and largest weight of a tunnel once it is scaled, in segments that its window grows by a round trip.
const RANGE: [f64; 2] = [1.0 / 64.0, 16.0];

/// Slices share out their weights to tunnels.
#[derive(Debug)]
pub struct ByTunnel;

fn need(flows: &[Demand]) -> f64 {
    flows.iter().map(|flow| flow.metric).sum()
}

impl Sharing for ByTunnel {
    /// All flows count, those within a rack too: SCC knows of no racks.
    fn aggregate(&self, flow: &FlowInfo) -> Option<Aggregate> {
        Some(Aggregate::new(flow.src, flow.dst))
    }

    /// Weights are what flows need now.
    fn remembers(&self, _: Objective) -> bool {
        false
    }

    /// w_T = W_S·Σm over its flows, over Σm over those of the slice.
    fn divide(&mut self, weight: f64, flows: &[Demand], parts: &mut Vec<f64>) {
        let all = need(flows);
        parts.clear();
        parts.extend(aggregates(flows).map(|members| weight * need(members) / all));
    }

    fn share(&self, part: f64, flows: &[Demand], weights: &mut Vec<f64>) {
        let all = need(flows);
        weights.clear();
        weights.extend(flows.iter().map(|flow| part * flow.metric / all));
    }

    /// What a slice has for a tunnel on average.
    fn scale(&self, weight: f64, tunnels: usize, _: f64) -> f64 {
        weight / tunnels as f64
    }

    /// Tunnels have a range, in which their flows keep their proportions.
    fn fit(&self, Given { weight, part }: Given, scale: f64) -> f64 {
        let [least, most] = RANGE;
        weight * ((part / scale).clamp(least, most) / part)
    }
}
