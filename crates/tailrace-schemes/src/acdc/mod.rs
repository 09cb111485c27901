//! AC/DC: the same shim, which tells flows apart by how deep they cut.

#[cfg(test)]
mod tests;

use tailrace_core::transport::TransportParams;
use tailrace_core::{Facts, FlowInfo, Knowledge, ParamError, PortFacts, Rate, Scheme, SwitchPlan};
use tailrace_queues::MultiQueue;

use crate::wvcc::{Bias, Enforced, Guest, GuestScheme, Params, SliceWeights};

/// The scheme.
pub struct Acdc {
    transport: TransportParams,
    params: Params,
    guest: GuestScheme,
    priorities: SliceWeights,
}

/// W ← W·(1 − α·(1 − β/2)) (Uranus, Eq. 6), where DCTCP has α/2: a weight is the priority β.
fn by_cut(priority: f64) -> Bias {
    Bias { growth: 1.0, cut: 2.0 - priority }
}

impl Scheme for Acdc {
    const NAME: &'static str = "acdc";
    const SUMMARY: &'static str = "a shim at hosts that enforces DCTCP and cuts less by priority";
    const SOURCE: &'static str = "He et al., SIGCOMM 2016; Uranus, §4.1";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    type Params = Params;
    type Header = ();
    type Law = Enforced<Guest>;
    type Host = SliceWeights;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.shim.check().map_err(|e| e.within("shim"))?;
        params.port.check_untagged().map_err(|e| e.within("port"))?;
        if let Some(at) = facts.slices.iter().position(|slice| slice.weight > 1.0) {
            let message = format!(
                "cannot be used: slice[{at}].weight is {}, but is a priority here, above 0 and at most 1",
                facts.slices[at].weight
            );
            return Err(ParamError::new("", message));
        }
        let guest = GuestScheme::new(params.guest, facts)?;
        Ok(Acdc { transport: facts.transport, params, guest, priorities: SliceWeights::plain(&facts.slices) })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, flow: &FlowInfo) -> Self::Law {
        Enforced::new(self.guest.law(flow), &self.params.shim, by_cut, flow, &self.transport)
    }
    fn host(&self) -> SliceWeights {
        self.priorities.clone()
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.params.port.untagged_plan(link))
    }
}
