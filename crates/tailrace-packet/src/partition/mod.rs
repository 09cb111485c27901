//! Partitions of a fabric into logical processes.

mod look_ahead;
mod racks;
mod stages;

use std::collections::BTreeMap;
use std::sync::Arc;

use tailrace_core::HostId;
use tailrace_fabric::{Fabric, Node, PortId, SwitchId};

pub use self::look_ahead::LookAheads;
pub(crate) use self::look_ahead::global_event_delay;

/// The logical process of each port. A host is in that of its network card. At the end of a link a packet is in the process of the port by
/// which it goes on, so that a link may lead to several processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    processes: usize,
    ports: Vec<u8>,
    /// The processes that each port's link leads to, a bit for each.
    leads: Vec<u64>,
    /// Whether each process breaks ties in an order of its own.
    skewed: bool,
}

impl Partition {
    /// Most logical processes that there may be.
    pub const MAX_PROCESSES: usize = 64;

    /// A partition of `fabric` by the process of each host and of each switch, with all its ports, counted from 0.
    ///
    /// # Panics
    ///
    /// If a host or a switch is in no process, or in one beyond [`Self::MAX_PROCESSES`].
    pub fn new(fabric: &Fabric, hosts: &[usize], switches: &[usize]) -> Self {
        assert_eq!((hosts.len(), switches.len()), (fabric.hosts, fabric.switches));
        let of = |node: Node| match node {
            Node::Host(host) => hosts[host as usize],
            Node::Switch(switch) => switches[usize::from(switch)],
        };
        let ports = fabric.ports.iter().map(|port| of(port.from)).collect();
        Self::with(ports, fabric.ports.iter().map(|port| of(port.to)).map(bit).collect())
    }

    /// A partition of `fabric` by the process of each port. Ports that a switch chooses between share the state by which it chooses: all are
    /// in the process of the first of them. Where a switch's ports are in several processes, they must share nothing else: no
    /// memory, and no policy of theirs may need to see what comes [back](tailrace_core::PortPolicy::REVERSE), or hold packets
    /// beside an [idle link](tailrace_core::PortPolicy::WORK_CONSERVING). That is not checked here.
    ///
    /// # Panics
    ///
    /// If a port is in no process, or in one beyond [`Self::MAX_PROCESSES`].
    pub fn of_ports(fabric: &Fabric, ports: &[usize]) -> Self {
        assert_eq!(ports.len(), fabric.ports.len());
        let mut ports = ports.to_vec();
        unite_choices(fabric, &mut ports);
        let leads = leads(fabric, &ports);
        Self::with(ports, leads)
    }

    /// A partition into `processes` or fewer, each host with the port towards it; `work` gives the work of a host. In one rack all
    /// messages between processes are then packets on links of hosts. See [`Self::of_ports`] for the state that ports must not share.
    pub fn by_hosts(fabric: &Fabric, processes: usize, work: impl Fn(HostId) -> u64) -> Self {
        let hosts = fabric.host_ids().zip(&fabric.port_to);
        let row: Vec<_> =
            hosts.map(|(host, &towards)| (vec![PortId::from(host), towards], work(host))).collect();
        Self::of_row(fabric, &row, processes)
    }

    /// A partition of a row of lots, each of ports that stay together and of some work, into lengths of about the same work. Ports in no lot
    /// are in the first process.
    fn of_row(fabric: &Fabric, row: &[(Vec<PortId>, u64)], processes: usize) -> Self {
        let processes = processes.clamp(1, Self::MAX_PROCESSES) as u128;
        let all: u64 = row.iter().map(|(_, work)| work).sum();
        let (mut before, mut ports, mut used) = (0, vec![0; fabric.ports.len()], Vec::new());
        for (lot, work) in row {
            let middle = u128::from(before + work / 2);
            // Lots without work may be beyond all of it.
            let process = (middle * processes / u128::from(all.max(1))).min(processes - 1);
            // A lot with more work than one process has leaves none for the processes that it passes over.
            if used.last() != Some(&process) {
                used.push(process);
            }
            lot.iter().for_each(|&port| ports[port as usize] = used.len() - 1);
            before += work;
        }
        Self::of_ports(fabric, &ports)
    }

