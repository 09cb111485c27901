//! DCTCP over one ECN-marking queue.

mod law;

pub use law::{DctcpLaw, LawParams};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Facts, FlowInfo, HostLaw, HostLawKind, Knowledge, ParamError, PortFacts, Rate, Scheme, SwitchPlan,
    Untagged,
};
use tailrace_queues::{MultiQueue, PortParams};

/// Parameters of `dctcp`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The congestion law.
    pub law: LawParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params { law: LawParams::default(), port: PortParams::one_queue() }
    }
}

/// The scheme.
pub struct Dctcp {
    transport: TransportParams,
    params: Params,
}

impl Scheme for Dctcp {
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "window cut by the share of marked packets; one queue, marked at a step";
    const SOURCE: &'static str = "Alizadeh et al., SIGCOMM 2010; RFC 8257";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = DctcpLaw;
    type Host = Untagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        Ok(Dctcp { transport: facts.transport, params })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, _: &FlowInfo) -> DctcpLaw {
        DctcpLaw::new(&self.params.law, &self.transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    fn host_law(&self) -> Option<HostLaw> {
        Some(self.params.law.host_law(&self.transport, HostLawKind::Dctcp))
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.params.port.untagged_plan(link))
    }
}
