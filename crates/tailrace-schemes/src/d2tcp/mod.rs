//! D2TCP: DCTCP whose cuts are deeper for flows with time and shallower for those in a hurry.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Bytes, CongestionLaw, Facts, FlowInfo, FlowView, HostLaw, HostLawKind, Knowledge, Loss,
    ParamError, PortFacts, Rate, Same, Scheme, Standing, SwitchPlan, Time, Untagged, Wrapper,
};
use tailrace_queues::{MultiQueue, PortParams};

use crate::dctcp::{DctcpLaw, LawParams};

/// Parameters of `d2tcp`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The congestion law on which it builds.
    pub law: LawParams,
    /// The least and the largest urgency d (Vamanan et al., §3.2.3).
    pub urgency: [f64; 2],
    /// Give up flows that can no longer meet their deadline even at the full rate of the host's link.
    pub terminate: bool,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            law: LawParams::default(),
            urgency: [0.5, 2.0],
            terminate: false,
            port: PortParams::one_queue(),
        }
    }
}

/// The scheme.
pub struct D2tcp {
    transport: TransportParams,
    params: Params,
    host_rate: Rate,
}

impl Scheme for D2tcp {
    const NAME: &'static str = "d2tcp";
    const SUMMARY: &'static str = "DCTCP that cuts by how urgent a flow's deadline is";
    const SOURCE: &'static str = "Vamanan et al., SIGCOMM 2012";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    type Params = Params;
    type Header = ();
    type Law = D2tcpLaw;
    type Host = Untagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        let [least, most] = params.urgency;
        if !(0.0 < least && least <= 1.0 && (1.0..=100.0).contains(&most)) {
            let message =
                format!("[{least}, {most}] must be a number up to 1 and one from 1 up, such as [0.5, 2]");
            return Err(ParamError::new("urgency", message));
        }
        Ok(D2tcp { transport: facts.transport, params, host_rate: facts.host_rate })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, flow: &FlowInfo) -> D2tcpLaw {
        D2tcpLaw {
            dctcp: DctcpLaw::new(&self.params.law, &self.transport),
            urgency: Urgency { due: flow.size.zip(flow.deadline), bounds: self.params.urgency },
            terminate: self.params.terminate.then_some(self.host_rate.bytes_per_sec()),
            standing: Standing::Going,
        }
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    fn host_law(&self) -> Option<HostLaw> {
        let Params { law, urgency, terminate, .. } = self.params;
        let left_out = terminate.then_some("Hopeless flows are not given up.");
        Some(HostLaw { left_out, ..law.host_law(&self.transport, HostLawKind::D2tcp { urgency }) })
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.params.port.untagged_plan(link))
    }
}

/// DCTCP with a gamma-corrected cut.
#[derive(Clone, Copy, Debug)]
pub struct D2tcpLaw {
    dctcp: DctcpLaw,
    urgency: Urgency,
    /// The host link's bytes a second, if hopeless flows are given up.
    terminate: Option<f64>,
    standing: Standing,
}

/// How urgent a flow is.
#[derive(Clone, Copy, Debug)]
pub struct Urgency {
    /// Size and absolute deadline, where there is one.
    due: Option<(Bytes, Time)>,
    bounds: [f64; 2],
}

/// A window that saw-tooths between half and all of itself sends three quarters on average (§3.2.2).
const MEAN_WINDOW: f64 = 0.75;

impl Urgency {
    /// d: the time that the flow needs at a window of so many bytes over the time that it has (§3.2.2, Eq. 3),
    /// within bounds. 1 without deadline; the least after it, as both public implementations do.
    fn at(&self, ack: &AckSample, window: f64, flow: &FlowView) -> f64 {
        let [least, most] = self.bounds;
        let Some((size, deadline)) = self.due else { return 1.0 };
        let left = size.saturating_sub(flow.delivered).as_f64();
        let time = deadline.saturating_sub(ack.now).as_secs_f64();
        if time <= 0.0 || left <= 0.0 {
            return least;
        }
        let rate = MEAN_WINDOW * window / ack.srtt.as_secs_f64();
        (left / rate / time).clamp(least, most)
    }
}

impl D2tcpLaw {
    /// Gives the flow up if even the whole link cannot save it.
    fn judge(&mut self, now: Time, flow: &FlowView) {
        if let (Some(link), Some((size, deadline))) = (self.terminate, self.urgency.due) {
            let time = deadline.saturating_sub(now).as_secs_f64();
            if size.saturating_sub(flow.sent).as_f64() > time * link {
                self.standing = Standing::Stopped;
            }
        }
    }
}

impl Wrapper for D2tcpLaw {
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
        // p = α^d (§3.2.1, Eq. 2) is for the cut only, α itself stays.
        self.dctcp.answer(ack, flow, 1.0, |dctcp| {
            libm::pow(dctcp.alpha(), self.urgency.at(ack, dctcp.window().bytes(), flow))
        });
        self.judge(ack.now, flow);
    }

    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        self.dctcp.on_loss(now, loss, flow);
        self.judge(now, flow);
    }

    #[inline]
    fn standing(&self) -> Standing {
        self.standing
    }
}
