//! Uranus' sharing: PS-N between racks or hosts, for the shims of WVCC.

use tailrace_core::{Facts, FlowInfo, HostId, Objective};

use super::allocate::{Allocator, share};
use super::sharing::{Aggregate, Demand, End, Given, Sharing};
use super::{Ends, ShareParams};

/// Slices share the links between racks, or those of hosts.
pub struct PsN {
    params: ShareParams,
    /// Of each host.
    ends: Vec<End>,
    allocator: Allocator,
}

impl PsN {
    /// Among the racks, or the hosts, that `facts` tell of.
    pub fn new(params: ShareParams, facts: &Facts) -> Self {
        let ends = match params.ends {
            Ends::Racks => facts.racks.iter().map(|&rack| End::from(rack)).collect(),
            Ends::Hosts => (0..facts.racks.len() as End).collect(),
        };
        PsN { params, ends, allocator: Allocator::default() }
    }
}

impl Sharing for PsN {
    /// Flows within an end are not its concern.
    fn aggregate(&self, flow: &FlowInfo) -> Option<Aggregate> {
        let end = |host: HostId| self.ends.get(host as usize).copied().unwrap_or_default();
        let (from, to) = (end(flow.src), end(flow.dst));
        (from != to).then(|| Aggregate::new(from, to))
    }

    fn remembers(&self, objective: Objective) -> bool {
        match objective {
            Objective::Deadline => self.params.deadline_memory,
            Objective::Completion => self.params.completion_memory,
        }
    }

    fn gives_up(&self) -> bool {
        self.params.give_up
    }

    fn most_urgent(&self) -> f64 {
        f64::from(self.params.most_urgent)
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
