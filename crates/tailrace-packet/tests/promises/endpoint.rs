//! Hosts that each know their own end of flows only carry them as the world does that knows both: flows that nobody
//! planned end when planned ones do, to the picosecond.

use std::collections::{BTreeMap, BTreeSet};

use tailrace_core::{FlowId, FlowInfo, HEADER_BYTES, HostId, PortFacts, PortId, Scheme, Series, Time};
use tailrace_engine::Entity;
use tailrace_packet::{Endpoint, Network, Step};
use tailrace_schemes::NAMES;

use crate::setup::{Setup, WithScheme, fabric, flow};

/// Entities of a world beside hosts and ports, the first of which starts flows.
const SPECIAL: usize = 3;

/// Runs flows between endpoints; returns when each was complete at its receiver. `None` if the scheme has a controller,
/// which is told of all hosts' flows.
struct SeparateEndpoints<'a>(&'a Setup);

impl WithScheme for SeparateEndpoints<'_> {
    type Output = Option<Vec<Time>>;

    fn with<S: Scheme>(self, scheme: S) -> Self::Output {
        if scheme.controller().is_some() {
            return None;
        }
        let Setup { fabric, transport, flows, seed, .. } = self.0;
        let entities = fabric.hosts + SPECIAL + fabric.ports.len() + 2;
        let port = |port: &PortFacts| scheme.port(port);
        let mut network = Network::new(fabric, transport, *seed, entities, port);
        let cell = fabric.load_balancing.packets_per_cell(transport.mss + HEADER_BYTES);
        let make =
            |_| S::new(S::Params::default(), &self.0.facts()).unwrap_or_else(|error| panic!("{error}"));
        let hosts = 0..fabric.hosts as HostId;
        let mut ends: Vec<Endpoint<S>> =
            hosts.map(|host| Endpoint::new(make(host), host, *transport, cell)).collect();
        let first_port = (fabric.hosts + SPECIAL) as Entity;
        for port in 0..fabric.ports.len() as PortId {
            network.policy_wake(port).into_iter().for_each(|at| network.wake(first_port + port, at));
        }
        network.wake(fabric.hosts as Entity, flows[0].start);
        let (mut started, mut complete, mut over) = (0, BTreeMap::new(), BTreeSet::new());
        while complete.len() < flows.len()
            && let Some(step) = network.next()
        {
            let now = network.now();
            match step {
                // The world, which knows both ends, has none for flows that are over.
                Step::Arrival(_, packet) if over.contains(&packet.flow) => {}
                Step::Arrival(host, packet) => {
                    let peer = if packet.is_ack() { host } else { flows[packet.flow as usize].src };
                    let end = &mut ends[host as usize];
                    end.arrive(now, peer, &packet);
                    if end.is_complete(packet.flow) {
                        complete.entry(packet.flow).or_insert(now);
                    }
                }
                Step::Wake(entity) if entity >= first_port => {
                    let port = entity - first_port;
                    network.wake_policy(
                        port,
                        &mut Series::default().at(tailrace_core::SeriesSource::Port(port), false),
                    );
                    network.policy_wake(port).into_iter().for_each(|at| network.wake(entity, at));
                }
                Step::Wake(entity) if entity >= fabric.hosts as Entity => {
                    while let Some(flow) = flows.get(started).filter(|flow| flow.start <= now) {
                        let info = FlowInfo {
                            id: started as FlowId,
                            src: flow.src,
                            dst: flow.dst,
                            size: Some(flow.size),
                            start: now,
                            deadline: None,
                            slice: flow.slice,
                            task: flow.task,
                        };
                        let acks = ends[flow.src as usize].open(now, info, flow.size).acks;
                        ends[flow.dst as usize].accept(info.id, flow.src, acks);
                        started += 1;
                    }
                    flows.get(started).into_iter().for_each(|flow| network.wake(entity, flow.start));
                }
                Step::Wake(host) => ends[host as usize].wake(now),
            }
            for (host, end) in (0..).zip(&mut ends) {
                end.sent().drain(..).for_each(|packet| network.inject(host, packet));
                over.extend(end.ended().drain(..));
                let due = end.next_wake();
                if due < Time::MAX {
                    network.wake(Entity::from(host), due);
                }
            }
        }
        Some((0..flows.len() as FlowId).map(|flow| complete[&flow]).collect())
    }
}

#[test]
fn flows_of_hosts_that_know_their_own_ends_only_end_when_planned_ones_do() {
    let mut fabric =
        fabric("kind = \"star\"\nhosts = 4\nhost_rate = \"1Gbps\"\ndelay = \"10us\"\nbuffer = \"40KB\"");
    fabric.buffer = tailrace_fabric::Buffer::PerPort(tailrace_core::Bytes::new(40_000));
    let flows = (0..24u64)
        .map(|n| {
            let (src, size) = ((n % 3 + 1) as u32, 1 + n * n * 700 + n * 31);
            let task = n as u32 / 3 + 1;
            tailrace_workload::FlowSpec { task, ..flow(src, 0, size, Time::from_us(n * 41)) }
        })
        .collect();
    let setup = Setup::new(fabric, flows);
    let mut compared = 0;
    for name in NAMES {
        let Some(apart) = setup.with_scheme(name, "", SeparateEndpoints(&setup)) else { continue };
        let together: Vec<Time> = setup.run(name, "").records.iter().map(|record| record.end).collect();
        assert_eq!(apart, together, "{name}");
        compared += 1;
    }
    assert!(compared > 15, "{compared} schemes");
}
