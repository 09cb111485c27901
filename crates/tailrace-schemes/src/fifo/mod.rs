//! Fixed window over plain FIFO queues: the smallest scheme, and the template of `tailrace new-scheme`.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Facts, FlowInfo, FlowView, Knowledge, Loss, ParamError,
    PortFacts, Rate, Scheme, Time, Untagged,
};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams};

/// Parameters of `fifo`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Segments that each flow keeps in flight.
    pub window: u32,
    /// Rate at which each flow's packets leave at most; without it they leave as the window opens.
    pub pacing: Option<Rate>,
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        let port = PortParams { queues: 1, marking: MarkingScope::None, ..PortParams::default() };
        Params { window: 100, pacing: None, port }
    }
}

/// The scheme.
pub struct Fifo {
    allowance: Allowance,
    port: PortParams,
}

/// Always the same window.
pub struct FixedWindow(Allowance);

impl CongestionLaw for FixedWindow {
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
    fn allowance(&self) -> Allowance {
        self.0
    }
}

impl Scheme for Fifo {
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "fixed window over FIFO queues: no congestion control at all";
    const SOURCE: &'static str = "the smallest scheme; a template for new ones";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = FixedWindow;
    type Host = Untagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.port.check().map_err(|e| e.within("port"))?;
        if params.window == 0 {
            return Err(ParamError::new("window", "0 segments: a flow needs at least 1 in flight"));
        }
        if params.pacing.is_some_and(|rate| rate.as_bps() == 0) {
            return Err(ParamError::new("pacing", "0bps: a flow must be allowed to send"));
        }
        let window = Bytes::new(u64::from(params.window) * u64::from(facts.transport.mss));
        Ok(Fifo { allowance: Allowance { window, pacing: params.pacing }, port: params.port })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> FixedWindow {
        FixedWindow(self.allowance)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.port, port)
    }
}
