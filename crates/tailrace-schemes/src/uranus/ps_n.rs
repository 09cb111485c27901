//! Uranus' sharing: by racks (PS-N), for the shims of WVCC.

use tailrace_core::{Facts, FlowInfo, HostId, Objective};

use super::ShareParams;
use super::allocate::{Allocator, Demand};
use super::controller::Sharing;

/// No flow is given less: below, a window of whole segments says nothing.
const LEAST: f64 = 1.0 / 64.0;

/// Slices share the links between racks.
pub struct PsN {
    params: ShareParams,
    racks: Vec<u16>,
    allocator: Allocator,
}

impl PsN {
    /// Among the racks that `facts` tell of.
    pub fn new(params: ShareParams, facts: &Facts) -> Self {
        PsN { params, racks: facts.racks.clone(), allocator: Allocator::default() }
    }
}

/// The largest weight that a slice has for a rack on average.
fn scale(slices: &[f64], flows: &[Demand]) -> f64 {
    let mut pairs: Vec<(u32, u16)> =
        flows.iter().flat_map(|flow| [(flow.slice, flow.from), (flow.slice, flow.to)]).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let of_slice = |racks: &[(u32, u16)]| slices[racks[0].0 as usize] / racks.len() as f64;
    pairs.chunk_by(|a, b| a.0 == b.0).map(of_slice).fold(f64::MIN_POSITIVE, f64::max)
}

impl Sharing for PsN {
    /// Flows within a rack are not its concern.
    fn ends(&self, flow: &FlowInfo) -> Option<[u16; 2]> {
        let rack = |host: HostId| self.racks.get(usize::from(host)).copied().unwrap_or_default();
        let (from, to) = (rack(flow.src), rack(flow.dst));
        (from != to).then_some([from, to])
    }

    fn remembers(&self, objective: Objective) -> bool {
        match objective {
            Objective::Deadline => self.params.deadline_memory,
            Objective::Completion => self.params.completion_memory,
        }
    }

    fn share(&mut self, slices: &[f64], flows: &[Demand], weights: &mut Vec<f64>) {
        self.allocator.allocate(slices, flows, self.params.norm, weights);
    }

    /// One scale for all weights, so that their proportions stay, and none above 1.
    fn fit(&mut self, slices: &[f64], flows: &[Demand], weights: &mut [f64]) {
        let scale = scale(slices, flows);
        for weight in weights {
            *weight = (*weight / scale).clamp(LEAST, 1.0);
        }
    }
}