    fn with(ports: Vec<usize>, leads: Vec<u64>) -> Self {
        let last = ports.iter().copied().max().unwrap_or(0);
        assert!(last < Self::MAX_PROCESSES, "part {last} of {}", Self::MAX_PROCESSES);
        let ports = ports.into_iter().map(|process| process as u8).collect();
        Partition { processes: last + 1, ports, leads, skewed: false }
    }

    /// The same, but each process breaks ties in an order of its own, which is wrong: for tests that must fail.
    #[doc(hidden)]
    pub fn skewed(mut self) -> Self {
        self.skewed = true;
        self
    }

    /// The number by which a process breaks ties.
    pub(crate) fn order_of(&self, process: usize) -> u64 {
        if self.skewed { process as u64 } else { 0 }
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// The process of a host.
    #[inline]
    pub(crate) fn of_host(&self, host: HostId) -> usize {
        self.of_port(PortId::from(host))
    }

    /// The process of a port.
    #[inline]
    pub fn of_port(&self, port: PortId) -> usize {
        usize::from(self.ports[port as usize])
    }

    /// The processes that a port's link leads to.
    pub fn leads_to(&self, port: PortId) -> impl Iterator<Item = usize> + use<> {
        let processes = self.leads[port as usize];
        (0..Self::MAX_PROCESSES).filter(move |&process| processes & bit(process) != 0)
    }

    /// The share of the packets of each port that go to other processes, if as many are for each rack.
    pub fn remote_shares(&self, fabric: &Fabric) -> Vec<f64> {
        let mut out_of_all = vec![(0.0, 0.0); self.ports.len()];
        let of_port = |port| self.of_port(port);
        each_way(fabric, of_port, |port, process, share| {
            let (out, all) = &mut out_of_all[port as usize];
            *all += share;
            *out += if process == of_port(port) { 0.0 } else { share };
        });
        out_of_all.into_iter().map(|(out, all)| if all > 0.0 { out / all } else { 0.0 }).collect()
    }
}

/// The logical process that a world simulates.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// The partition of the run.
    pub partition: Arc<Partition>,
    /// The number of the process.
    pub own: usize,
}

/// The bit of a process among those that a link leads to.
fn bit(process: usize) -> u64 {
    assert!(process < Partition::MAX_PROCESSES, "part {process} of {}", Partition::MAX_PROCESSES);
    1 << process
}

/// The work of a run at a port, in bits a second that may pass: a port of a host counts twice, since its transport works
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

/// Puts all ports that a switch chooses between into the process of the first of them.
fn unite_choices(fabric: &Fabric, ports: &mut [usize]) {
    let edges = edges(fabric);
    for switch in switches(fabric) {
        let lists =
            edges.iter().map(|&edge| fabric.routes.next_hops(switch, edge)).filter(|hops| hops.count > 1);
        let mut process = None;
        for port in lists.flat_map(|hops| fabric.routes.ports(hops)) {
            let process = *process.get_or_insert(ports[port as usize]);
            ports[port as usize] = process;
        }
    }
}

/// The processes that each port's link leads to, if ports are in these processes: a bit for each.
fn leads(fabric: &Fabric, ports: &[usize]) -> Vec<u64> {
    let mut leads = vec![0; ports.len()];
    each_way(fabric, |port| ports[port as usize], |port, process, _| leads[port as usize] |= bit(process));
    leads
}

