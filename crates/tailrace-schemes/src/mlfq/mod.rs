//! DCTCP flows that sink through strict-priority queues at fixed thresholds of bytes sent.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Directive, Facts, FlowInfo, HostLaw, HostLawKind, HostPolicy, Knowledge, ParamError, PortFacts,
    Queues, Rate, RateRule, Scheme, SwitchPlan, TagTable,
};
use tailrace_queues::{MultiQueue, PortParams};

use crate::dctcp::{DctcpLaw, LawParams};

/// Parameters of `mlfq`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// A packet is in queue i while fewer than the i-th threshold's bytes of its flow precede it; ascending,
    /// one fewer than queues.
    pub thresholds: Vec<Bytes>,
    /// The congestion law.
    pub law: LawParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        // AWAFS §5.4: 7 KB apart.
        let thresholds = (1..8).map(|i| Bytes::new(7_000 * i)).collect();
        Params { thresholds, law: LawParams::ns2(), port: PortParams::default() }
    }
}

/// The scheme.
pub struct Mlfq {
    transport: TransportParams,
    tags: TagTable,
    law: LawParams,
    port: PortParams,
}

/// Checks that thresholds ascend and fit the number of queues.
pub fn check_thresholds(thresholds: &[Bytes], queues: u8) -> Result<(), ParamError> {
    if thresholds.len() + 1 != usize::from(queues) {
        let message =
            format!("{} thresholds for {queues} queues: one fewer than queues is needed", thresholds.len());
        return Err(ParamError::new("thresholds", message));
    }
    match thresholds.windows(2).find(|pair| pair[0] > pair[1]) {
        Some(pair) => {
            let message = format!("{} comes before {}: thresholds must ascend", pair[0], pair[1]);
            Err(ParamError::new("thresholds", message))
        }
        None => Ok(()),
    }
}

/// Which packets a queue holds where flows sink by a table, in words.
pub fn sunk(tags: &TagTable, queue: usize) -> String {
    let (from, limit) = tags.range(queue);
    let most = |limit: u64| Bytes::new(limit.saturating_sub(1));
    let data = match (from, limit) {
        (from, limit) if from == limit => return "nothing".into(),
        (0, u64::MAX) => "all data".into(),
        (0, limit) => format!("data with at most {} of its flow before it", most(limit)),
        (from, u64::MAX) => format!("data with more than {} of its flow before it", most(from)),
        (from, limit) => {
            format!("data with more than {}, at most {} of its flow before it", most(from), most(limit))
        }
    };
    if queue == 0 { format!("acknowledgements; {data}") } else { data }
}

/// Tags every flow by one table.
pub struct Tagged(pub TagTable);

impl HostPolicy for Tagged {
    fn directive(&self, _: &FlowInfo) -> Directive {
        Directive::tagged(self.0)
    }
}

impl Scheme for Mlfq {
    const NAME: &'static str = "mlfq";
    const SUMMARY: &'static str = "flows sink through priority queues at fixed thresholds; DCTCP";
    const SOURCE: &'static str = "the static side of Gutiérrez, AWAFS, 2019, §5.3 and §5.4";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = Params;
    type Header = ();
    type Law = DctcpLaw;
    type Host = Tagged;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        check_thresholds(&params.thresholds, params.port.queues)?;
        let tags = TagTable::with_limits(&params.thresholds);
        Ok(Mlfq { transport: facts.transport, tags, law: params.law, port: params.port })
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
    fn host_law(&self) -> Option<HostLaw> {
        Some(self.law.host_law(&self.transport, HostLawKind::Dctcp))
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.port.switch_plan(link, |queue| sunk(&self.tags, queue)))
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        self.port.is_strict().then(|| Box::new(Queues(self.host())) as Box<dyn RateRule>)
    }
}
