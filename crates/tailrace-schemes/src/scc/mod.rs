//! SCC, Stacked Congestion Control: a slice's flows between two hosts share a tunnel with a congestion control of
//! its own, and guests run below it. The baseline of Uranus.

mod law;
mod sharing;
#[cfg(test)]
mod tests;
mod tunnel;

pub use law::{Key, Tunnelled, Tunnels};
pub use sharing::ByTunnel;
pub use tunnel::{Member, Tunnel, TunnelParams};

use std::cell::RefCell;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{
    Controller, Facts, FlowInfo, Knowledge, ParamError, PortFacts, Rate, Scheme, SwitchPlan,
};
use tailrace_queues::{MultiQueue, PortParams};

use crate::uranus::{ControlParams, Guests, SliceController, SliceGuests, check_slices};
use crate::wvcc::{Guest, SliceWeights};

/// Parameters of `scc`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What the hosts of each kind of slice run in tunnels.
    pub guests: Guests,
    /// The tunnels.
    pub tunnel: TunnelParams,
    /// When weights are found.
    pub control: ControlParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            guests: Guests::default(),
            tunnel: TunnelParams::default(),
            control: ControlParams::default(),
            port: PortParams::one_queue(),
        }
    }
}

/// The scheme.
pub struct Scc {
    facts: Facts,
    params: Params,
    guests: SliceGuests,
    tunnels: Rc<Tunnels>,
}

impl Scheme for Scc {
    const NAME: &'static str = "scc";
    const SUMMARY: &'static str = "a slice's flows between two hosts share a tunnel; tunnels share by weight";
    const SOURCE: &'static str = "Tian et al., INFOCOM 2017; Uranus, §2.4";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    type Params = Params;
    type Header = ();
    type Law = Tunnelled<Guest>;
    type Host = SliceWeights;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        check_slices(facts)?;
        params.tunnel.check().map_err(|e| e.within("tunnel"))?;
        params.control.check(facts.horizon).map_err(|e| e.within("control"))?;
        params.port.check_untagged().map_err(|e| e.within("port"))?;
        let guests = SliceGuests::new(params.guests, facts)?;
        Ok(Scc { facts: facts.clone(), params, guests, tunnels: Rc::default() })
    }
    fn ecn(&self) -> bool {
        true
    }
    /// A flow of no slice has a tunnel to itself.
    fn law(&self, flow: &FlowInfo) -> Self::Law {
        let TunnelParams { show_marks, .. } = self.params.tunnel;
        let guest = self.guests.law(flow);
        let new = || Tunnel::new(&self.params.tunnel, &self.facts.transport, flow.start);
        if flow.slice == 0 {
            return Tunnelled::new(guest, Rc::new(RefCell::new(new())), None, show_marks);
        }
        let key = (flow.slice, flow.src, flow.dst);
        let tunnel = self.tunnels.find(key, new);
        Tunnelled::new(guest, tunnel, Some((Rc::clone(&self.tunnels), key)), show_marks)
    }
    /// Until the controller has spoken, a tunnel's first flow has its slice's weight.
    fn host(&self) -> SliceWeights {
        SliceWeights::up_to_one(&self.facts.slices)
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    fn controller(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(SliceController::new(self.params.control, ByTunnel, &self.facts)))
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.params.port.untagged_plan(link))
    }
}
