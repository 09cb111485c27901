//! CUBIC over drop-tail queues: what hosts run if nobody chose anything.

mod law;
#[cfg(test)]
mod tests;

pub use law::CubicLaw;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{Facts, FlowInfo, Knowledge, ParamError, PortFacts, Scheme, Untagged};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams};

/// Parameters of `cubic`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The congestion law.
    pub law: LawParams,
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        let port = PortParams { queues: 1, marking: MarkingScope::None, ..PortParams::default() };
        Params { law: LawParams::default(), port }
    }
}

/// Parameters of CUBIC's law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LawParams {
    /// C: how steeply the window rises, in segments per cubic second.
    pub growth: f64,
    /// β: what a loss leaves of the window.
    pub cut: f64,
}

impl Default for LawParams {
    /// RFC 9438 §5.1 and §4.6.
    fn default() -> Self {
        LawParams { growth: 0.4, cut: 0.7 }
    }
}

impl LawParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(self.growth > 0.0 && self.growth.is_finite()) {
            let message = format!("is {}, but must be above 0, such as 0.4", self.growth);
            return Err(ParamError::new("growth", message));
        }
        if !(self.cut > 0.0 && self.cut < 1.0) {
            let message = format!("is {}, but must lie between 0 and 1, such as 0.7", self.cut);
            return Err(ParamError::new("cut", message));
        }
        Ok(())
    }
}

/// The scheme.
pub struct Cubic {
    transport: TransportParams,
    params: Params,
}

impl Scheme for Cubic {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str = "CUBIC, what Linux hosts run, over drop-tail queues";
    const SOURCE: &'static str = "RFC 9438";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = CubicLaw;
    type Host = Untagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        Ok(Cubic { transport: facts.transport, params })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> CubicLaw {
        CubicLaw::new(self.params.law, &self.transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
}
