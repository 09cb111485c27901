//! How far it is from host to host, at most and at least.

use std::collections::{BTreeMap, BTreeSet};

use tailrace_core::{ACK_BYTES, HostId, LinkRate, MTU_BYTES, Rate, Time};

use super::{Fabric, Node, PortId, SwitchId};

/// Picoseconds, wide enough for the longest flow on the slowest link.
pub(super) type Ps = u128;

/// Which of several equal-cost ways counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extreme {
    Least,
    Most,
}

/// What ways to an edge switch cost, by switch, as far as they have been walked.
struct Known {
    /// And for which destination, counted from 1, that was.
    costs: Vec<(u32, Ps)>,
    destination: u32,
}

impl Known {
    fn new(switches: usize) -> Self {
        Known { costs: vec![(0, 0); switches], destination: 0 }
    }

    /// Of another destination nothing is known yet.
    fn begin(&mut self, edge: SwitchId) {
        self.destination += 1;
        self.insert(edge, 0);
    }

    fn get(&self, switch: SwitchId) -> Option<Ps> {
        let (destination, cost) = self.costs[usize::from(switch)];
        (destination == self.destination).then_some(cost)
    }

    fn insert(&mut self, switch: SwitchId, cost: Ps) -> Ps {
        self.costs[usize::from(switch)] = (self.destination, cost);
        cost
    }
}

impl Fabric {
    /// Round trip of a full packet of 1500 bytes and its acknowledgement between the hosts farthest apart.
    pub fn base_rtt(&self) -> Time {
        self.farthest_rtt(MTU_BYTES, ACK_BYTES)
    }

    /// Round trip of a packet and its acknowledgement between the hosts farthest apart, on the longest of equal-cost
    /// ways.
    pub fn farthest_rtt(&self, packet_bytes: u16, ack_bytes: u16) -> Time {
        let passes = |bytes: u16| {
            move |port: PortId| {
                let spec = &self.ports[port as usize];
                Ps::from((LinkRate::new(spec.rate).time_for(bytes) + spec.delay).as_ps())
            }
        };
        time(self.farthest(passes(packet_bytes), passes(ack_bytes)))
    }

    /// How many links a packet takes from one host to another; of several equal-cost ways, on the first.
    pub fn hops_between(&self, src: HostId, dst: HostId) -> usize {
        self.ports_passed(src, dst, 0).count()
    }

    /// Links between the hosts farthest apart, around failures too: also the most ports that a packet passes, its sender's own
    /// included.
    pub fn longest_path(&self) -> usize {
        let around = self.reroutes.iter().map(|reroute| reroute.over(self).longest_path());
        around.fold(self.farthest(|_| 1, |_| 0) as usize, usize::max)
    }

    /// The most that ports on the way from one host to another and back cost together.
    fn farthest(&self, there: impl Fn(PortId) -> Ps, back: impl Fn(PortId) -> Ps) -> Ps {
        // Links are the same both ways: what leads there leads back, by the ports at their other ends.
        let ports = (0..).zip(&self.twins).map(|(port, &twin)| there(port) + back(twin));
        let costs: Vec<Ps> = ports.collect();
        let both = |port: PortId| costs[port as usize];
        let hosts = self.different_hosts();
        let ends = hosts
            .iter()
            .map(|(&(edge, ..), &(host, _))| (edge, both(host), both(self.port_to[host as usize])));
        let ends: Vec<(SwitchId, Ps, Ps)> = ends.collect();
        let (mut most, mut known) = (0, Known::new(self.switches));
        for (place, (&(edge, ..), &(_, count))) in hosts.iter().enumerate() {
            known.begin(edge);
            for (other, &(from, up, _)) in ends.iter().enumerate() {
                if other != place || count > 1 {
                    let inside = self.extreme_from(from, edge, Extreme::Most, &both, &mut known);
                    most = most.max(up + inside + ends[place].2);
                }
            }
        }
        most
    }

