//! Partition-aggregate: a query is spread over workers, and their answers are joined, in one step or two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::HostId;

use super::built::{Built, check_flows, check_hosts, check_selectivity};
use crate::Setting;
use crate::hosts::Hosts;
use crate::task::placement::{Aggregation, Placement};
use crate::task::shape::{Chunk, Origin, Role, Shape};

/// An aggregator that hears from workers of its rack or, in two stages, from aggregators in other racks of its pod,
/// each of which hears from workers of its own rack and sends on once all have answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionAggregate {
    /// 1: workers answer the aggregator. 2: they answer an aggregator of their rack, and these the one at the top.
    #[serde(default = "one")]
    pub stages: u8,
    /// Hosts that a task's aggregator, the one at the top, is drawn from. If left out, the last host of every rack,
    /// in two stages the last host of every pod's last rack. (Fabrics without pods are one.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregators: Option<Hosts>,
    /// In two stages: racks of the pod that are asked, drawn for each task; all but the aggregator's own if left out.
    /// The last host of each aggregates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mids: Option<u16>,
    /// Workers of a rack, drawn for each task; all but the aggregator if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u16>,
    /// In two stages: bytes that go to the top for each that a rack's aggregator received.
    #[serde(default = "three_percent")]
    pub selectivity: f64,
}

fn one() -> u8 {
    1
}
/// Baraat §5.2.
pub(super) fn three_percent() -> f64 {
    0.03
}

impl PartitionAggregate {
    pub(super) fn build(&self, setting: &Setting) -> Built {
        if !(1..=2).contains(&self.stages) {
            return Err(ScenarioError::new("stages", format!("is {}, but must be 1 or 2", self.stages)));
        }
        if self.stages == 1 && self.mids.is_some() {
            return Err(ScenarioError::new("mids", "needs stages = 2"));
        }
        if self.stages == 1 && self.selectivity != three_percent() {
            return Err(ScenarioError::new("selectivity", "needs stages = 2"));
        }
        check_selectivity(self.selectivity)?;
        let tops = self.tops(setting)?;
        let mids = if self.stages == 1 { None } else { Some(self.mids(&tops, setting)?) };
        let workers = self.workers(&tops, setting)?;
        check_flows("workers", u64::from(mids.unwrap_or(1)) * (u64::from(workers) + 1))?;
        let below = |mids: u16| usize::from(mids) * (usize::from(workers) + 1);
        check_hosts("workers", 1 + mids.map_or(usize::from(workers), below))?;
        let placement = Aggregation { tops, setting: setting.clone(), mids, workers };
        Ok((self.shape(mids, workers), Placement::Aggregation(placement)))
    }

    /// Role 0 is the aggregator at the top; those of the racks come next, then the workers, rack by rack.
    fn shape(&self, mids: Option<u16>, workers: u16) -> Shape {
        let mut shape = Shape::default();
        let Some(mids) = mids else {
            shape.stage(&[], (1..=workers).map(|worker| (worker, 0, Origin::Share)));
            return shape;
        };
        let asked = |mid: Role| {
            let first = 1 + mids + (mid - 1) * workers;
            (first..first + workers).map(move |worker| (worker, mid, Origin::Share))
        };
        let racks: Vec<u32> = (1..=mids).map(|mid| shape.stage(&[], asked(mid))).collect();
        for (mid, rack) in (1..=mids).zip(racks) {
            let joined = shape.received(&[rack], self.selectivity)[&mid];
            shape.stage(&[rack], [(mid, 0, Origin::From(joined, Chunk::WHOLE))]);
        }
        shape
    }

    fn tops(&self, setting: &Setting) -> Result<Vec<HostId>, ScenarioError> {
        if let Some(hosts) = &self.aggregators {
            return hosts.check("aggregators", setting).map(|()| hosts.sorted(&setting.racks));
        }
        let racks = setting.racks.count();
        let every = if self.stages == 1 { 1 } else { setting.racks_per_pod };
        let last_of = |rack: u16| setting.racks.hosts(rack).end - 1;
        Ok((0..racks).filter(|rack| (rack + 1).is_multiple_of(every)).map(last_of).collect())
    }

    fn mids(&self, tops: &[HostId], setting: &Setting) -> Result<u16, ScenarioError> {
        let others = |&top: &HostId| setting.other_racks_of_pod(setting.racks.of(top)).count();
        let fewest = tops.iter().map(others).min().unwrap_or(0);
        if fewest == 0 {
            let message = "is 2, but a pod has only one rack here: two stages need others, to ask them";
            return Err(ScenarioError::new("stages", message));
        }
        match self.mids {
            None => Ok(fewest as u16),
            Some(mids) if (1..=fewest).contains(&usize::from(mids)) => Ok(mids),
            Some(mids) => {
                let message = format!("is {mids}, but must be 1 to {fewest}, the other racks of a pod");
                Err(ScenarioError::new("mids", message))
            }
        }
    }

    fn workers(&self, tops: &[HostId], setting: &Setting) -> Result<u16, ScenarioError> {
        let racks = &setting.racks;
        let asked = |&top: &HostId| -> Vec<u16> {
            let own = racks.of(top);
            if self.stages == 1 { vec![own] } else { setting.other_racks_of_pod(own).collect() }
        };
        let sizes = tops.iter().flat_map(asked).map(|rack| racks.hosts(rack).len() - 1);
        let fewest = sizes.min().unwrap_or(0);
        match self.workers {
            None if fewest > 0 => Ok(fewest as u16),
            Some(workers) if (1..=fewest).contains(&usize::from(workers)) => Ok(workers),
            None => Err(ScenarioError::new("workers", "are not to be had: some rack has one host only")),
            Some(workers) => {
                let message = format!(
                    "is {workers}, but must be 1 to {fewest}, the hosts of a rack beside its aggregator"
                );
                Err(ScenarioError::new("workers", message))
            }
        }
    }
}
