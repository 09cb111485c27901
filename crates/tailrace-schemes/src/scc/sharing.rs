//! SCC's sharing: a slice's weight goes to its flows by what they need, wherever they are; a tunnel has what its
//! flows have together (Uranus §2.4).

use tailrace_core::{FlowInfo, Objective};

use crate::uranus::{Demand, Sharing};

/// Least and largest weight of a tunnel once it is scaled, in segments that its window grows by a round trip.
const RANGE: [f64; 2] = [1.0 / 64.0, 16.0];

/// Slices share out their weights to tunnels. It keeps its memory from slot to slot.
#[derive(Debug, Default)]
pub struct ByTunnel {
    order: Vec<u32>,
    /// Of each slice: what its flows need together, later how many tunnels it has.
    sums: Vec<f64>,
}

/// The tunnel of a flow: its slice and two hosts.
fn tunnel(flow: &Demand) -> (u32, u16, u16) {
    (flow.slice, flow.from, flow.to)
}

impl Sharing for ByTunnel {
    /// All flows count, those within a rack too: SCC knows of no racks.
    fn ends(&self, flow: &FlowInfo) -> Option<[u16; 2]> {
        Some([flow.src, flow.dst])
    }

    /// Weights are what flows need now.
    fn remembers(&self, _: Objective) -> bool {
        false
    }

    /// w_f = W_S·m_f/Σm over all flows of the slice.
    fn share(&mut self, slices: &[f64], flows: &[Demand], weights: &mut Vec<f64>) {
        self.sums.clear();
        self.sums.resize(slices.len(), 0.0);
        flows.iter().for_each(|flow| self.sums[flow.slice as usize] += flow.metric);
        weights.clear();
        weights.extend(flows.iter().map(|flow| {
            let slice = flow.slice as usize;
            slices[slice] * flow.metric / self.sums[slice]
        }));
    }

    /// One scale for all tunnels, so that their proportions stay: the largest weight that a slice has for a tunnel
    /// on average.
    fn fit(&mut self, slices: &[f64], flows: &[Demand], weights: &mut [f64]) {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..flows.len() as u32);
        order.sort_unstable_by_key(|&flow| (tunnel(&flows[flow as usize]), flow));
        let same = |a: &u32, b: &u32| tunnel(&flows[*a as usize]) == tunnel(&flows[*b as usize]);
        self.sums.fill(0.0);
        order.chunk_by(same).for_each(|members| self.sums[flows[members[0] as usize].slice as usize] += 1.0);
        let mean = |(weight, tunnels): (&f64, &f64)| if *tunnels > 0.0 { weight / tunnels } else { 0.0 };
        let scale = slices.iter().zip(&self.sums).map(mean).fold(f64::MIN_POSITIVE, f64::max);
        let [least, most] = RANGE;
        for members in order.chunk_by(same) {
            let weight: f64 = members.iter().map(|&flow| weights[flow as usize]).sum();
            let factor = (weight / scale).clamp(least, most) / weight;
            members.iter().for_each(|&flow| weights[flow as usize] *= factor);
        }
        self.order = order;
    }
}
