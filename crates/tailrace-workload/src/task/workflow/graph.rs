//! Workflows given stage by stage.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, suggest};
use tailrace_core::HostId;

use super::built::{Built, check_flows, check_hosts, check_selectivity};
use crate::Setting;
use crate::hosts::Hosts;
use crate::task::placement::Placement;
use crate::task::shape::{Origin, Role, Shape, spread};

/// A stage of a workflow: every host of `from` sends to every other of `to`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphStage {
    /// By which other stages name it.
    pub name: String,
    /// Hosts that send.
    pub from: Hosts,
    /// Hosts that receive.
    pub to: Hosts,
    /// Stages that must have ended before it starts. Without any it starts when the task arrives, and its flows share
    /// in the task's bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// After others: bytes that a host sends, to all together, for each that it received in those stages.
    #[serde(default = "one")]
    pub selectivity: f64,
}

fn one() -> f64 {
    1.0
}

/// The shape of a graph, and its hosts.
pub(super) fn build(stages: &[GraphStage], setting: &Setting) -> Built {
    if stages.is_empty() {
        return Err(ScenarioError::new("", "must have at least one stage"));
    }
    let before = prerequisites(stages)?;
    let mut hosts: Vec<HostId> = Vec::new();
    let mut shape = Shape::default();
    let mut built = vec![0; stages.len()];
    for number in in_order(stages, &before)? {
        let within = |error: ScenarioError| error.within(&format!("[{number}]"));
        let pairs = stages[number].pairs(setting).map_err(within)?;
        let named: BTreeSet<HostId> =
            pairs.iter().flat_map(|&(src, dst)| [src, dst]).chain(hosts.iter().copied()).collect();
        check_hosts("", named.len())?;
        let pairs: Vec<(Role, Role)> =
            pairs.into_iter().map(|(src, dst)| (role(&mut hosts, src), role(&mut hosts, dst))).collect();
        check_flows("", (shape.flows.len() + pairs.len()) as u64)?;
        let after: Vec<u32> = before[number].iter().map(|&stage| built[stage]).collect();
        let flows = stages[number].flows(&pairs, &after, &mut shape, &hosts).map_err(within)?;
        built[number] = shape.stage(&after, flows);
    }
    Ok((shape, Placement::Fixed(hosts)))
}

/// The role of a host.
fn role(hosts: &mut Vec<HostId>, host: HostId) -> Role {
    let place = hosts.iter().position(|&known| known == host).unwrap_or_else(|| {
        hosts.push(host);
        hosts.len() - 1
    });
    place as Role
}

impl GraphStage {
    fn pairs(&self, setting: &Setting) -> Result<Vec<(HostId, HostId)>, ScenarioError> {
        self.from.check("from", setting)?;
        self.to.check("to", setting)?;
        let (from, to) = (self.from.sorted(&setting.racks), self.to.sorted(&setting.racks));
        check_flows("", from.len() as u64 * to.len() as u64)?;
        let others =
            |src: HostId| to.iter().copied().filter(move |&dst| dst != src).map(move |dst| (src, dst));
        let pairs: Vec<_> = from.iter().flat_map(|&src| others(src)).collect();
        if pairs.is_empty() {
            return Err(ScenarioError::new("to", "is the host of from, but a flow needs two"));
        }
        Ok(pairs)
    }

    fn flows(
        &self,
        pairs: &[(Role, Role)],
        after: &[u32],
        shape: &mut Shape,
        hosts: &[HostId],
    ) -> Result<Vec<(Role, Role, Origin)>, ScenarioError> {
        if after.is_empty() {
            if self.selectivity != one() {
                let message = "is for stages that come after others: this one has no input";
                return Err(ScenarioError::new("selectivity", message));
            }
            return Ok(pairs.iter().map(|&(src, dst)| (src, dst, Origin::Share)).collect());
        }
        check_selectivity(self.selectivity)?;
        let received = shape.received(after, self.selectivity);
        let mut flows = Vec::with_capacity(pairs.len());
        for own in pairs.chunk_by(|a, b| a.0 == b.0) {
            let src = own[0].0;
            let Some(&source) = received.get(&src) else {
                let message = format!(
                    "host {} has nothing to send: it receives nothing in {}",
                    hosts[usize::from(src)],
                    self.after.join(", ")
                );
                return Err(ScenarioError::new("from", message));
            };
            let receivers: Vec<Role> = own.iter().map(|pair| pair.1).collect();
            flows.extend(spread(src, source, &receivers));
        }
        Ok(flows)
    }
}

/// The stages that each waits for, by their places.
fn prerequisites(stages: &[GraphStage]) -> Result<Vec<Vec<usize>>, ScenarioError> {
    let names = || stages.iter().map(|stage| stage.name.as_str());
    let of = |(number, stage): (usize, &GraphStage)| {
        let wrong =
            |field: &str, message: String| Err(ScenarioError::new(format!("[{number}].{field}"), message));
        if names().take(number).any(|name| name == stage.name) {
            return wrong("name", format!("\"{}\" is the name of an earlier stage", stage.name));
        }
        let mut before = Vec::with_capacity(stage.after.len());
        for name in &stage.after {
            match names().position(|known| known == name) {
                Some(place) if before.contains(&place) => {
                    return wrong("after", format!("names \"{name}\" twice"));
                }
                Some(place) => before.push(place),
                None => return wrong("after", suggest::unknown("stage", name, names())),
            }
        }
        Ok(before)
    };
    stages.iter().enumerate().map(of).collect()
}

/// The stages in an order in which each comes after those that it waits for.
fn in_order(stages: &[GraphStage], before: &[Vec<usize>]) -> Result<Vec<usize>, ScenarioError> {
    let mut order: Vec<usize> = Vec::with_capacity(stages.len());
    let mut placed = vec![false; stages.len()];
    while order.len() < stages.len() {
        let ready = |&stage: &usize| !placed[stage] && before[stage].iter().all(|&other| placed[other]);
        let Some(next) = (0..stages.len()).find(ready) else {
            return Err(cycle(stages, before, &placed));
        };
        placed[next] = true;
        order.push(next);
    }
    Ok(order)
}

/// Says which stages wait for each other: every stage that is left waits for another that is left.
fn cycle(stages: &[GraphStage], before: &[Vec<usize>], placed: &[bool]) -> ScenarioError {
    let waits_for =
        |stage: usize| before[stage].iter().copied().find(|&other| !placed[other]).unwrap_or(stage);
    let mut way = vec![placed.iter().position(|placed| !placed).unwrap_or(0)];
    loop {
        let next = waits_for(way[way.len() - 1]);
        if let Some(start) = way.iter().position(|&stage| stage == next) {
            way.drain(..start);
            break;
        }
        way.push(next);
    }
    let first = way[0];
    let names: Vec<&str> = way.iter().chain([&first]).map(|&stage| stages[stage].name.as_str()).collect();
    let message = format!("is a cycle: {}; a stage must not wait for itself", names.join(" waits for "));
    ScenarioError::new(format!("[{first}].after"), message)
}
