//! HULL: DCTCP on marks of phantom queues, which fill before links do, and a pacer in hosts' network cards.

mod pacing;
mod phantom;
#[cfg(test)]
mod tests;

pub use pacing::{PacerParams, Pacing};
pub use phantom::{Phantom, PhantomParams};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Facts, FlowInfo, Knowledge, Packet, ParamError, PortFacts, PortPlace, Scheme, SeriesSink, Time,
    Untagged,
};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams, RoutedPort, Router};

use crate::dctcp::{DctcpLaw, LawParams};

/// Parameters of `hull`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The congestion law.
    pub law: LawParams,
    /// The phantom queues of switch ports.
    pub phantom: PhantomParams,
    /// The pacer of each host.
    pub pacer: PacerParams,
}

/// The scheme.
pub struct Hull {
    transport: TransportParams,
    params: Params,
}

impl Scheme for Hull {
    const NAME: &'static str = "hull";
    const SUMMARY: &'static str =
        "DCTCP on marks of phantom queues: a little bandwidth is given up for next to no queue";
    const SOURCE: &'static str = "Alizadeh et al., NSDI 2012";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = DctcpLaw;
    type Host = Untagged;
    type Port = RoutedPort<HullRouter, ()>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.phantom.check().map_err(|e| e.within("phantom"))?;
        params.pacer.check().map_err(|e| e.within("pacer"))?;
        Ok(Hull { transport: facts.transport, params })
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
    fn port(&self, port: &PortFacts) -> Self::Port {
        let usual = PortParams::default();
        let (router, queues) = match port.place {
            PortPlace::Nic if self.params.pacer.enabled => {
                let pacing = Pacing::new(&self.params.pacer, port.rate);
                (HullRouter::Card(pacing), PortParams { queues: pacing::QUEUES, ..usual })
            }
            PortPlace::Nic => (HullRouter::Plain, PortParams { queues: 1, ..usual }),
            PortPlace::SwitchToHost | PortPlace::SwitchToSwitch => {
                let phantom = Phantom::new(&self.params.phantom, port.rate);
                let queues = PortParams { queues: 1, marking: MarkingScope::None, ..usual };
                (HullRouter::Switch(phantom), queues)
            }
        };
        RoutedPort::new(router, MultiQueue::new(&queues, port))
    }
}

/// What a port does beside queueing.
pub enum HullRouter {
    /// A host's card that paces.
    Card(Pacing),
    /// A host's card that does not.
    Plain,
    /// A switch port.
    Switch(Phantom),
}

impl Router<()> for HullRouter {
    const REVERSE: bool = true;
    const WORK_CONSERVING: bool = false;

    #[inline]
    fn on_arrival(&mut self, _: Time, packet: &mut Packet, _: Bytes) {
        if let HullRouter::Card(pacing) = self {
            pacing.on_arrival(packet);
        }
    }
    #[inline]
    fn on_reverse(&mut self, now: Time, packet: &mut Packet) {
        if let HullRouter::Card(pacing) = self {
            pacing.on_ack(now, packet);
        }
    }
    #[inline]
    fn next_ready(&self, now: Time, queues: &MultiQueue) -> Option<Time> {
        match self {
            HullRouter::Card(pacing) => Some(pacing.next_ready(now, queues)),
            HullRouter::Plain | HullRouter::Switch(_) => Some(now),
        }
    }
    #[inline]
    fn on_departure(&mut self, now: Time, packet: &mut Packet, queues: &MultiQueue) {
        match self {
            HullRouter::Card(pacing) => pacing.on_departure(now, packet, queues),
            HullRouter::Plain => {}
            HullRouter::Switch(phantom) => phantom.on_departure(now, packet),
        }
    }
    fn marked(&self) -> u64 {
        if let HullRouter::Switch(phantom) = self { phantom.marked() } else { 0 }
    }
    fn next_wake(&self) -> Option<Time> {
        if let HullRouter::Card(pacing) = self { Some(pacing.next_turn()) } else { None }
    }
    fn on_wake(&mut self, now: Time, _: &mut dyn SeriesSink) {
        if let HullRouter::Card(pacing) = self {
            pacing.end_turn(now);
        }
    }
}
