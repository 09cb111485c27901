//! How a fabric is cut into parts.

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, HEADER_BYTES, HostId, Time};
use tailrace_fabric::{Fabric, Node, PortId};

/// Which part each host and switch is of. A port is of its node's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    parts: usize,
    hosts: Vec<u8>,
    /// The parts of both ends of each port's link.
    ends: Vec<(u8, u8)>,
}

impl Cut {
    /// Most parts that there may be.
    pub const MOST: usize = 64;

    /// A cut of `fabric` by the part of each host and of each switch, counted from 0.
    ///
    /// # Panics
    ///
    /// If a host or a switch is of no part, or of one beyond [`Self::MOST`].
    pub fn new(fabric: &Fabric, hosts: &[usize], switches: &[usize]) -> Self {
        assert_eq!((hosts.len(), switches.len()), (fabric.hosts, fabric.switches));
        let last = hosts.iter().chain(switches).copied().max().unwrap_or(0);
        assert!(last < Self::MOST, "part {last} of {}", Self::MOST);
        let of = |node: Node| match node {
            Node::Host(host) => hosts[usize::from(host)] as u8,
            Node::Switch(switch) => switches[usize::from(switch)] as u8,
        };
        Cut {
            parts: last + 1,
            hosts: hosts.iter().map(|&part| part as u8).collect(),
            ends: fabric.ports.iter().map(|port| (of(port.from), of(port.to))).collect(),
        }
    }

    /// A cut into `parts` or fewer of about the same number of ports: hosts are with their edge switch, edge switches in
    /// their order, so that pods stay together, and each other switch is where most of its links are.
    pub fn by_racks(fabric: &Fabric, parts: usize) -> Self {
        let mut edges: Vec<usize> = fabric.edge_of.iter().map(|&edge| usize::from(edge)).collect();
        edges.sort_unstable();
        edges.dedup();
        let parts = parts.clamp(1, Self::MOST).min(edges.len());
        let mut of: Vec<Option<usize>> = vec![None; fabric.switches];
        for (place, &edge) in edges.iter().enumerate() {
            of[edge] = Some(place * parts / edges.len());
        }
        let mut ports = vec![0; parts];
        for port in &fabric.ports {
            if let Node::Switch(switch) = port.from
                && let Some(part) = of[usize::from(switch)]
            {
                ports[part] += 1;
            }
        }
        // From the edge on inwards.
        while let Some(next) = most_linked(fabric, &of, parts) {
            let (switch, links) = next;
            let most = links.iter().max().copied().unwrap_or(0);
            let part =
                (0..parts).filter(|&part| links[part] == most).min_by_key(|&part| ports[part]).unwrap_or(0);
            ports[part] +=
                fabric.ports.iter().filter(|port| port.from == Node::Switch(switch as u16)).count();
            of[switch] = Some(part);
        }
        let switches: Vec<usize> = of.into_iter().map(Option::unwrap_or_default).collect();
        let hosts: Vec<usize> = fabric.edge_of.iter().map(|&edge| switches[usize::from(edge)]).collect();
        Self::new(fabric, &hosts, &switches)
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// How many ports there are.
    pub(crate) fn ports(&self) -> usize {
        self.ends.len()
    }

    /// The part of a host.
    #[inline]
    pub(crate) fn of_host(&self, host: HostId) -> usize {
        usize::from(self.hosts[usize::from(host)])
    }

    /// The parts of a port and of where its link leads.
    pub(crate) fn ends(&self, port: PortId) -> (usize, usize) {
        let (from, to) = self.ends[port as usize];
        (usize::from(from), usize::from(to))
    }

    /// How long before it arrives in another part a packet is known to arrive: the least that any link between parts takes
    /// for the shortest packet. [`Time::MAX`] if there is no such link.
    pub fn look_ahead(&self, fabric: &Fabric, transport: &TransportParams) -> Time {
        let shortest = Bytes::new(transport.ack_bytes.min(HEADER_BYTES).into());
        let across = fabric.ports.iter().zip(&self.ends).filter(|(_, (from, to))| from != to);
        across.map(|(port, _)| port.delay + port.rate.time_for(shortest)).min().unwrap_or(Time::MAX)
    }
}

/// The switch without a part that has the most links to those that have one, the first of several, and how many to each.
fn most_linked(fabric: &Fabric, of: &[Option<usize>], parts: usize) -> Option<(usize, Vec<usize>)> {
    let mut links = vec![vec![0; parts]; fabric.switches];
    for port in &fabric.ports {
        if let (Node::Switch(from), Node::Switch(to)) = (port.from, port.to)
            && let Some(part) = of[usize::from(to)]
        {
            links[usize::from(from)][part] += 1;
        }
    }
    let open = (0..fabric.switches).filter(|&switch| of[switch].is_none());
    let switch = open.rev().max_by_key(|&switch| links[switch].iter().sum::<usize>())?;
    Some((switch, std::mem::take(&mut links[switch])))
}
