//! PIAS: flows start in the highest priority and sink as they send, at thresholds derived from the
//! distribution of flow sizes.

mod host;
pub mod model;
mod published;
#[cfg(test)]
pub(crate) mod tests;

pub use host::PiasHost;
pub use published::published;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Facts, FlowInfo, HostId, HostLaw, HostLawKind, Knowledge, ParamError, PortFacts, Queues, Rate,
    RateRule, Scheme, SwitchPlan, TagTable,
};
use tailrace_queues::{MultiQueue, PortParams};

use crate::dctcp::{DctcpLaw, LawParams};
use crate::mlfq::{check_thresholds, sunk};

/// Where PIAS' thresholds come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected \"optimal\", { published = \"web-search\" }, { fitted = \"web-search\", load = 0.8 } or a list like [\"10KB\", \"100KB\"]"
)]
pub enum Thresholds {
    /// `"optimal"`: the minimum of the mean completion time under the multi-level model, for the scenario's
    /// own sizes and load.
    Named(Optimal),
    /// `{ published = "web-search" }`: the authors' table for that workload, the row nearest to the load.
    Published {
        /// The workload they were derived for.
        published: String,
        /// The load they were derived for; the scenario's own if missing.
        load: Option<f64>,
    },
    /// `{ fitted = "web-search", load = 0.8 }`: the minimum for a published workload at a load, whatever the
    /// scenario's are.
    Fitted {
        /// The workload.
        fitted: String,
        /// The load, between 0 and 1.
        load: f64,
    },
    /// `["10KB", "100KB"]`: the thresholds themselves, ascending, one fewer than queues.
    Given(Vec<Bytes>),
}

/// The word `"optimal"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Optimal {
    /// The minimum of the mean completion time under the multi-level model.
    Optimal,
}

/// Parameters of `pias`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Where the thresholds come from.
    pub thresholds: Thresholds,
    /// Timeouts of a flow in a row after which it starts again in the first queue (ageing); 0 for never.
    pub ageing_timeouts: u32,
    /// Hosts that tag all that they send with the highest priority (AWAFS §3.3).
    pub liars: Vec<HostId>,
    /// The congestion law.
    pub law: LawParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            thresholds: Thresholds::Named(Optimal::Optimal),
            ageing_timeouts: 0,
            liars: Vec::new(),
            law: LawParams::ns2(),
            port: PortParams::default(),
        }
    }
}

/// The scheme.
pub struct Pias {
    transport: TransportParams,
    host: PiasHost,
    law: LawParams,
    port: PortParams,
}

impl Thresholds {
    /// The thresholds for so many queues, of a parameter `field`.
    pub fn resolve(&self, field: &str, queues: u8, facts: &Facts) -> Result<Vec<Bytes>, ParamError> {
        let fail = |part: &str, message: String| Err(ParamError::new(format!("{field}{part}"), message));
        let thresholds = match self {
            Thresholds::Given(list) => list.clone(),
            Thresholds::Named(Optimal::Optimal) => {
                let Some(traffic) = &facts.traffic else {
                    return fail(
                        "",
                        "\"optimal\" needs a workload with sizes and a load; give a list".into(),
                    );
                };
                if traffic.load >= 1.0 {
                    let load = traffic.load;
                    return fail("", format!("\"optimal\" needs a load below 1, not {load:.2}; give a list"));
                }
                model::optimal(&traffic.sizes, traffic.load, usize::from(queues)).thresholds
            }
            Thresholds::Fitted { fitted, load } => {
                let Some(sizes) = (facts.published_sizes)(fitted) else {
                    let message = format!("there is no workload \"{fitted}\"; tailrace workloads lists them");
                    return fail(".fitted", message);
                };
                if !(*load > 0.0 && *load < 1.0) {
                    return fail(".load", format!("{load} must lie between 0 and 1, both excluded"));
                }
                model::optimal(&sizes, *load, usize::from(queues)).thresholds
            }
            Thresholds::Published { published: workload, load } => {
                let Some(load) = load.or(facts.traffic.as_ref().map(|traffic| traffic.load)) else {
                    let message = "a published table needs a workload with sizes and a load; give a list";
                    return fail("", message.into());
                };
                let Some(thresholds) = published(workload, load) else {
                    let known = published::WORKLOADS.join(", ");
                    return fail(".published", format!("no table for \"{workload}\"; there are {known}"));
                };
                thresholds
            }
        };
        check_thresholds(&thresholds, queues).map_err(|e| ParamError::new(field, e.message))?;
        Ok(thresholds)
    }
}

impl Scheme for Pias {
    const NAME: &'static str = "pias";
    const SUMMARY: &'static str =
        "flows sink through priority queues at thresholds fitted to their sizes; DCTCP";
    const SOURCE: &'static str = "Bai et al., NSDI 2015 and ToN 2017";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = DctcpLaw;
    type Host = PiasHost;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        facts.check_hosts("liars", &params.liars)?;
        let thresholds = params.thresholds.resolve("thresholds", params.port.queues, facts)?;
        // PIAS demotes once more than α bytes have been sent: bytes_before ≤ α stays.
        let limits: Vec<Bytes> = thresholds.iter().map(|&alpha| alpha + Bytes::new(1)).collect();
        let tags = TagTable::with_limits(&limits);
        let host = PiasHost { tags, ageing_timeouts: params.ageing_timeouts, liars: params.liars };
        Ok(Pias { transport: facts.transport, host, law: params.law, port: params.port })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, _: &FlowInfo) -> DctcpLaw {
        DctcpLaw::new(&self.law, &self.transport)
    }
    fn host(&self) -> PiasHost {
        self.host.clone()
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.port, port)
    }
    fn host_law(&self) -> Option<HostLaw> {
        Some(self.law.host_law(&self.transport, HostLawKind::Dctcp))
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.port.switch_plan(link, |queue| sunk(&self.host.tags, queue)))
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        self.port.is_strict().then(|| Box::new(Queues(self.host())) as Box<dyn RateRule>)
    }
}
