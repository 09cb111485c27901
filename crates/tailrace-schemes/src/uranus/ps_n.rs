//! Uranus' sharing: by racks (PS-N), for the shims of WVCC.

use tailrace_core::{Facts, FlowInfo, HostId, Objective};

use super::ShareParams;
use super::allocate::{Allocator, Demand};
use super::controller::Sharing;

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

    /// One scale for all weights, so that their proportions stay: the largest is 1.
    fn fit(&mut self, _: &[f64], _: &[Demand], weights: &mut [f64]) {
        let most = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        weights.iter_mut().for_each(|weight| *weight /= most);
    }
}
