//! Baraat: tasks are served in order of arrival, all flows of a task together; a heavy task shares its links with
//! the next one. Ports tell flows their rates (Smart Priority Class).

mod classifier;
mod feedback;
mod header;
#[cfg(test)]
mod header_tests;
mod held;
mod law;
#[cfg(test)]
mod lossy_tests;
#[cfg(test)]
mod naive_tests;
mod numbers;
mod port;
mod rate;
pub mod scale;
#[cfg(test)]
mod tests;
mod unused;

pub use classifier::{Classifier, Order, Standing, TaskIndex};
pub use feedback::Feedback;
pub use header::{BaraatHeader, HOPS, Hop, Index, Receipt, RequestedRates};
pub use held::Held;
pub use law::{BACKGROUND, BaraatLaw};
pub use port::BaraatRouter;
use rate::Ordered;
pub use unused::Unused;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{
    Bytes, Facts, FlowInfo, Knowledge, ParamError, PortFacts, PortPlace, RateRule, Scheme, Time, Untagged,
};
use tailrace_queues::{DrainedLink, MarkingScope, MultiQueue, PortParams, RoutedPort};
use tailrace_transport::Requests;

/// Parameters of `baraat`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How flows are mapped to priority classes.
    pub order: Order,
    /// With `order = "fifo-lm"`, a task is heavy at a port that has granted it more than this. Best is where the
    /// sizes of tasks have their second mode, or their 80th to 90th percentile, as far as one link carries them.
    pub heavy: Bytes,
    /// Share of its queue, 0 to 1, that a port takes off what it grants in a round trip.
    pub drain: f64,
    /// Share, 0 to 1, of what a port has granted nobody in the last six round trips while flows waited for it, that it grants
    /// beyond what its link carries to flows that end within a round trip, if little waits there.
    pub refill: f64,
    /// A flow that has asked for nothing in this time, or in seven base round trips if that is longer, may be
    /// forgotten by ports; after twice that it is.
    pub refresh: Time,
    /// Which ports take part. At flow level there is no more than `all`.
    pub routers: Routers,
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            order: Order::FifoLm,
            heavy: Bytes::new(10_000_000),
            drain: 0.1,
            refill: 1.0,
            refresh: Time::from_ms(1),
            routers: Routers::All,
            port: PortParams { queues: 1, marking: MarkingScope::None, ..PortParams::default() },
        }
    }
}

/// Which ports count flows and tell them rates. The others forward packets and say nothing (§6, "deployed on a subset of
/// switches (e.g., close to the aggregators)").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routers {
    /// All.
    #[default]
    All,
    /// Network cards, and switch ports towards hosts.
    Edge,
}

impl Routers {
    fn include(self, place: PortPlace) -> bool {
        self == Routers::All || place != PortPlace::SwitchToSwitch
    }
}

/// The scheme.
pub struct Baraat {
    facts: Facts,
    params: Params,
}

impl Baraat {
    /// How long ports remember a flow that is silent.
    fn memory(&self) -> Time {
        self.params.refresh.max(self.facts.asking_round() * Requests::MEMORY)
    }

    /// How long a flow that waits may be silent: one answer may be lost, and the next be late.
    fn patience(&self) -> Time {
        Time::from_ps(self.memory().as_ps() / 4)
    }
}

impl Scheme for Baraat {
    const NAME: &'static str = "baraat";
    const SUMMARY: &'static str = "tasks one by one in order of arrival; heavy ones share with the next";
    const SOURCE: &'static str = "Dogar, Karagiannis, Ballani and Rowstron, SIGCOMM 2014";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: false };
    const ONE_PATH: bool = true;
    type Params = Params;
    type Header = BaraatHeader;
    type Law = BaraatLaw;
    type Host = Untagged;
    type Port = RoutedPort<BaraatRouter, BaraatHeader>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        facts.check_path(HOPS)?;
        DrainedLink::check("drain", params.drain)?;
        DrainedLink::check("refill", params.refill)?;
        params.port.check().map_err(|e| e.within("port"))?;
        Ok(Baraat { facts: facts.clone(), params })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, flow: &FlowInfo) -> BaraatLaw {
        let Facts { host_rate, base_rtt, transport, .. } = &self.facts;
        let rounds = self.facts.asking_round();
        BaraatLaw::new(flow, *host_rate, [*base_rtt, rounds], self.patience(), transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let rounds = self.facts.asking_round();
        let capacity = DrainedLink::new(self.params.drain, port.rate, rounds);
        let classifier = Classifier::new(self.params.order, self.params.heavy, self.memory());
        let unused = Unused::new(self.params.refill, rounds * Unused::ROUNDS);
        let queues = MultiQueue::new(&self.params.port, port);
        let router = BaraatRouter::new(capacity, unused, classifier, rounds);
        RoutedPort::new(router.taking_part(self.params.routers.include(port.place)), queues)
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        let Params { order, heavy, routers, .. } = self.params;
        (routers == Routers::All).then(|| Box::new(Ordered { order, heavy }) as Box<dyn RateRule>)
    }
}
