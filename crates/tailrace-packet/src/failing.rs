//! Links that fail. What is under way on one is noticed where the link ends, so ports whose links never fail pay nothing for it.

use std::collections::{BTreeMap, VecDeque};

use tailrace_core::{PortId, Time};
use tailrace_engine::Entity;
use tailrace_fabric::{Fabric, Outage, Reroute};

/// What of a network fails, and what it does then.
pub(crate) struct Failing {
    /// Woken when other routes are to count.
    pub(crate) entity: Entity,
    /// Where links lead that fail, and when they do.
    links: BTreeMap<PortId, (u32, Vec<Outage>)>,
    reroutes: VecDeque<Reroute>,
}

impl Failing {
    /// What a fabric's failures are; `to` says where a port's link leads.
    pub(crate) fn new(fabric: &Fabric, entity: Entity, to: impl Fn(PortId) -> u32) -> Option<Self> {
        let mut links: BTreeMap<PortId, (u32, Vec<Outage>)> = BTreeMap::new();
        for outage in &fabric.outages {
            links.entry(outage.port).or_insert_with(|| (to(outage.port), Vec::new())).1.push(*outage);
        }
        let reroutes = fabric.reroutes.iter().cloned().collect();
        (!links.is_empty()).then_some(Failing { entity, links, reroutes })
    }

    /// The ports whose links fail.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortId> {
        self.links.keys().copied()
    }

    /// Where a port's link leads that may fail.
    pub(crate) fn to(&self, port: PortId) -> u32 {
        self.links[&port].0
    }

    /// Whether a packet is lost whose transmission at a port started at `start`, and whose end would arrive at `end`.
    pub(crate) fn loses(&self, port: PortId, start: Time, end: Time) -> bool {
        let outages = self.links.get(&port).into_iter().flat_map(|(_, outages)| outages);
        outages.into_iter().any(|outage| outage.from < end && start < outage.until)
    }

    /// When other routes count next.
    pub(crate) fn next_reroute(&self) -> Option<Time> {
        self.reroutes.front().map(|reroute| reroute.at)
    }

    /// The routes that count at `now`; `None` if they have not changed.
    pub(crate) fn rerouted(&mut self, now: Time) -> Option<Reroute> {
        let due = self.reroutes.iter().take_while(|reroute| reroute.at <= now).count();
        self.reroutes.drain(..due).next_back()
    }
}
