//! AWAFS: multi-level feedback queues whose thresholds follow the sizes of completed flows.
//!
//! Sensor and actuator (Algorithm 1) are one small value, [`Estimator`]. It sits in every port
//! ([`AwafsRouter`], §4.3.2 second strategy) or in every host ([`AwafsHost`], first strategy).

mod counter;
mod estimator;
mod host;
mod memory;
mod params;
mod port;
mod shim;
mod sketch;
#[cfg(test)]
mod tests;

pub use estimator::Estimator;
pub use host::AwafsHost;
pub use memory::Forgetting;
pub use params::{Chosen, Params, Percentiles, Placement};
pub use port::AwafsRouter;
pub use shim::Shim;
pub(crate) use sketch::Sketch;

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Adds, Bytes, Facts, FlowInfo, FlowView, HEADER_BYTES, HostLaw, HostLawKind, Knowledge, ParamError,
    PortFacts, Rate, Scheme, Segment, SwitchPlan, Time, Wrapper,
};
use tailrace_queues::{MultiQueue, RoutedPort};

use crate::dctcp::DctcpLaw;
use counter::Counter;

/// The scheme.
pub struct Awafs {
    transport: TransportParams,
    params: Params,
    /// Thresholds before the first adjustment.
    initial: Vec<Bytes>,
    host_rate: Rate,
}

impl Awafs {
    /// For flows over a link of this rate, full of full segments.
    fn estimator(&self, link: Rate) -> Estimator {
        let mss = f64::from(self.transport.mss);
        let payload = mss / (mss + f64::from(HEADER_BYTES));
        Estimator::new(&self.params, &self.initial, link.bytes_per_sec() * payload)
    }
}

impl Scheme for Awafs {
    const NAME: &'static str = "awafs";
    const SUMMARY: &'static str = "PIAS whose thresholds follow the sizes of completed flows, port by port";
    const SOURCE: &'static str =
        "Gutiérrez, Agnostic workload-aware flow scheduling (AWAFS), thesis, UNAL Medellín";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = Shim;
    type Law = AwafsLaw;
    type Host = AwafsHost;
    type Port = RoutedPort<AwafsRouter, Shim>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.check()?;
        facts.check_hosts("liars", &params.liars)?;
        let initial = params.initial(facts)?;
        Ok(Awafs { transport: facts.transport, initial, host_rate: facts.host_rate, params })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, flow: &FlowInfo) -> AwafsLaw {
        AwafsLaw {
            dctcp: DctcpLaw::new(&self.params.law, &self.transport),
            lies: self.params.liars.contains(&flow.src),
            on_wire: self.params.shim_on_wire,
        }
    }
    fn host(&self) -> AwafsHost {
        let estimator = || self.estimator(self.host_rate);
        let estimator = (self.params.placement == Placement::Host).then(estimator);
        AwafsHost::new(estimator, self.params.liars.clone())
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let estimator = (self.params.placement == Placement::Switch).then(|| self.estimator(port.rate));
        let queues = MultiQueue::new(&self.params.port, port);
        let counter = self.params.silence.map(Counter::new);
        RoutedPort::new(AwafsRouter::new(estimator, counter, self.params.deduplicate), queues)
    }
    fn needs_header(&self) -> bool {
        self.params.placement == Placement::Switch && self.params.silence.is_none()
    }
    fn host_law(&self) -> Option<HostLaw> {
        Some(self.params.law.host_law(&self.transport, HostLawKind::Dctcp))
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        // In switches, thresholds take a switch that reads the shim and remembers flows that completed.
        let holds = |queue| format!("data of flows that have sent past threshold {queue} of the host's own");
        let first = "acknowledgements; data of flows that start";
        let holds = |queue| if queue == 0 { first.to_owned() } else { holds(queue) };
        (self.params.placement == Placement::Host).then(|| self.params.port.switch_plan(link, holds))
    }
}

/// DCTCP that stamps each packet with what its flow has sent before it.
pub struct AwafsLaw {
    dctcp: DctcpLaw,
    lies: bool,
    on_wire: bool,
}

impl Wrapper for AwafsLaw {
    type Law = DctcpLaw;
    type Headers = Adds<Shim>;

    #[inline]
    fn law(&self) -> &DctcpLaw {
        &self.dctcp
    }
    #[inline]
    fn law_mut(&mut self) -> &mut DctcpLaw {
        &mut self.dctcp
    }
    #[inline]
    fn stamp(&mut self, _: Time, segment: &Segment, _: &FlowView) -> Shim {
        let before = if self.lies { 0 } else { segment.before.get() };
        Shim { before, last: segment.last, on_wire: self.on_wire }
    }
}
