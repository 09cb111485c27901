//! L2DCT: DCTCP whose flows grow less and give way more, the more they have sent.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Bytes, Facts, FlowInfo, FlowView, HostLaw, HostLawKind, Knowledge, ParamError, PortFacts,
    Rate, Same, Scheme, SwitchPlan, Untagged, Wrapper,
};
use tailrace_queues::{MultiQueue, PortParams};

use crate::dctcp::{DctcpLaw, LawParams};

/// Parameters of `l2dct`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The congestion law on which it builds.
    pub law: LawParams,
    /// The weight of flows by what they have sent.
    pub weight: Weight,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params { law: LawParams::default(), weight: Weight::default(), port: PortParams::one_queue() }
    }
}

/// A flow's weight: it falls in a straight line between two amounts sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weight {
    /// Of flows that have sent no more than `from`.
    pub most: f64,
    /// Of flows that have sent `to` or more.
    pub least: f64,
    /// Bytes sent up to which the weight is the largest.
    pub from: Bytes,
    /// Bytes sent from which on the weight is the least.
    pub to: Bytes,
}

impl Default for Weight {
    fn default() -> Self {
        Weight { most: 2.5, least: 0.125, from: Bytes::new(200 << 10), to: Bytes::new(1 << 20) }
    }
}

impl Weight {
    /// The weight after so many bytes.
    pub fn after(&self, sent: Bytes) -> f64 {
        let (from, to) = (self.from.as_f64(), self.to.as_f64());
        let way = ((sent.as_f64() - from) / (to - from)).clamp(0.0, 1.0);
        self.most - way * (self.most - self.least)
    }

    fn check(&self) -> Result<(), ParamError> {
        let Weight { most, least, from, to } = *self;
        if !(0.0 < least && least <= most && most <= 100.0) {
            let message =
                format!("is {least} and most {most}, but must be above 0, and most from it up to 100");
            return Err(ParamError::new("least", message));
        }
        if from >= to {
            return Err(ParamError::new("from", format!("is {from}, but must be below to = {to}")));
        }
        Ok(())
    }
}

/// The scheme.
pub struct L2dct {
    transport: TransportParams,
    params: Params,
}

impl Scheme for L2dct {
    const NAME: &'static str = "l2dct";
    const SUMMARY: &'static str = "DCTCP whose flows give way the more they have sent";
    const SOURCE: &'static str = "Munir et al., INFOCOM 2013";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = L2dctLaw;
    type Host = Untagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.weight.check().map_err(|e| e.within("weight"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        Ok(L2dct { transport: facts.transport, params })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, _: &FlowInfo) -> L2dctLaw {
        L2dctLaw::new(&self.params.law, self.params.weight, &self.transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    fn host_law(&self) -> Option<HostLaw> {
        let Weight { most, least, from, to } = self.params.weight;
        Some(self.params.law.host_law(&self.transport, HostLawKind::L2dct { most, least, from, to }))
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.params.port.untagged_plan(link))
    }
}

/// DCTCP, weighted by least attained service.
#[derive(Clone, Copy, Debug)]
pub struct L2dctLaw {
    dctcp: DctcpLaw,
    weight: Weight,
}

impl L2dctLaw {
    /// The law of a new flow.
    pub fn new(law: &LawParams, weight: Weight, transport: &TransportParams) -> Self {
        L2dctLaw { dctcp: DctcpLaw::new(law, transport), weight }
    }
}

impl Wrapper for L2dctLaw {
    type Law = DctcpLaw;
    type Headers = Same;

    #[inline]
    fn law(&self) -> &DctcpLaw {
        &self.dctcp
    }
    #[inline]
    fn law_mut(&mut self) -> &mut DctcpLaw {
        &mut self.dctcp
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        let weight = self.weight.after(flow.sent);
        // k = w/w_max segments a window; b = α^w.
        self.dctcp.answer(ack, flow, weight / self.weight.most, |dctcp| libm::pow(dctcp.alpha(), weight));
    }
}
