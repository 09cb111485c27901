//! Three tiers: pods of edge and aggregation switches, joined by core switches (fat trees and, with one
//! aggregation switch a pod, plain trees).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Rate, Time};

use super::build::Builder;
use super::{Buffer, Fabric, LoadBalancing, Node, SwitchId};

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
        let per_edge = self.hosts_per_edge;
        let switches = self.edges() + self.pods * self.aggs_per_pod + self.cores;
        let mut builder = Builder::new(self.edges() * per_edge, switches, |host| host / per_edge);
        builder.network_cards(self.host_rate, self.host_delay);
        let all: Vec<SwitchId> = (0..self.edges()).collect();
        for edge in 0..self.edges() {
            builder.switch(&format!("edge{edge}"));
            for host in edge * per_edge..(edge + 1) * per_edge {
                builder.port(Node::Host(host), self.host_rate, self.host_delay);
            }
            let up = builder.ports(&self.aggs_of(edge / self.edges_per_pod), self.edge_rate, self.edge_delay);
            builder.route(&all, up);
        }
        for agg in 0..self.pods * self.aggs_per_pod {
            builder.switch(&format!("agg{agg}"));
            let up = builder.ports(&self.cores_of(agg % self.aggs_per_pod), self.core_rate, self.core_delay);
            builder.route(&all, up);
            for edge in self.edges_of(agg / self.aggs_per_pod) {
                let down = builder.ports(&[edge], self.edge_rate, self.edge_delay);
                builder.route(&[edge], down);
            }
        }
        for core in 0..self.cores {
            builder.switch(&format!("core{core}"));
            let part = core / (self.cores / self.aggs_per_pod);
            for pod in 0..self.pods {
                let agg = self.aggs_of(pod)[usize::from(part)];
                let down = builder.ports(&[agg], self.core_rate, self.core_delay);
                builder.route(&self.edges_of(pod), down);
            }
        }
        builder.finish(load_balancing, buffer)
    }

    fn edges(&self) -> u16 {
        self.pods * self.edges_per_pod
    }

    fn edges_of(&self, pod: u16) -> Vec<SwitchId> {
        (pod * self.edges_per_pod..(pod + 1) * self.edges_per_pod).collect()
    }

    fn aggs_of(&self, pod: u16) -> Vec<SwitchId> {
        let first = self.edges() + pod * self.aggs_per_pod;
        (first..first + self.aggs_per_pod).collect()
    }

    fn cores_of(&self, part: u16) -> Vec<SwitchId> {
        let (first, size) = (self.edges() + self.pods * self.aggs_per_pod, self.cores / self.aggs_per_pod);
        (first + part * size..first + (part + 1) * size).collect()
    }
}
