//! From a fabric, a scheme and flows to what their run leaves behind.

use std::ops::ControlFlow;

use proptest::prelude::*;
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Ending, Facts, FlowRecord, HEADER_BYTES, HostId, HostPolicy, Ledger, Objective, PortCounts,
    PortId, Rate, Scheme, SeriesRow, SeriesSource, SizeDistribution, Slice, Time, Traffic,
};
use tailrace_fabric::{
    Buffer, Dumbbell, Fabric, FabricKind, FabricParams, LeafSpine, LoadBalancing, Star, Tree,
};
use tailrace_packet::{Tap, Watch, World};
use tailrace_schemes::{SchemeVisitor, with_scheme};
use tailrace_workload::FlowSpec;

/// Payload of a full segment unless a test says otherwise.
pub const MSS: u64 = 1460;
/// Memory that never runs out.
pub const ENDLESS: Buffer = Buffer::PerPort(Bytes::MAX);
/// A slice.
const ONE: Slice = Slice { weight: 1.0, objective: Objective::Completion };
/// All load-balancing rules.
pub const BALANCINGS: [LoadBalancing; 5] = [
    LoadBalancing::Ecmp,
    LoadBalancing::SprayRoundRobin,
    LoadBalancing::SprayRandom,
    LoadBalancing::Flowlet { gap: Time::from_us(50) },
    LoadBalancing::Flowcell { size: Bytes::new(15_000) },
];

/// Everything that determines a run but the scheme.
#[derive(Clone)]
pub struct Setup {
    pub fabric: Fabric,
    pub transport: TransportParams,
    pub flows: Vec<FlowSpec>,
    pub horizon: Option<Time>,
    pub watch: Watch,
    pub seed: u64,
}

/// What a run leaves behind.
pub struct Run {
    pub ending: Ending,
    pub records: Vec<FlowRecord>,
    pub ledger: Ledger,
    pub digest: u64,
    pub ports: Vec<PortCounts>,
    pub series: Vec<(SeriesSource, SeriesRow)>,
}

/// Something to do with a scheme that is ready to run.
pub trait WithScheme {
    type Output;
    fn with<S: Scheme>(self, scheme: S) -> Self::Output;
}

impl Setup {
    pub fn new(fabric: Fabric, mut flows: Vec<FlowSpec>) -> Self {
        flows.sort_by_key(|flow| flow.start);
        let transport = TransportParams::default();
        Setup { fabric, transport, flows, horizon: None, watch: Watch::default(), seed: 1 }
    }

    /// Runs the scheme of that name with parameters written as in a scenario file.
    pub fn run(&self, scheme: &str, params: &str) -> Run {
        self.with_scheme(scheme, params, Plainly(self))
    }

    /// Runs a scheme.
    pub fn run_scheme<S: Scheme>(&self, scheme: S) -> Run {
        self.run_tapped(scheme, None)
    }

    /// Runs a scheme and tells of all that a port sends.
    pub fn run_tapped<S: Scheme>(&self, scheme: S, tapped: Option<(PortId, Tap)>) -> Run {
        let Setup { fabric, transport, flows, horizon, watch, seed, .. } = self;
        let flows = flows.clone().into();
        let mut world = World::new(scheme, fabric, *transport, flows, *horizon, watch.clone(), *seed);
        if let Some((port, tap)) = tapped {
            world = world.tapping(port, tap);
        }
        let ending = world.run(&mut |_| ControlFlow::Continue(()));
        let outcome = world.into_outcome();
        Run {
            ending,
            records: outcome.flows.iter().collect(),
            ledger: outcome.ledger.unwrap_or_else(|| panic!("packets were not counted")),
            digest: outcome.digest,
            ports: outcome.ports,
            series: outcome.series.rows,
        }
    }

    /// Makes the scheme of that name and lets `then` work with it.
    pub fn with_scheme<W: WithScheme>(&self, scheme: &str, params: &str, then: W) -> W::Output {
        let named = Named { facts: self.facts(), params, then };
        with_scheme(scheme, named).unwrap_or_else(|unknown| panic!("{scheme}: {unknown:?}"))
    }

    /// What schemes are told. Those that fit thresholds to the traffic get some to fit them to, and those that share
    /// by slices a slice.
    pub fn facts(&self) -> Facts {
        let sizes = SizeDistribution::new(vec![(1e3, 0.0), (1e4, 0.6), (1e5, 0.9), (1e6, 1.0)]);
        let sizes = sizes.unwrap_or_else(|error| panic!("{error}"));
        let fabric = &self.fabric;
        let base_rtt = fabric.farthest_rtt(self.transport.mss + HEADER_BYTES, self.transport.ack_bytes);
        Facts {
            transport: self.transport,
            traffic: Some(Traffic { sizes, workload: None, load: 0.6, classes: vec![] }),
            slices: if self.watch.slices.is_empty() { vec![ONE] } else { self.watch.slices.clone() },
            racks: fabric.edge_of.clone(),
            ..Facts::new(fabric.hosts, fabric.host_rate(), base_rtt, fabric.longest_path())
        }
    }
}

impl Run {
    /// The completion time of the only flow.
    pub fn only_fct(&self) -> Time {
        assert_eq!(self.records.len(), 1);
        self.records[0].fct().unwrap_or_else(|| panic!("the flow did not finish: {:?}", self.records[0]))
    }
}

struct Named<'a, W> {
    facts: Facts,
    params: &'a str,
    then: W,
}