    /// Hosts that are not alike, by switch, rate and delay of their link: the first of each, and how many they are. Of
    /// switches that are alike, two stand for all.
    fn different_hosts(&self) -> BTreeMap<(SwitchId, Rate, Time), (HostId, usize)> {
        let mut hosts = BTreeMap::new();
        for host in self.host_ids() {
            let card = &self.ports[host as usize];
            let alike = hosts.entry((self.edge_of[host as usize], card.rate, card.delay));
            alike.or_insert((host, 0)).1 += 1;
        }
        let cards = |edge: SwitchId| {
            hosts.range((edge, Rate::from_bps(0), Time::ZERO)..).take_while(move |(of, _)| of.0 == edge)
        };
        let mut some = BTreeMap::new();
        for alike in self.routes.edges_alike() {
            let mut seen: BTreeMap<Vec<_>, usize> = BTreeMap::new();
            for &edge in alike {
                let what =
                    cards(edge).map(|(&(_, rate, delay), &(_, count))| (rate, delay, count > 1)).collect();
                let times = seen.entry(what).or_default();
                *times += 1;
                if *times <= 2 {
                    some.extend(cards(edge).map(|(&card, &host)| (card, host)));
                }
            }
        }
        some
    }

    /// The least or most that the ports on equal-cost ways between two edge switches cost.
    pub(super) fn extreme(
        &self,
        from: SwitchId,
        to: SwitchId,
        which: Extreme,
        cost: impl Fn(PortId) -> Ps,
    ) -> Ps {
        let mut known = Known::new(self.switches);
        known.begin(to);
        self.extreme_from(from, to, which, &cost, &mut known)
    }

    fn extreme_from(
        &self,
        switch: SwitchId,
        edge: SwitchId,
        which: Extreme,
        cost: &impl Fn(PortId) -> Ps,
        known: &mut Known,
    ) -> Ps {
        if let Some(known) = known.get(switch) {
            return known;
        }
        let costs = self
            .beyond(switch, edge)
            .map(|(port, next)| cost(port) + self.extreme_from(next, edge, which, cost, known));
        let found = match which {
            Extreme::Least => costs.min(),
            Extreme::Most => costs.max(),
        };
        known.insert(switch, found.unwrap_or(0))
    }

    /// The equal-cost ports of a switch towards another, and where they lead.
    fn beyond(&self, switch: SwitchId, edge: SwitchId) -> impl Iterator<Item = (PortId, SwitchId)> {
        let hops = self.routes.next_hops(switch, edge);
        self.routes.ports(hops).filter_map(|port| match self.ports[port as usize].to {
            Node::Switch(next) => Some((port, next)),
            Node::Host(_) => None,
        })
    }

    /// Whether all ways that packets between two hosts may take have as many links, of the same rates and delays in
    /// the same order, and each switch divides its packets evenly.
    pub(super) fn paths_are_alike(&self, src: HostId, dst: HostId) -> bool {
        let [from, to] = [src, dst].map(|host| self.edge_of[host as usize]);
        let mut tier = BTreeSet::from([from]);
        while tier != BTreeSet::from([to]) {
            let ports: Vec<PortId> =
                tier.iter().flat_map(|&switch| self.beyond(switch, to).map(|(port, _)| port)).collect();
            let what = |&port: &PortId| (self.ports[port as usize].rate, self.ports[port as usize].delay);
            let widths = tier.iter().map(|&switch| self.beyond(switch, to).count()).collect::<BTreeSet<_>>();
            let different = ports.iter().copied().collect::<BTreeSet<_>>().len();
            if tier.contains(&to)
                || widths.len() > 1
                || different < ports.len()
                || ports.iter().map(what).collect::<BTreeSet<_>>().len() > 1
            {
                return false;
            }
            tier = tier.iter().flat_map(|&switch| self.beyond(switch, to).map(|(_, next)| next)).collect();
        }
        true
    }
}

pub(super) fn time(ps: Ps) -> Time {
    Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}
