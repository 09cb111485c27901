//! D3: flows ask for the rate that their deadline needs; routers grant it first come, first served, and share
//! the rest.

mod header;
mod law;
mod port;
#[cfg(test)]
mod tests;
mod virtual_capacity;

pub use header::{D3Header, HOPS};
pub use law::D3Law;
pub use port::{D3Router, Held};
pub use virtual_capacity::{CapacityParams, VirtualCapacity};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Facts, FlowInfo, Knowledge, ParamError, PortFacts, Scheme, Time, Untagged};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams, RoutedPort};
use tailrace_transport::Requests;

/// Parameters of `d3`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How the capacity that ports allocate follows the use of their links.
    pub capacity: CapacityParams,
    /// A flow that has asked for nothing in this time, or in seven base round trips if that is longer, may be
    /// forgotten by ports; after twice that it is.
    pub refresh: Time,
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        let port = PortParams { queues: 1, marking: MarkingScope::None, ..PortParams::default() };
        Params { capacity: CapacityParams::default(), refresh: Time::from_ms(1), port }
    }
}

/// The scheme.
pub struct D3 {
    facts: Facts,
    params: Params,
}

impl Scheme for D3 {
    const NAME: &'static str = "d3";
    const SUMMARY: &'static str =
        "rates for deadlines, reserved in the order of requests; the rest is shared";
    const SOURCE: &'static str = "Wilson, Ballani, Karagiannis and Rowstron, SIGCOMM 2011";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    const ONE_PATH: bool = true;
    type Params = Params;
    type Header = D3Header;
    type Law = D3Law;
    type Host = Untagged;
    type Port = RoutedPort<D3Router, D3Header>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        facts.check_path(HOPS)?;
        params.capacity.check().map_err(|e| e.within("capacity"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        Ok(D3 { facts: facts.clone(), params })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, flow: &FlowInfo) -> D3Law {
        D3Law::new(flow, self.facts.host_rate, self.facts.base_rtt, &self.facts.transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let capacity = VirtualCapacity::new(&self.params.capacity, port.rate, self.facts.base_rtt);
        let router = D3Router::new(capacity, self.params.refresh.max(self.facts.base_rtt * Requests::MEMORY));
        RoutedPort::new(router, MultiQueue::new(&self.params.port, port))
    }
}
