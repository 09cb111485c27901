//! pFabric: every packet carries its flow's urgency, and ports send the most urgent and drop the least.

mod header;
mod law;
#[cfg(test)]
mod tests;

pub use header::Rank;
pub use law::{Fresh, LawParams, PfabricLaw, Urgency};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Facts, FlowInfo, Knowledge, ParamError, PortFacts, Rate, RateRule, Scheme, Untagged};
use tailrace_queues::RankQueue;

use crate::srpt::Srpt;

/// What is urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankBy {
    /// Flows with the fewest bytes left; those that do not tell their size, by the bytes they have sent.
    #[default]
    Remaining,
    /// Packets that the fewest bytes of their flow precede.
    Sent,
    /// Flows with the earliest deadline that they can still meet, then the others by bytes left.
    Edf,
}

/// Parameters of `pfabric`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What is urgent: `"remaining"`, `"sent"` or `"edf"`.
    pub rank: RankBy,
    /// The congestion law.
    pub law: LawParams,
}

/// The scheme.
pub struct Pfabric {
    fresh: Fresh,
    rank: RankBy,
    host_rate: Rate,
}

impl Scheme for Pfabric {
    const NAME: &'static str = "pfabric";
    const SUMMARY: &'static str =
        "ports send the flow that has the least left and drop the one with the most";
    const SOURCE: &'static str = "Alizadeh et al., SIGCOMM 2013; EDF as in Karuna §8.2";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    type Params = Params;
    type Header = Rank;
    type Law = PfabricLaw;
    type Host = Untagged;
    type Port = RankQueue<Rank>;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        let fresh = Fresh::new(&params.law, facts).map_err(|e| e.within("law"))?;
        Ok(Pfabric { fresh, rank: params.rank, host_rate: facts.host_rate })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, flow: &FlowInfo) -> PfabricLaw {
        self.fresh.law(match (self.rank, flow.deadline, flow.size) {
            (RankBy::Edf, Some(at), Some(size)) => Urgency::Deadline { at, size, rate: self.host_rate },
            (RankBy::Edf | RankBy::Remaining, _, Some(size)) => Urgency::Remaining { size },
            _ => Urgency::Sent,
        })
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> RankQueue<Rank> {
        RankQueue::new(port.unit)
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        match self.rank {
            RankBy::Remaining => Some(Box::new(Srpt)),
            RankBy::Sent | RankBy::Edf => None,
        }
    }
}