/// For each port, the processes in which its packets arrive, with their shares if as many are for each rack, and there for
/// each host; several times where they are for several racks. Of ports that a switch chooses between, the first decides the process.
fn each_way(fabric: &Fabric, process_of: impl Fn(PortId) -> usize, mut way: impl FnMut(PortId, usize, f64)) {
    let edges = edges(fabric);
    // At the switch of a rack, packets for the rack itself.
    let mut within = vec![BTreeMap::new(); fabric.switches];
    for (&edge, &port) in fabric.edge_of.iter().zip(&fabric.port_to) {
        *within[usize::from(edge)].entry(process_of(port)).or_insert(0.0) += 1.0;
    }
    for hosts in &mut within {
        let all: f64 = hosts.values().sum();
        hosts.values_mut().for_each(|share| *share /= all);
    }
    // At a switch, packets for a rack.
    let at = |switch: SwitchId, edge: SwitchId, found: &mut dyn FnMut(usize, f64)| {
        if switch == edge {
            return within[usize::from(edge)].iter().for_each(|(&process, &share)| found(process, share));
        }
        let next = fabric.routes.ports(fabric.routes.next_hops(switch, edge)).next();
        next.into_iter().for_each(|next| found(process_of(next), 1.0));
    };
    for (from, &edge) in switches(fabric).flat_map(|from| edges.iter().map(move |edge| (from, edge))) {
        for port in fabric.routes.ports(fabric.routes.next_hops(from, edge)) {
            if let Node::Switch(to) = fabric.ports[port as usize].to {
                at(to, edge, &mut |process, share| way(port, process, share));
            }
        }
    }
    // All hosts of a rack send alike.
    let mut from_rack = vec![BTreeMap::new(); fabric.switches];
    for &edge in &edges {
        let shares = &mut from_rack[usize::from(edge)];
        for &other in &edges {
            at(edge, other, &mut |process, share| *shares.entry(process).or_insert(0.0) += share);
        }
    }
    for (host, (&edge, &port)) in fabric.host_ids().zip(fabric.edge_of.iter().zip(&fabric.port_to)) {
        let host = PortId::from(host);
        from_rack[usize::from(edge)].iter().for_each(|(&process, &share)| way(host, process, share));
        way(port, process_of(host), 1.0);
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

    fn led_to(partition: &Partition) -> Vec<Vec<usize>> {
        (0..partition.ports.len()).map(|port| partition.leads_to(port as PortId).collect()).collect()
    }

    #[test]
    fn a_link_leads_where_its_packets_go_on() {
        let fabric = two_racks();
        // By hand: a packet that comes to a leaf from a host may go to the other host, or up.
        let partition = Partition::of_ports(&fabric, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        let leaf: [&[usize]; 2] = [&[4, 5, 6], &[7, 8, 9]];
        let expected: [&[usize]; 12] =
            [leaf[0], leaf[0], leaf[1], leaf[1], &[0], &[1], &[11], &[2], &[3], &[10], &[4, 5], &[7, 8]];
        assert_eq!(led_to(&partition), expected);
        assert_eq!(partition.remote_shares(&fabric), [1.0; 12]);
        // The second host is with the ports of its leaf: its packets to the first go to none of these, half of a rack's.
        let partition = Partition::of_ports(&fabric, &[0, 1, 2, 2, 0, 1, 1, 2, 2, 2, 1, 2]);
        let out = partition.remote_shares(&fabric);
        assert_eq!(out[..7], [0.75, 0.25, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(out[7..], [0.0, 0.0, 1.0, 0.5, 0.0]);
    }

    /// By hand: only links of hosts lead from process to process, with half of their packets for two processes, two thirds for three.
    #[test]
    fn one_rack_is_partitioned_by_hosts() {
        let text = "kind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"\ndelay = \"20us\"";
        let fabric = FabricParams::from_table(&text.parse().expect("a table")).expect("a fabric").build();
        let by_hosts = |processes| Partition::by_hosts(&fabric, processes, |_| 1);
        let of = |processes| by_hosts(processes).ports;
        assert_eq!(of(2), [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!(of(3), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
        assert_eq!((of(1), by_hosts(64).processes()), (vec![0; 12], 6));
        for (processes, share) in [(2, 1.0 / 2.0), (3, 2.0 / 3.0)] {
            let partition = by_hosts(processes);
            let rounds = LookAheads::new(&partition, &fabric, &TransportParams::default()).rounds();
            // Both ways over a link of a host: 20 us, and the 32 ns of 40 bytes.
            assert_eq!(rounds, vec![Time::from_ns(2 * 20_032); processes]);
            let out = partition.remote_shares(&fabric);
            assert!(out[..6].iter().all(|out| (out - share).abs() < 1e-12), "{out:?}");
            assert_eq!(out[6..], [0.0; 6]);
        }
        // Where two hosts do all the work, each is in a process, and all others are in one of these.
        let unequal = Partition::by_hosts(&fabric, 2, |host| u64::from(host < 2));
        assert_eq!(unequal.ports[..6], [0, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn whole_switches_are_of_one_process() {
        let fabric = two_racks();
        let partition = Partition::new(&fabric, &[0, 0, 1, 1], &[0, 1, 1]);
        let ports = partition.ports.iter().map(|&process| usize::from(process)).collect::<Vec<_>>();
        assert_eq!(ports, [0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1]);
        // A spine leads into the process that has all ports of the leaf.
        assert_eq!(Partition::of_ports(&fabric, &ports), partition);
    }
}
