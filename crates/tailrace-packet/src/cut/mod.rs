//! How a fabric is cut into parts.

mod ahead;
mod racks;
mod stages;

use std::collections::BTreeMap;
use std::sync::Arc;

use tailrace_core::HostId;
use tailrace_fabric::{Fabric, Node, PortId, SwitchId};

pub use self::ahead::LookAheads;
pub(crate) use self::ahead::global_event_delay;

/// Which part each port is of. A host is of its network card's. At the end of a link a packet is where the port is by which it
/// goes on, so that a link may lead to several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    parts: usize,
    ports: Vec<u8>,
    /// The parts that each port's link leads to, a bit for each.
    leads: Vec<u64>,
    /// Whether each part breaks ties in an order of its own.
    skewed: bool,
}

impl Cut {
    /// Most parts that there may be.
    pub const MOST: usize = 64;

    /// A cut of `fabric` by the part of each host and of each switch, with all its ports, counted from 0.
    ///
    /// # Panics
    ///
    /// If a host or a switch is of no part, or of one beyond [`Self::MOST`].
    pub fn new(fabric: &Fabric, hosts: &[usize], switches: &[usize]) -> Self {
        assert_eq!((hosts.len(), switches.len()), (fabric.hosts, fabric.switches));
        let of = |node: Node| match node {
            Node::Host(host) => hosts[host as usize],
            Node::Switch(switch) => switches[usize::from(switch)],
        };
        let ports = fabric.ports.iter().map(|port| of(port.from)).collect();
        Self::with(ports, fabric.ports.iter().map(|port| of(port.to)).map(bit).collect())
    }

    /// A cut of `fabric` by the part of each port. Those that a switch chooses between share what it chooses by: they are of the
    /// part that the first of them is said to be of. Where a switch's ports are of several parts, they must share nothing else: no
    /// memory, and no policy of theirs may want to know what comes [back](tailrace_core::PortPolicy::REVERSE), or hold packets
    /// beside an [idle link](tailrace_core::PortPolicy::WORK_CONSERVING). That is not looked at here.
    ///
    /// # Panics
    ///
    /// If a port is of no part, or of one beyond [`Self::MOST`].
    pub fn of_ports(fabric: &Fabric, ports: &[usize]) -> Self {
        assert_eq!(ports.len(), fabric.ports.len());
        let mut ports = ports.to_vec();
        unite_choices(fabric, &mut ports);
        let leads = leads(fabric, &ports);
        Self::with(ports, leads)
    }

    /// A cut into `parts` or fewer, each host with the port towards it, whose work is as much as `work` says of the host. In one rack all
    /// that goes from part to part then comes over links of hosts. [`Self::of_ports`] says what ports must not share.
    pub fn by_hosts(fabric: &Fabric, parts: usize, work: impl Fn(HostId) -> u64) -> Self {
        let hosts = fabric.host_ids().zip(&fabric.port_to);
        let row: Vec<_> =
            hosts.map(|(host, &towards)| (vec![PortId::from(host), towards], work(host))).collect();
        Self::of_row(fabric, &row, parts)
    }

    /// A cut of a row of lots, each of ports that stay together and of some work, into lengths of about the same work. What is in no lot
    /// is of the first part.
    fn of_row(fabric: &Fabric, row: &[(Vec<PortId>, u64)], parts: usize) -> Self {
        let parts = parts.clamp(1, Self::MOST) as u128;
        let all: u64 = row.iter().map(|(_, work)| work).sum();
        let (mut before, mut ports, mut used) = (0, vec![0; fabric.ports.len()], Vec::new());
        for (lot, work) in row {
            let middle = u128::from(before + work / 2);
            // Lots without work may be beyond all of it.
            let part = (middle * parts / u128::from(all.max(1))).min(parts - 1);
            // A lot of more work than a part has leaves none for the parts that it passes over.
            if used.last() != Some(&part) {
                used.push(part);
            }
            lot.iter().for_each(|&port| ports[port as usize] = used.len() - 1);
            before += work;
        }
        Self::of_ports(fabric, &ports)
    }

    fn with(ports: Vec<usize>, leads: Vec<u64>) -> Self {
        let last = ports.iter().copied().max().unwrap_or(0);
        assert!(last < Self::MOST, "part {last} of {}", Self::MOST);
        let ports = ports.into_iter().map(|part| part as u8).collect();
        Cut { parts: last + 1, ports, leads, skewed: false }
    }

    /// The same, but each part breaks ties in an order of its own, which must not be: for tests that are to notice.
    #[doc(hidden)]
    pub fn skewed(mut self) -> Self {
        self.skewed = true;
        self
    }

