//! PDQ: the flow whose deadline is nearest, or that has least to send, has the links of its way to itself; the
//! others pause.

mod header;
mod law;
#[cfg(test)]
mod lossy_tests;
mod port;
#[cfg(test)]
mod tests;

pub use header::PdqHeader;
pub use law::PdqLaw;
pub use port::PdqRouter;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Facts, FlowInfo, Knowledge, ParamError, PortFacts, Scheme, Time, Untagged};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams, RoutedPort};
use tailrace_transport::Requests;

/// Parameters of PDQ's switches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchParams {
    /// κ: a port lists up to twice so many flows.
    pub kappa: u32,
    /// K: flows that finish within so many round trips in all do not hold back the next one.
    pub early_start: f64,
    /// After a paused flow was let go, no other is for so long.
    pub dampening: Time,
    /// X: the n-th flow on a list probes once in X·n round trips, but at most once in each.
    pub probing: f64,
}

impl Default for SwitchParams {
    fn default() -> Self {
        SwitchParams { kappa: 100, early_start: 2.0, dampening: Time::from_us(10), probing: 0.2 }
    }
}

impl SwitchParams {
    fn check(&self) -> Result<(), ParamError> {
        if !(1..=10_000).contains(&self.kappa) {
            return Err(ParamError::new("kappa", format!("{} must be 1 to 10000 flows", self.kappa)));
        }
        for (field, value) in [("early_start", self.early_start), ("probing", self.probing)] {
            if !(0.0..=100.0).contains(&value) {
                return Err(ParamError::new(field, format!("{value} must be 0 to 100 round trips")));
            }
        }
        Ok(())
    }

    fn list_length(&self) -> usize {
        2 * self.kappa as usize
    }

    /// Round trips between the probes of the flow at `place`.
    fn probing_gap(&self, place: usize) -> f64 {
        (self.probing * place as f64).max(1.0)
    }
}

/// Parameters of `pdq`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How ports choose the flows that send.
    pub switch: SwitchParams,
    /// A flow that has said nothing in this time, or in seven base round trips or in two of its probing
    /// intervals if those are longer, is taken off the list.
    pub refresh: Time,
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        let port = PortParams { queues: 1, marking: MarkingScope::None, ..PortParams::default() };
        Params { switch: SwitchParams::default(), refresh: Time::from_ms(1), port }
    }
}

/// The scheme.
pub struct Pdq {
    facts: Facts,
    params: Params,
}

impl Scheme for Pdq {
    const NAME: &'static str = "pdq";
    const SUMMARY: &'static str = "the most critical flow of a link sends, the others pause";
    const SOURCE: &'static str = "Hong, Caesar and Godfrey, SIGCOMM 2012";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    const ONE_PATH: bool = true;
    type Params = Params;
    type Header = PdqHeader;
    type Law = PdqLaw;
    type Host = Untagged;
    type Port = RoutedPort<PdqRouter, PdqHeader>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.switch.check().map_err(|e| e.within("switch"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        let facts = Facts { base_rtt: facts.asking_round(), ..facts.clone() };
        Ok(Pdq { facts, params })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, flow: &FlowInfo) -> PdqLaw {
        let Facts { host_rate, base_rtt, transport, .. } = &self.facts;
        PdqLaw::new(flow, &self.params.switch, *host_rate, *base_rtt, transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let base_rtt = self.facts.base_rtt;
        let refresh = self.params.refresh.max(base_rtt * Requests::MEMORY);
        let router = PdqRouter::new(&self.params.switch, port.number, port.rate, base_rtt, refresh);
        RoutedPort::new(router, MultiQueue::new(&self.params.port, port))
    }
}
