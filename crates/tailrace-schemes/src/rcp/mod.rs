//! RCP: every link has one rate for all its flows, and they send at the lowest of their way.

#[cfg(test)]
mod closed_loop_tests;
mod fair_rate;
mod header;
mod law;
mod port;
#[cfg(test)]
mod tests;

pub use fair_rate::{FairRate, RateParams};
pub use header::{HOPS, RcpHeader};
pub use law::RcpLaw;
pub use port::{Exact, RcpRouter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{
    Facts, FlowInfo, Knowledge, ParamError, PortFacts, Prospect, Rank, RateRule, Scheme, Time, Untagged,
};
use tailrace_queues::{DrainedLink, MarkingScope, MultiQueue, PortParams, RoutedPort};
use tailrace_transport::Requests;

/// How a router finds the fair rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouterKind {
    /// From the use of its link and its queue, as published.
    #[default]
    Estimated,
    /// It counts the flows and divides what those leave that are limited elsewhere: what estimates tend to where flows stay long enough
    /// (Baraat, footnote 6). A flow keeps its share for the round trips in which it asks, so short ones beside a long one cost it more
    /// than estimates do.
    Exact,
}

/// Parameters of `rcp`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How routers find the fair rate.
    pub router: RouterKind,
    /// How the rate moves that routers estimate.
    pub rate: RateParams,
    /// Exact routers divide their link less this share of the queue a base round trip.
    pub drain: f64,
    /// A flow that has sent nothing in this time, or in seven base round trips if that is longer, may no longer be
    /// counted by exact routers; after twice that it is not.
    pub refresh: Time,
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            router: RouterKind::default(),
            rate: RateParams::default(),
            drain: 0.1,
            refresh: Time::from_ms(1),
            port: PortParams { queues: 1, marking: MarkingScope::None, ..PortParams::default() },
        }
    }
}

/// The scheme.
pub struct Rcp {
    facts: Facts,
    params: Params,
}

impl Scheme for Rcp {
    const NAME: &'static str = "rcp";
    const SUMMARY: &'static str = "one rate for all flows of a link, told to their senders";
    const SOURCE: &'static str = "Dukkipati, Kobayashi, Zhang-Shen and McKeown, IWQoS 2005";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    const ONE_PATH: bool = true;
    type Params = Params;
    type Header = RcpHeader;
    type Law = RcpLaw;
    type Host = Untagged;
    type Port = RoutedPort<RcpRouter, RcpHeader>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.rate.check().map_err(|e| e.within("rate"))?;
        if params.router == RouterKind::Exact {
            facts.check_path(HOPS)?;
            DrainedLink::check("drain", params.drain)?;
        }
        params.port.check().map_err(|e| e.within("port"))?;
        Ok(Rcp { facts: facts.clone(), params })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> RcpLaw {
        RcpLaw::new(self.facts.host_rate, self.facts.base_rtt, &self.facts.transport)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let Params { router, rate, drain, refresh, port: queues } = &self.params;
        let base_rtt = self.facts.base_rtt;
        let router = match router {
            RouterKind::Estimated => RcpRouter::Estimated(FairRate::new(rate, port.rate, base_rtt)),
            RouterKind::Exact => {
                let capacity = DrainedLink::new(*drain, port.rate, base_rtt);
                RcpRouter::Exact(Exact::new(capacity, port.rate, (*refresh).max(base_rtt * Requests::MEMORY)))
            }
        };
        RoutedPort::new(router, MultiQueue::new(queues, port))
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        Some(Box::new(MaxMin))
    }
}

/// All flows share: the max–min fair rates that RCP approximates, and that no fair-sharing scheme can better (Baraat,
/// footnote 6).
#[derive(Clone, Copy, Debug)]
pub struct MaxMin;

impl RateRule for MaxMin {
    fn rank(&self, _: &Prospect<'_>) -> Rank {
        Rank::SAME
    }
}