    /// The number by which a part breaks ties.
    pub(crate) fn order_of(&self, part: usize) -> u64 {
        if self.skewed { part as u64 } else { 0 }
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The part of a host.
    #[inline]
    pub(crate) fn of_host(&self, host: HostId) -> usize {
        self.of_port(PortId::from(host))
    }

    /// The part of a port.
    #[inline]
    pub fn of_port(&self, port: PortId) -> usize {
        usize::from(self.ports[port as usize])
    }

    /// The parts that a port's link leads to.
    pub fn leads_to(&self, port: PortId) -> impl Iterator<Item = usize> + use<> {
        let parts = self.leads[port as usize];
        (0..Self::MOST).filter(move |&part| parts & bit(part) != 0)
    }

    /// How much of what each port sends goes to other parts, if as much of it is for each rack.
    pub fn shares_out(&self, fabric: &Fabric) -> Vec<f64> {
        let mut out_of_all = vec![(0.0, 0.0); self.ports.len()];
        let of_port = |port| self.of_port(port);
        each_way(fabric, of_port, |port, part, share| {
            let (out, all) = &mut out_of_all[port as usize];
            *all += share;
            *out += if part == of_port(port) { 0.0 } else { share };
        });
        out_of_all.into_iter().map(|(out, all)| if all > 0.0 { out / all } else { 0.0 }).collect()
    }
}

/// Which part of a run a world is to be.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// The cut.
    pub cut: Arc<Cut>,
    /// The part's number.
    pub own: usize,
}

/// A part among those that a link leads to.
fn bit(part: usize) -> u64 {
    assert!(part < Cut::MOST, "part {part} of {}", Cut::MOST);
    1 << part
}

/// What of all its work a run spends at a port, in bits a second that may pass: one of a host counts twice, since its transport works
/// about as much for a packet as a port does.
fn work(fabric: &Fabric, port: PortId) -> u64 {
    let spec = &fabric.ports[port as usize];
    spec.rate.as_bps() * if matches!(spec.from, Node::Host(_)) { 2 } else { 1 }
}

