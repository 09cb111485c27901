//! Which ports lead where: the shortest ways from each switch to each edge switch.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use tailrace_core::random::{mix, scale};

use super::{Fabric, Node, PortId, SwitchId};

/// The length of a way that does not exist.
const NONE: u32 = u32::MAX;

/// The equal-cost ports of a switch towards a destination; see [`Routes::ports`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextHops {
    /// The port if it is the only one, else where their list begins.
    pub first: u32,
    /// How many; 0 if the destination cannot be reached.
    pub count: u32,
}

/// In place of a count: next hops differ within the area, and `first` is where those towards its edge switches begin.
const EACH: u32 = u32::MAX;

impl NextHops {
    /// Which of them ECMP chooses for a flow, by a switch's [`Fabric::ecmp_salt`], the flow and the number of choices.
    #[inline]
    pub fn hashed(self, salt: u64, flow: u32) -> u32 {
        let key = u64::from(flow) | u64::from(self.count) << 32;
        scale(mix(key ^ salt), self.count)
    }
}

/// The shortest ways of a fabric.
///
/// Edge switches whose links are alike and lead to the same switches, such as those of a pod, are an area: from
/// everywhere but around them they lie in the same direction. So a switch knows next hops by area, and by edge switch
/// only where it has links into the area; what all switches know together grows with their number times that of pods,
/// and not with its square.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// The edge switches of each area.
    areas: Vec<Vec<SwitchId>>,
    /// Of each edge switch its area and its place there.
    places: Vec<EdgePlace>,
    /// `[switch * areas + area]`.
    by_area: Vec<NextHops>,
    by_edge: Vec<NextHops>,
    /// Lists of equal-cost ports, which next hops point into. A port that carries a larger part stands in its list
    /// more often.
    lists: Vec<PortId>,
}

/// An edge switch as [`Routes::towards`] looks it up: its area, and its place there. It means nothing to other routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgePlace {
    area: u16,
    within: u16,
}

impl Routes {
    /// The shortest ways of a fabric. Links of ports that are `dead` are not taken.
    pub(super) fn shortest(fabric: &Fabric, dead: &[bool]) -> Self {
        let (switches, own) = (fabric.switches, ports_by_switch(fabric, dead));
        let areas = areas(fabric, &own);
        let mut places = vec![EdgePlace::default(); switches];
        for (edges, area) in areas.iter().zip(0..) {
            for (&edge, within) in edges.iter().zip(0..) {
                places[usize::from(edge)] = EdgePlace { area, within };
            }
        }
        let mut search = Search::new(fabric, own);
        let mut by_area = vec![NextHops::default(); switches * areas.len()];
        let mut by_edge = Vec::new();
        for (area, edges) in areas.iter().enumerate() {
            search.measure(edges[0]);
            for switch in 0..switches {
                by_area[switch * areas.len() + area] = if search.is_beside(switch, edges) {
                    let first = by_edge.len() as u32;
                    by_edge.extend(edges.iter().map(|&edge| search.hops_to(switch, edges[0], edge)));
                    NextHops { first, count: EACH }
                } else if switch == usize::from(edges[0]) {
                    // To another of its area; to itself it is never asked.
                    search.hops_to(switch, edges[0], edges[edges.len() - 1])
                } else {
                    search.hops_to(switch, edges[0], edges[0])
                };
            }
        }
        Routes { areas, places, by_area, by_edge, lists: search.groups.lists }
    }

    /// The next hops at `switch` towards edge switch `edge`; none if it is the same.
    #[inline]
    pub fn next_hops(&self, switch: SwitchId, edge: SwitchId) -> NextHops {
        if switch == edge { NextHops::default() } else { self.towards(switch, self.place(edge)) }
    }

    /// Where these routes have edge switch `edge`, for [`Self::towards`].
    pub fn place(&self, edge: SwitchId) -> EdgePlace {
        self.places[usize::from(edge)]
    }

    /// The next hops at `switch` towards the edge switch at that place of these routes, which is another one.
    #[inline]
    pub fn towards(&self, switch: SwitchId, EdgePlace { area, within }: EdgePlace) -> NextHops {
        let hops = self.by_area[usize::from(switch) * self.areas.len() + usize::from(area)];
        if hops.count != EACH { hops } else { self.by_edge[hops.first as usize + usize::from(within)] }
    }

    /// The ports that these next hops are.
    pub fn ports(&self, hops: NextHops) -> impl Iterator<Item = PortId> {
        (0..hops.count).map(move |place| self.port(hops, place))
    }

    /// The port in that place of these next hops.
    #[inline]
    pub fn port(&self, hops: NextHops, place: u32) -> PortId {
        if hops.count == 1 { hops.first } else { self.lists[(hops.first + place) as usize] }
    }

    /// How long all lists of several next hops are together: each has its own [`NextHops::first`] below.
    pub fn choices(&self) -> usize {
        self.lists.len()
    }

    /// The most ports that a switch has to choose from, towards any edge switch.
    pub fn most_choices(&self, switch: SwitchId) -> u32 {
        let edges = self.areas.iter().flatten();
        edges.map(|&edge| self.next_hops(switch, edge).count).max().unwrap_or(0)
    }

    /// Edge switches in lists of those whose links to other switches are alike and lead to the same ones: either may
    /// stand for the other.
    pub(super) fn edges_alike(&self) -> &[Vec<SwitchId>] {
        &self.areas
    }

