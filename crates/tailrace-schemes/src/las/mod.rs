//! Least attained service, ideally: pFabric's ports and law, ranks that need no knowledge of the flow.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Facts, FlowInfo, Knowledge, ParamError, PortFacts, Scheme, Untagged};
use tailrace_queues::RankQueue;

use crate::pfabric::{Fresh, LawParams, PfabricLaw, Rank, Urgency};

/// Parameters of `las`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The congestion law.
    pub law: LawParams,
}

/// The scheme.
pub struct Las {
    fresh: Fresh,
}

impl Scheme for Las {
    const NAME: &'static str = "las";
    const SUMMARY: &'static str =
        "ports send the flow that has sent the least and drop the one with the most";
    const SOURCE: &'static str = "Nuyens and Wierman, The foreground-background queue: a survey, 2008";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = Rank;
    type Law = PfabricLaw;
    type Host = Untagged;
    type Port = RankQueue<Rank>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        Ok(Las { fresh: Fresh::new(&params.law, facts).map_err(|e| e.within("law"))? })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> PfabricLaw {
        self.fresh.law(Urgency::Sent)
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> RankQueue<Rank> {
        RankQueue::new(port.unit)
    }
}