/// The switches that hosts hang on, in their order.
fn edges(fabric: &Fabric) -> Vec<SwitchId> {
    let mut edges = fabric.edge_of.clone();
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn switches(fabric: &Fabric) -> impl Iterator<Item = SwitchId> + use<> {
    (0..fabric.switches).map(|switch| switch as SwitchId)
}

/// Puts all ports that a switch chooses between into the part of the first of them.
fn unite_choices(fabric: &Fabric, ports: &mut [usize]) {
    let edges = edges(fabric);
    for switch in switches(fabric) {
        let lists =
            edges.iter().map(|&edge| fabric.routes.next_hops(switch, edge)).filter(|hops| hops.count > 1);
        let mut part = None;
        for port in lists.flat_map(|hops| fabric.routes.ports(hops)) {
            let part = *part.get_or_insert(ports[port as usize]);
            ports[port as usize] = part;
        }
    }
}

/// The parts that each port's link leads to, if ports are of these parts: a bit for each.
fn leads(fabric: &Fabric, ports: &[usize]) -> Vec<u64> {
    let mut leads = vec![0; ports.len()];
    each_way(fabric, |port| ports[port as usize], |port, part, _| leads[port as usize] |= bit(part));
    leads
}

/// Of each port, the parts to which packets come that leave by it, with the shares of these if as much is for each rack, and there for
/// each host; several times where it is for several racks. Of ports that a switch chooses between, the first tells the part.
fn each_way(fabric: &Fabric, part_of: impl Fn(PortId) -> usize, mut way: impl FnMut(PortId, usize, f64)) {
    let edges = edges(fabric);
    // At the switch of a rack, what is for the rack itself.
    let mut within = vec![BTreeMap::new(); fabric.switches];
    for (&edge, &port) in fabric.edge_of.iter().zip(&fabric.port_to) {
        *within[usize::from(edge)].entry(part_of(port)).or_insert(0.0) += 1.0;
    }
    for hosts in &mut within {
        let all: f64 = hosts.values().sum();
        hosts.values_mut().for_each(|share| *share /= all);
    }
    // At a switch, what is for a rack.
    let at = |switch: SwitchId, edge: SwitchId, found: &mut dyn FnMut(usize, f64)| {
        if switch == edge {
            return within[usize::from(edge)].iter().for_each(|(&part, &share)| found(part, share));
        }
        let next = fabric.routes.ports(fabric.routes.next_hops(switch, edge)).next();
        next.into_iter().for_each(|next| found(part_of(next), 1.0));
    };
    for (from, &edge) in switches(fabric).flat_map(|from| edges.iter().map(move |edge| (from, edge))) {
        for port in fabric.routes.ports(fabric.routes.next_hops(from, edge)) {
            if let Node::Switch(to) = fabric.ports[port as usize].to {
                at(to, edge, &mut |part, share| way(port, part, share));
            }
        }
    }
    // All hosts of a rack send alike.
    let mut from_rack = vec![BTreeMap::new(); fabric.switches];
    for &edge in &edges {
        let shares = &mut from_rack[usize::from(edge)];
        for &other in &edges {
            at(edge, other, &mut |part, share| *shares.entry(part).or_insert(0.0) += share);
        }
    }
    for (host, (&edge, &port)) in fabric.host_ids().zip(fabric.edge_of.iter().zip(&fabric.port_to)) {
        let host = PortId::from(host);
        from_rack[usize::from(edge)].iter().for_each(|(&part, &share)| way(host, part, share));
        way(port, part_of(host), 1.0);
    }
}

#[cfg(test)]
mod tests {
    use tailrace_core::Time;
    use tailrace_core::transport::TransportParams;
    use tailrace_fabric::FabricParams;

    use super::*;

    /// Two racks of two hosts under one spine. Ports: of hosts 0 to 3; of the first leaf towards its hosts and the spine 4 to 6,
    /// of the second 7 to 9; of the spine 10 and 11.
    fn two_racks() -> Arc<Fabric> {
        let text = "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nhost_rate = \"10Gbps\"\n\
                    spine_rate = \"20Gbps\"\nhost_delay = \"20us\"\nspine_delay = \"200ns\"";
        FabricParams::from_table(&text.parse().expect("a table")).expect("a fabric").build()
    }

    fn led_to(cut: &Cut) -> Vec<Vec<usize>> {
        (0..cut.ports.len()).map(|port| cut.leads_to(port as PortId).collect()).collect()
    }

    #[test]
    fn a_link_leads_where_its_packets_go_on() {
        let fabric = two_racks();
        // By hand: what comes to a leaf from a host may go to the other host, or up.
        let cut = Cut::of_ports(&fabric, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        let leaf: [&[usize]; 2] = [&[4, 5, 6], &[7, 8, 9]];
        let expected: [&[usize]; 12] =
            [leaf[0], leaf[0], leaf[1], leaf[1], &[0], &[1], &[11], &[2], &[3], &[10], &[4, 5], &[7, 8]];
        assert_eq!(led_to(&cut), expected);
        assert_eq!(cut.shares_out(&fabric), [1.0; 12]);
        // The second host is with the ports of its leaf: what it sends to the first goes to none of these, half of a rack's.
        let cut = Cut::of_ports(&fabric, &[0, 1, 2, 2, 0, 1, 1, 2, 2, 2, 1, 2]);
        let out = cut.shares_out(&fabric);
        assert_eq!(out[..7], [0.75, 0.25, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(out[7..], [0.0, 0.0, 1.0, 0.5, 0.0]);
    }

    /// By hand: what leads from part to part are the links of hosts, half of what they send by two parts, two thirds by three.
    #[test]
    fn one_rack_is_cut_by_hosts() {
        let text = "kind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"\ndelay = \"20us\"";
        let fabric = FabricParams::from_table(&text.parse().expect("a table")).expect("a fabric").build();
        let by_hosts = |parts| Cut::by_hosts(&fabric, parts, |_| 1);
        let of = |parts| by_hosts(parts).ports;
        assert_eq!(of(2), [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!(of(3), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
        assert_eq!((of(1), by_hosts(64).parts()), (vec![0; 12], 6));
        for (parts, share) in [(2, 1.0 / 2.0), (3, 2.0 / 3.0)] {
            let cut = by_hosts(parts);
            let rounds = LookAheads::new(&cut, &fabric, &TransportParams::default()).rounds();
            // Both ways over a link of a host: 20 us, and the 32 ns of 40 bytes.
            assert_eq!(rounds, vec![Time::from_ns(2 * 20_032); parts]);
            let out = cut.shares_out(&fabric);
            assert!(out[..6].iter().all(|out| (out - share).abs() < 1e-12), "{out:?}");
            assert_eq!(out[6..], [0.0; 6]);
        }
        // Where two hosts do all, each is of a part, and all others are of one of these.
        let unequal = Cut::by_hosts(&fabric, 2, |host| u64::from(host < 2));
        assert_eq!(unequal.ports[..6], [0, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn whole_switches_are_of_one_part() {
        let fabric = two_racks();
        let cut = Cut::new(&fabric, &[0, 0, 1, 1], &[0, 1, 1]);
        let ports = cut.ports.iter().map(|&part| usize::from(part)).collect::<Vec<_>>();
        assert_eq!(ports, [0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1]);
        // A spine leads into a part whose leaf's ports are all of it.
        assert_eq!(Cut::of_ports(&fabric, &ports), cut);
    }
}
