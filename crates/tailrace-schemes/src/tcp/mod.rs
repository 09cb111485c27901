//! TCP NewReno over drop-tail queues.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, CongestionLaw, Facts, FlowInfo, FlowView, Knowledge, Loss, ParamError, PortFacts,
    Scheme, Time, Untagged,
};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams};
use tailrace_transport::Window;

/// Parameters of `tcp`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params { port: PortParams { queues: 1, marking: MarkingScope::None, ..PortParams::default() } }
    }
}

/// The scheme.
pub struct Tcp {
    transport: TransportParams,
    port: PortParams,
}

/// NewReno's window (RFC 5681, RFC 6582): halves once a loss episode, restarts after a timeout.
pub struct NewReno(Window);

impl NewReno {
    /// The law of a new flow.
    pub fn new(transport: &TransportParams) -> Self {
        NewReno(Window::new(transport))
    }
}

impl CongestionLaw for NewReno {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, _: &FlowView) {
        self.0.grow(ack.acked);
    }
    fn on_loss(&mut self, _: Time, loss: Loss, _: &FlowView) {
        match loss {
            Loss::Fast => self.0.cut(0.5),
            Loss::Timeout => self.0.collapse(),
        }
    }
    #[inline]
    fn allowance(&self) -> Allowance {
        self.0.allowance()
    }
}

impl Scheme for Tcp {
    const NAME: &'static str = "tcp";
    const SUMMARY: &'static str = "TCP NewReno over drop-tail queues";
    const SOURCE: &'static str = "RFC 5681, RFC 6582, RFC 6675";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = NewReno;
    type Host = Untagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.port.check().map_err(|e| e.within("port"))?;
        Ok(Tcp { transport: facts.transport, port: params.port })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> NewReno {
        NewReno::new(&self.transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.port, port)
    }
}
