//! PIAS: flows start in the highest priority and sink as they send, at thresholds derived from the
//! distribution of flow sizes.

pub mod model;
mod published;
#[cfg(test)]
pub(crate) mod tests;

pub use published::published;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Facts, FlowInfo, Knowledge, ParamError, PortFacts, Queues, Rate, RateRule, Scheme, SwitchPlan,
    TagTable,
};
use tailrace_queues::{MultiQueue, PortParams};

use crate::dctcp::{DctcpLaw, LawParams};
use crate::mlfq::{Tagged, check_thresholds, sunk};

/// Where PIAS' thresholds come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected \"optimal\", { published = \"web-search\" } or a list like [\"10KB\", \"100KB\"]"
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
    /// The congestion law.
    pub law: LawParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            thresholds: Thresholds::Named(Optimal::Optimal),
            law: LawParams::ns2(),
            port: PortParams::default(),
        }
    }
}

/// The scheme.
pub struct Pias {
    transport: TransportParams,
    tags: TagTable,
    law: LawParams,
    port: PortParams,
}

impl Thresholds {
    fn resolve(&self, queues: u8, facts: &Facts) -> Result<Vec<Bytes>, ParamError> {
        let missing = |what| {
            ParamError::new(
                "thresholds",
                format!("{what} needs a workload with sizes and a load; give a list"),
            )
        };
        match self {
            Thresholds::Given(list) => Ok(list.clone()),
            Thresholds::Named(Optimal::Optimal) => {
                let traffic = facts.traffic.as_ref().ok_or_else(|| missing("\"optimal\""))?;
                if traffic.load >= 1.0 {
                    let message =
                        format!("\"optimal\" needs a load below 1, not {:.2}; give a list", traffic.load);
                    return Err(ParamError::new("thresholds", message));
                }
                Ok(model::optimal(&traffic.sizes, traffic.load, usize::from(queues)).thresholds)
            }
            Thresholds::Published { published: workload, load } => {
                let planned = || facts.traffic.as_ref().map(|t| t.load);
                let load = load.or_else(planned).ok_or_else(|| missing("a published table"))?;
                published(workload, load).ok_or_else(|| {
                    let known = published::WORKLOADS.join(", ");
                    ParamError::new(
                        "thresholds.published",
                        format!("no table for \"{workload}\"; there are {known}"),
                    )
                })
            }
        }
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
    type Host = Tagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        let thresholds = params.thresholds.resolve(params.port.queues, facts)?;
        check_thresholds(&thresholds, params.port.queues)?;
        // PIAS demotes once more than α bytes have been sent: bytes_before ≤ α stays.
        let limits: Vec<Bytes> = thresholds.iter().map(|&alpha| alpha + Bytes::new(1)).collect();
        let tags = TagTable::with_limits(&limits);
        Ok(Pias { transport: facts.transport, tags, law: params.law, port: params.port })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, _: &FlowInfo) -> DctcpLaw {
        DctcpLaw::new(&self.law, &self.transport)
    }
    fn host(&self) -> Tagged {
        Tagged(self.tags)
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.port, port)
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.port.switch_plan(link, |queue| sunk(&self.tags, queue)))
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        self.port.is_strict().then(|| Box::new(Queues(self.host())) as Box<dyn RateRule>)
    }
}