impl<W: WithScheme> SchemeVisitor for Named<'_, W> {
    type Output = W::Output;
    fn visit<S: Scheme>(self) -> W::Output {
        let Named { facts, params, then } = self;
        // Read by way of a scheme's choice in a scenario, which knows the format.
        let table = tailrace_scenario::SchemeChoice {
            name: S::NAME.to_owned(),
            label: None,
            oracle: false,
            params: params.parse().unwrap_or_else(|error| panic!("{params}: {error}")),
        };
        let params = table.params.try_into().unwrap_or_else(|error| panic!("{params}: {error}"));
        then.with(S::new(params, &facts).unwrap_or_else(|error| panic!("{}: {error}", S::NAME)))
    }
}

struct Plainly<'a>(&'a Setup);

impl WithScheme for Plainly<'_> {
    type Output = Run;
    fn with<S: Scheme>(self, scheme: S) -> Run {
        self.0.run_scheme(scheme)
    }
}

/// Whether the scheme of that name keeps state of flows at the ports of their way.
pub fn takes_one_path(scheme: &str) -> bool {
    struct OnePath;
    impl SchemeVisitor for OnePath {
        type Output = bool;
        fn visit<S: Scheme>(self) -> bool {
            S::ONE_PATH
        }
    }
    with_scheme(scheme, OnePath).unwrap_or_else(|unknown| panic!("{scheme}: {unknown:?}"))
}

/// Whether hosts keep the scheme's flows to rates, whatever their windows.
pub fn caps_flows(scheme: &str) -> bool {
    struct Caps;
    impl SchemeVisitor for Caps {
        type Output = bool;
        fn visit<S: Scheme>(self) -> bool {
            S::Host::CAPS
        }
    }
    with_scheme(scheme, Caps).unwrap_or_else(|unknown| panic!("{scheme}: {unknown:?}"))
}

/// A flow that starts at `start`.
pub fn flow(src: HostId, dst: HostId, size: u64, start: Time) -> FlowSpec {
    FlowSpec { src, dst, size: Bytes::new(size), start, ..FlowSpec::default() }
}

/// A fabric from the fields of a scenario's `[fabric]`.
pub fn fabric(fields: &str) -> Fabric {
    let table = fields.parse().unwrap_or_else(|error| panic!("{fields}: {error}"));
    FabricParams::from_table(&table)
        .unwrap_or_else(|error| panic!("{fields}: {error}"))
        .build()
        .as_ref()
        .clone()
}

/// A preset of that name.
pub fn preset(name: &str) -> Fabric {
    fabric(&format!("preset = \"{name}\""))
}

/// Small fabrics of every kind with any rates and delays.
pub fn any_kind() -> impl Strategy<Value = FabricKind> {
    prop_oneof![
        (any_rate(), any_delay()).prop_map(|(host_rate, host_delay)| {
            FabricKind::Star(Star { hosts: 3, host_rate, host_delay })
        }),
        (any_rate(), any_rate(), any_delay(), any_delay()).prop_map(
            |(host_rate, bottleneck_rate, host_delay, bottleneck_delay)| {
                FabricKind::Dumbbell(Dumbbell {
                    left: 2,
                    right: 2,
                    host_rate,
                    bottleneck_rate,
                    host_delay,
                    bottleneck_delay,
                })
            }
        ),
        (1u16..6, any_rate(), any_rate(), any_delay(), any_delay()).prop_map(
            |(spines, host_rate, spine_rate, host_delay, spine_delay)| {
                FabricKind::LeafSpine(LeafSpine {
                    leaves: 2,
                    spines,
                    hosts_per_leaf: 2,
                    host_rate,
                    spine_rate,
                    host_delay,
                    spine_delay,
                })
            }
        ),
        (1u16..4, 1u16..4, [any_rate(), any_rate(), any_rate()], any_delay()).prop_map(
            |(aggs_per_pod, cores_per_agg, [host_rate, edge_rate, core_rate], delay)| {
                FabricKind::Tree(Tree {
                    pods: 2,
                    edges_per_pod: 2,
                    hosts_per_edge: 2,
                    aggs_per_pod,
                    cores: aggs_per_pod * cores_per_agg,
                    host_rate,
                    edge_rate,
                    core_rate,
                    host_delay: delay,
                    edge_delay: delay,
                    core_delay: delay,
                })
            }
        ),
    ]
}

/// Usual rates, which serialise in whole picoseconds, and odd ones.
fn any_rate() -> impl Strategy<Value = Rate> {
    let usual = prop::sample::select(vec![1u64, 10, 25, 40, 100]).prop_map(Rate::from_gbps);
    prop_oneof![4 => usual, 1 => (10_000_000u64..200_000_000_000).prop_map(Rate::from_bps)]
}

fn any_delay() -> impl Strategy<Value = Time> {
    (0u64..30_000).prop_map(Time::from_ns)
}

/// A load-balancing rule; flowlets with any gap, flowcells of any size up to some tens of packets.
pub fn any_balancing() -> impl Strategy<Value = LoadBalancing> {
    let gap = (0u64..500_000).prop_map(|ns| LoadBalancing::Flowlet { gap: Time::from_ns(ns) });
    let cell = (1u64..70_000).prop_map(|bytes| LoadBalancing::Flowcell { size: Bytes::new(bytes) });
    prop_oneof![
        Just(LoadBalancing::Ecmp),
        Just(LoadBalancing::SprayRoundRobin),
        Just(LoadBalancing::SprayRandom),
        gap,
        cell
    ]
}
