//! Uranus' sharing: by racks (PS-N), for the shims of WVCC.

use tailrace_core::{Facts, FlowInfo, HostId, Objective};

use super::ShareParams;
use super::allocate::{Allocator, share};
use super::sharing::{Aggregate, Demand, Given, Sharing};

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
    fn aggregate(&self, flow: &FlowInfo) -> Option<Aggregate> {
        let rack = |host: HostId| self.racks.get(usize::from(host)).copied().unwrap_or_default();
        let (from, to) = (rack(flow.src), rack(flow.dst));
        (from != to).then(|| Aggregate::new(from, to))
    }

    fn remembers(&self, objective: Objective) -> bool {
        match objective {
            Objective::Deadline => self.params.deadline_memory,
            Objective::Completion => self.params.completion_memory,
        }
    }

    fn divide(&mut self, weight: f64, flows: &[Demand], parts: &mut Vec<f64>) {
        self.allocator.divide(weight, flows, self.params.norm, parts);
    }

    fn share(&self, part: f64, flows: &[Demand], weights: &mut Vec<f64>) {
        share(part, flows, weights);
    }

    /// The largest weight is 1, and the proportions of all stay.
    fn scale(&self, _: f64, _: usize, most: f64) -> f64 {
        most
    }

    fn fit(&self, given: Given, scale: f64) -> f64 {
        given.weight / scale
    }
}
