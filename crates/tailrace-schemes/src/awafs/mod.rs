//! AWAFS: multi-level feedback queues whose thresholds follow the sizes of completed flows.
//!
//! Sensor and actuator (Algorithm 1) are one small value, [`Estimator`]. It sits in every port
//! ([`AwafsRouter`], §4.3.2 second strategy) or in every host ([`AwafsHost`], first strategy).

mod estimator;
mod host;
mod port;
mod shim;
#[cfg(test)]
mod tests;

pub use estimator::Estimator;
pub use host::AwafsHost;
pub use port::AwafsRouter;
pub use shim::Shim;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Adds, Bytes, Facts, FlowInfo, FlowView, Knowledge, ParamError, PortFacts, Rate, Scheme, Segment,
    SwitchPlan, Time, Wrapper,
};
use tailrace_queues::{MultiQueue, PortParams, RoutedPort};

use crate::dctcp::{DctcpLaw, LawParams};
use crate::mlfq::check_thresholds;

/// Where thresholds are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// In every port: packets carry the bytes sent so far, the port picks the queue.
    #[default]
    Switch,
    /// In every host: packets carry a priority tag, ports only schedule.
    Host,
}

/// A port that adjusts more often does nothing else.
const SHORTEST_PERIOD: Time = Time::from_us(1);

/// Parameters of `awafs` (§4.2.2.1).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Where thresholds are kept.
    pub placement: Placement,
    /// Time between two adjustments (T_schedule).
    pub period: Time,
    /// How far back completed flows count (W_update), not less than `period`.
    pub window: Time,
    /// The percentile of completed sizes that each threshold is set to (RefPct); one fewer than queues.
    pub percentiles: Vec<f64>,
    /// Thresholds before the first adjustment (InitThr); all 0 if empty.
    pub initial_thresholds: Vec<Bytes>,
    /// Count a completed flow once even if its last packet passes a port twice.
    pub deduplicate: bool,
    /// Let the 12 bytes that the scheme adds to data packets take link time. The thesis' simulation carries
    /// them as metadata, so the default is not to.
    pub shim_on_wire: bool,
    /// The congestion law.
    pub law: LawParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            placement: Placement::Switch,
            period: Time::from_ms(200),
            window: Time::from_ms(250),
            percentiles: (1..8).map(|i| f64::from(i) / 10.0).collect(),
            initial_thresholds: Vec::new(),
            deduplicate: true,
            shim_on_wire: false,
            law: LawParams::ns2(),
            port: PortParams::default(),
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), ParamError> {
        self.law.check().map_err(|e| e.within("law"))?;
        self.port.check().map_err(|e| e.within("port"))?;
        let wanted = usize::from(self.port.queues) - 1;
        let fail = |field, message| Err(ParamError::new(field, message));
        if self.percentiles.len() != wanted {
            let message = format!(
                "{} percentiles for {} queues: one fewer than queues is needed",
                self.percentiles.len(),
                self.port.queues
            );
            return fail("percentiles", message);
        }
        if self.percentiles.iter().any(|p| !(*p > 0.0 && *p < 1.0)) {
            return fail("percentiles", "each must lie strictly between 0 and 1".into());
        }
        if self.percentiles.windows(2).any(|pair| pair[0] >= pair[1]) {
            return fail("percentiles", "they must ascend".into());
        }
        if self.period < SHORTEST_PERIOD {
            let message = format!(
                "{} is too short: it must be at least {SHORTEST_PERIOD}; the thesis uses 200ms",
                self.period
            );
            return fail("period", message);
        }
        if self.window < self.period {
            let message =
                format!("{} is shorter than the period {} (AWAFS §4.2.2.1)", self.window, self.period);
            return fail("window", message);
        }
        if !self.initial_thresholds.is_empty() {
            check_thresholds(&self.initial_thresholds, self.port.queues)
                .map_err(|e| ParamError::new("initial_thresholds", e.message))?;
        }
        Ok(())
    }

    fn estimator(&self) -> Estimator {
        let mut initial = self.initial_thresholds.clone();
        initial.resize(self.percentiles.len(), Bytes::ZERO);
        Estimator::new(self.period, self.window, self.percentiles.clone(), initial)
    }
}

/// The scheme.
pub struct Awafs {
    transport: TransportParams,
    params: Params,
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
        Ok(Awafs { transport: facts.transport, params })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, _: &FlowInfo) -> AwafsLaw {
        AwafsLaw {
            dctcp: DctcpLaw::new(&self.params.law, &self.transport),
            on_wire: self.params.shim_on_wire,
        }
    }
    fn host(&self) -> AwafsHost {
        AwafsHost::new((self.params.placement == Placement::Host).then(|| self.params.estimator()))
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let estimator = (self.params.placement == Placement::Switch).then(|| self.params.estimator());
        let queues = MultiQueue::new(&self.params.port, port);
        RoutedPort::new(AwafsRouter::new(estimator, self.params.deduplicate), queues)
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
        Shim { before: segment.before.get(), last: segment.last, on_wire: self.on_wire }
    }
}
