//! Karuna: flows with deadlines, with known sizes and with neither, over one set of priority queues.

mod host;
mod ideal;
mod law;
pub mod mcp;
mod measured;
pub mod model;
#[cfg(test)]
mod tests;
mod thresholds;

pub use host::KarunaHost;
pub use law::KarunaLaw;
pub use thresholds::{Objective, Thresholds};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Facts, FlowInfo, HEADER_BYTES, HostLaw, HostLawKind, Knowledge, ParamError, PortFacts, QueueLength,
    Queues, Rate, RateRule, Scheme, SwitchPlan, Time,
};
use tailrace_queues::{MarkingScope, MarkingThreshold, MultiQueue, PortParams};

use crate::dctcp::{DctcpLaw, LawParams};
use ideal::Ideal;
use mcp::{Hopeless, Mcp, McpParams, Path};
use measured::Measured;

/// An optimum of two kinds of sizes takes tens of milliseconds to find.
const SHORTEST_PERIOD: Time = Time::from_ms(1);

/// Parameters of `karuna`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Where splitting and sieving thresholds come from.
    pub thresholds: Thresholds,
    /// How often each host recomputes them for the flows that it has completed (appendix A's optimum, for `thresholds`'
    /// objective); never if not given. A flow counts half as much after each.
    pub period: Option<Time>,
    /// Consecutive timeouts after which a flow without deadline rises: one of known size by a queue, another
    /// back to the first of its queues; 0 for never (ageing).
    pub ageing_timeouts: u32,
    /// The congestion law of flows with deadlines.
    pub mcp: McpParams,
    /// The congestion law of all others, DCTCP.
    pub law: LawParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        let by_rate = [(10, 65), (40, 250)].map(|(gbps, packets)| (gbps, QueueLength::Packets(packets)));
        let by_rate: BTreeMap<_, _> =
            by_rate.into_iter().map(|(gbps, length)| (Rate::from_gbps(gbps), length)).collect();
        Params {
            thresholds: Thresholds::default(),
            period: None,
            ageing_timeouts: 3,
            mcp: McpParams::default(),
            law: LawParams::default(),
            port: PortParams {
                marking_threshold: MarkingThreshold::ByRate(by_rate),
                marking: MarkingScope::PortExceptFirst,
                ..PortParams::default()
            },
        }
    }
}

/// The scheme.
pub struct Karuna {
    transport: TransportParams,
    params: Params,
    path: Path,
    host: KarunaHost,
}

impl Scheme for Karuna {
    const NAME: &'static str = "karuna";
    const SUMMARY: &'static str =
        "deadlines just met by rate control in the first queue; others split and sieved through the rest";
    const SOURCE: &'static str =
        "Chen et al., Scheduling mix-flows in commodity datacenters with Karuna, SIGCOMM 2016";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    type Params = Params;
    type Header = ();
    type Law = KarunaLaw;
    type Host = KarunaHost;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.mcp.check().map_err(|e| e.within("mcp"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        if params.port.queues < 2 {
            let message = "1 queue: one for deadlines and at least one for all others are needed, 2 to 8";
            return Err(ParamError::new("port.queues", message));
        }
        if let Some(period) = params.period.filter(|period| *period < SHORTEST_PERIOD) {
            let message = format!("{period} is too short: it must be at least {SHORTEST_PERIOD}, give 200ms");
            return Err(ParamError::new("period", message));
        }
        let (splitting, sieving) = params.thresholds.resolve(params.port.queues, facts)?;
        let marking = params.port.marking_threshold.at(facts.host_rate).bytes();
        let payload = f64::from(facts.transport.mss) / f64::from(facts.transport.mss + HEADER_BYTES);
        let bytes_per_sec = facts.host_rate.bytes_per_sec() * payload;
        let measured =
            params.period.map(|period| Measured::new(period, params.thresholds.objective(), bytes_per_sec));
        Ok(Karuna {
            transport: facts.transport,
            path: Path::new(facts, marking),
            host: KarunaHost::new(splitting, &sieving, params.ageing_timeouts).measuring(measured),
            params,
        })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, flow: &FlowInfo) -> KarunaLaw {
        let dctcp = DctcpLaw::new(&self.params.law, &self.transport);
        let mcp = flow
            .size
            .zip(flow.deadline)
            .map(|(size, deadline)| Mcp::new(self.params.mcp, self.path, size, flow.start, deadline));
        KarunaLaw::new(mcp, dctcp, self.params.mcp.hopeless)
    }
    fn host(&self) -> KarunaHost {
        self.host.clone()
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    fn host_law(&self) -> Option<HostLaw> {
        let (kind, left_out) = match self.params.mcp.at_host(&self.path) {
            None => {
                let message = "MCP runs in its normal form only: flows with deadlines have DCTCP's law, too.";
                (HostLawKind::Dctcp, Some(message))
            }
            Some(mcp) => {
                let message =
                    "No flow is given up: one that can no longer meet its deadline goes on by DCTCP.";
                (
                    HostLawKind::Karuna(mcp),
                    (self.params.mcp.hopeless == Hopeless::Terminate).then_some(message),
                )
            }
        };
        Some(HostLaw { left_out, ..self.params.law.host_law(&self.transport, kind) })
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.params.port.switch_plan(link, |queue| self.host.holds(queue)))
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        let rule = || Box::new(Ideal(Queues(self.host()))) as Box<dyn RateRule>;
        (self.params.port.is_strict() && self.params.period.is_none()).then(rule)
    }
}