    /// Bytes that they take.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        size_of_val(&self.by_area[..])
            + size_of_val(&self.by_edge[..])
            + size_of_val(&self.lists[..])
            + size_of_val(&self.places[..])
    }
}

/// Edge switches in lists of those whose links to other switches are alike and lead to the same ones.
fn areas(fabric: &Fabric, own: &[Vec<(PortId, SwitchId)>]) -> Vec<Vec<SwitchId>> {
    let edges: BTreeSet<SwitchId> = fabric.edge_of.iter().copied().collect();
    let mut alike: BTreeMap<Vec<_>, Vec<SwitchId>> = BTreeMap::new();
    for edge in edges {
        let link = |&(port, next): &(PortId, SwitchId)| {
            let (spec, port) = (&fabric.ports[port as usize], port as usize);
            (next, spec.rate, spec.delay, fabric.metrics[port], fabric.weights[port])
        };
        let mut links: Vec<_> = own[usize::from(edge)].iter().map(link).collect();
        links.sort_unstable();
        alike.entry(links).or_default().push(edge);
    }
    alike.into_values().collect()
}

/// The ports of each switch towards other switches, and which; but for those that are dead.
fn ports_by_switch(fabric: &Fabric, dead: &[bool]) -> Vec<Vec<(PortId, SwitchId)>> {
    let mut own = vec![Vec::new(); fabric.switches];
    for ((spec, number), _) in fabric.ports.iter().zip(0..).zip(dead).filter(|(_, dead)| !**dead) {
        if let (Node::Switch(from), Node::Switch(to)) = (spec.from, spec.to) {
            own[usize::from(from)].push((number, to));
        }
    }
    own
}

/// What finds next hops.
struct Search<'a> {
    fabric: &'a Fabric,
    own: Vec<Vec<(PortId, SwitchId)>>,
    /// How far each switch is from the edge switch that was asked for last.
    lengths: Vec<u32>,
    /// Whether a switch has a link to that edge switch.
    beside: Vec<bool>,
    groups: Groups,
    ports: Vec<PortId>,
}

impl<'a> Search<'a> {
    fn new(fabric: &'a Fabric, own: Vec<Vec<(PortId, SwitchId)>>) -> Self {
        let switches = fabric.switches;
        Search {
            fabric,
            own,
            lengths: vec![NONE; switches],
            beside: vec![false; switches],
            groups: Groups { found: vec![BTreeMap::new(); switches], lists: Vec::new() },
            ports: Vec::new(),
        }
    }

    /// How far each switch is from `edge` (Dijkstra). Links are the same both ways, so this is also how far it is to
    /// there.
    fn measure(&mut self, edge: SwitchId) {
        let Search { fabric, own, lengths, beside, .. } = self;
        beside.fill(false);
        own[usize::from(edge)].iter().for_each(|&(_, next)| beside[usize::from(next)] = true);
        lengths.fill(NONE);
        lengths[usize::from(edge)] = 0;
        let mut ahead = BinaryHeap::from([Reverse((0, edge))]);
        while let Some(Reverse((length, switch))) = ahead.pop() {
            if length > lengths[usize::from(switch)] {
                continue;
            }
            for &(port, next) in &own[usize::from(switch)] {
                let longer = length + fabric.metrics[port as usize];
                if longer < lengths[usize::from(next)] {
                    lengths[usize::from(next)] = longer;
                    ahead.push(Reverse((longer, next)));
                }
            }
        }
    }

    /// Whether a switch's next hops towards these edge switches may differ, of which the first was measured from.
    fn is_beside(&self, switch: usize, edges: &[SwitchId]) -> bool {
        edges.len() > 1 && self.beside[switch]
    }

    /// The next hops of a switch towards `edge`, which is alike to `measured`: it is as far from everything as that one,
    /// but for the two themselves.
    fn hops_to(&mut self, switch: usize, measured: SwitchId, edge: SwitchId) -> NextHops {
        let Search { fabric, own, lengths, groups, ports, .. } = self;
        if lengths[switch] == NONE {
            return NextHops::default();
        }
        lengths.swap(usize::from(measured), usize::from(edge));
        ports.clear();
        ports.extend(own[switch].iter().filter_map(|&(port, next)| {
            let beyond = lengths[usize::from(next)];
            let is_on_way = beyond < NONE && beyond + fabric.metrics[port as usize] == lengths[switch];
            is_on_way.then_some(port)
        }));
        let hops = groups.hops(switch, ports, &fabric.weights);
        lengths.swap(usize::from(measured), usize::from(edge));
        hops
    }
}

/// Lists of equal-cost ports, each kept once.
struct Groups {
    /// By switch.
    found: Vec<BTreeMap<Vec<PortId>, NextHops>>,
    lists: Vec<PortId>,
}

impl Groups {
    fn hops(&mut self, switch: usize, ports: &[PortId], weights: &[u16]) -> NextHops {
        if let [port] = ports {
            return NextHops { first: *port, count: 1 };
        }
        if let Some(&known) = self.found[switch].get(ports) {
            return known;
        }
        let weight = |&port: &PortId| weights[port as usize];
        let divisor = ports.iter().map(weight).fold(0, gcd).max(1);
        let first = self.lists.len() as u32;
        for &port in ports {
            self.lists.extend(std::iter::repeat_n(port, usize::from(weights[port as usize] / divisor)));
        }
        let hops = NextHops { first, count: self.lists.len() as u32 - first };
        self.found[switch].insert(ports.to_vec(), hops);
        hops
    }
}

pub(super) fn gcd(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { gcd(b, a % b) }
}
