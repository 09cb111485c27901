//! Data-parallel jobs: what mappers have made goes to reducers, once or several times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;

use super::aggregate::three_percent;
use super::built::{Built, check_flows, check_hosts, check_selectivity};
use crate::Setting;
use crate::hosts::Hosts;
use crate::task::placement::Placement;
use crate::task::shape::{Origin, Role, Shape, spread};

/// Every mapper sends to every reducer. In more than one stage, those that received then send to those that sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// Hosts that send in the first stage.
    pub mappers: u16,
    /// Hosts that receive in the first stage.
    pub reducers: u16,
    /// Hosts that both are drawn from for each task, all different; all if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// Shuffles, each after the one before has ended.
    #[serde(default = "one")]
    pub stages: u8,
    /// Bytes that a host sends on, to all together, for each that it received in the stage before.
    #[serde(default = "three_percent")]
    pub selectivity: f64,
}

fn one() -> u8 {
    1
}

impl Shuffle {
    pub(super) fn build(&self, setting: &Setting) -> Built {
        let Shuffle { mappers, reducers, stages, .. } = *self;
        let positive = [
            ("mappers", u16::from(mappers > 0)),
            ("reducers", u16::from(reducers > 0)),
            ("stages", stages.into()),
        ];
        if let Some((field, _)) = positive.into_iter().find(|(_, given)| *given == 0) {
            return Err(ScenarioError::new(field, "is 0, but must be at least 1"));
        }
        if stages == 1 && self.selectivity != three_percent() {
            return Err(ScenarioError::new("selectivity", "needs stages = 2 or more"));
        }
        check_selectivity(self.selectivity)?;
        check_flows("mappers", u64::from(mappers) * u64::from(reducers) * u64::from(stages))?;
        let pool = match &self.hosts {
            Some(hosts) => hosts.check("hosts", setting).map(|()| hosts.sorted(&setting.racks))?,
            None => setting.host_ids().collect(),
        };
        let count = usize::from(mappers) + usize::from(reducers);
        if count > pool.len() {
            let message = format!(
                "are {count} hosts with the reducers, but there are only {} to draw from",
                pool.len()
            );
            return Err(ScenarioError::new("mappers", message));
        }
        check_hosts("mappers", count)?;
        Ok((self.shape(), Placement::Drawn { pool, count }))
    }

    fn shape(&self) -> Shape {
        let mut shape = Shape::default();
        let mut senders: Vec<Role> = (0..self.mappers).collect();
        let mut receivers: Vec<Role> = (self.mappers..self.mappers + self.reducers).collect();
        let pairs =
            senders.iter().flat_map(|&src| receivers.iter().map(move |&dst| (src, dst, Origin::Share)));
        let mut last = shape.stage(&[], pairs.collect::<Vec<_>>());
        for _ in 1..self.stages {
            std::mem::swap(&mut senders, &mut receivers);
            let received = shape.received(&[last], self.selectivity);
            let flows = senders.iter().flat_map(|src| spread(*src, received[src], &receivers));
            last = shape.stage(&[last], flows);
        }
        shape
    }
}
