//! Three tiers: pods of edge and aggregation switches, joined by core switches (fat trees and, with one
//! aggregation switch a pod, plain trees).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::wiring::Wiring;
use super::{Buffer, Fabric, LoadBalancing, SwitchId};

/// Three tiers: pods of edge and aggregation switches, joined by core switches.
///
/// Every edge switch has a link to every aggregation switch of its pod. The core switches are dealt out in
/// equal parts: the `j`-th aggregation switch of every pod has a link to each core switch of part `j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Number of pods.
    pub pods: u16,
    /// Edge switches in each pod.
    pub edges_per_pod: u16,
    /// Hosts under each edge switch.
    pub hosts_per_edge: u16,
    /// Aggregation switches in each pod.
    pub aggs_per_pod: u16,
    /// Number of core switches, a multiple of `aggs_per_pod`.
    pub cores: u16,
    /// Rate of a link between host and edge switch.
    pub host_rate: Rate,
    /// Rate of a link between edge and aggregation switch.
    pub edge_rate: Rate,
    /// Rate of a link between aggregation and core switch.
    pub core_rate: Rate,
    /// Delay of a link between host and edge switch.
    pub host_delay: Time,
    /// Delay of a link between edge and aggregation switch.
    pub edge_delay: Time,
    /// Delay of a link between aggregation and core switch.
    pub core_delay: Time,
}

impl Tree {
    /// The fabric. Edge switches come first, pod by pod, then aggregation switches, pod by pod, then core
    /// switches; host `h` hangs on edge switch `h / hosts_per_edge`.
    pub fn build(&self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        let (each, aggs) = (self.hosts_per_edge, self.pods * self.aggs_per_pod);
        let named = |name: &'static str, count| (0..count).map(move |number: u16| format!("{name}{number}"));
        let names = named("edge", self.edges()).chain(named("agg", aggs)).chain(named("core", self.cores));
        let mut wiring = Wiring::new(names.collect());
        for agg in 0..aggs {
            let cores = self.cores_of(agg % self.aggs_per_pod);
            wiring.switches(self.edges() + agg, cores, self.core_rate, self.core_delay);
        }
        for edge in 0..self.edges() {
            wiring.hosts(edge, each, self.host_rate, self.host_delay);
            let up = self.aggs_of(edge / self.edges_per_pod);
            wiring.switches(edge, up, self.edge_rate, self.edge_delay);
        }
        wiring.build(load_balancing, buffer)
    }

    fn edges(&self) -> u16 {
        self.pods * self.edges_per_pod
    }

    fn aggs_of(&self, pod: u16) -> Range<SwitchId> {
        let first = self.edges() + pod * self.aggs_per_pod;
        first..first + self.aggs_per_pod
    }

    fn cores_of(&self, part: u16) -> Range<SwitchId> {
        let (first, size) = (self.edges() + self.pods * self.aggs_per_pod, self.cores / self.aggs_per_pod);
        first + part * size..first + (part + 1) * size
    }
}
