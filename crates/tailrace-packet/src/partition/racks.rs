//! Partitions by racks: switches with all their ports.

use tailrace_fabric::{Fabric, Node};

use super::{Partition, edges, work};

impl Partition {
    /// A partition into `processes` or fewer of about the same work: hosts are with their edge switch, edge switches in their order,
    /// so that pods stay together, and each other switch is where most of its links are, or nearly.
    pub fn by_racks(fabric: &Fabric, processes: usize) -> Self {
        let edges: Vec<usize> = edges(fabric).into_iter().map(usize::from).collect();
        let processes = processes.clamp(1, Self::MAX_PROCESSES).min(edges.len());
        let work = work_by_switch(fabric);
        let mut assignment = Assignment::new(fabric, processes);
        let all: u64 = edges.iter().map(|&edge| work[edge]).sum();
        let mut before = 0;
        for &edge in &edges {
            let middle = before + work[edge] / 2;
            assignment.assign(
                edge,
                (u128::from(middle) * processes as u128 / u128::from(all.max(1))) as usize,
                work[edge],
            );
            before += work[edge];
        }
        // From the edge on inwards.
        while let Some(next) = assignment.next() {
            let process = assignment.process_for(next);
            assignment.assign(next, process, work[next]);
        }
        // Where one rack has most of all work, processes beside it may have got none.
        let mut used: Vec<usize> = assignment.of.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let place = |process: Option<usize>| {
            process.and_then(|process| used.binary_search(&process).ok()).unwrap_or(0)
        };
        let switches: Vec<usize> = assignment.of.into_iter().map(place).collect();
        let hosts: Vec<usize> = fabric.edge_of.iter().map(|&edge| switches[usize::from(edge)]).collect();
        Self::new(fabric, &hosts, &switches)
    }
}

/// The work of a run at each switch and its hosts.
fn work_by_switch(fabric: &Fabric) -> Vec<u64> {
    let mut by_switch = vec![0; fabric.switches];
    for (port, number) in fabric.ports.iter().zip(0..) {
        let switch = match port.from {
            Node::Host(host) => fabric.edge_of[host as usize],
            Node::Switch(switch) => switch,
        };
        by_switch[usize::from(switch)] += work(fabric, number);
    }
    by_switch
}

/// The processes that switches are assigned to.
struct Assignment {
    of: Vec<Option<usize>>,
    work: Vec<u64>,
    /// The switches that each has links to.
    neighbours: Vec<Vec<usize>>,
    /// Links of each switch to each process.
    links: Vec<Vec<usize>>,
}

impl Assignment {
    fn new(fabric: &Fabric, processes: usize) -> Self {
        let mut neighbours = vec![Vec::new(); fabric.switches];
        for port in &fabric.ports {
            if let (Node::Switch(from), Node::Switch(to)) = (port.from, port.to) {
                neighbours[usize::from(from)].push(usize::from(to));
            }
        }
        Assignment {
            of: vec![None; fabric.switches],
            work: vec![0; processes],
            neighbours,
            links: vec![vec![0; processes]; fabric.switches],
        }
    }

    fn assign(&mut self, switch: usize, process: usize, work: u64) {
        self.of[switch] = Some(process);
        self.work[process] += work;
        self.neighbours[switch].iter().for_each(|&neighbour| self.links[neighbour][process] += 1);
    }

    /// The switch without a process that has the most links to those that have one, the first of several.
    fn next(&self) -> Option<usize> {
        let open = (0..self.of.len()).filter(|&switch| self.of[switch].is_none());
        open.rev().max_by_key(|&switch| self.links[switch].iter().sum::<usize>())
    }

    /// The process with the least work among those that a switch has about as many links to as to any.
    fn process_for(&self, switch: usize) -> usize {
        let links = &self.links[switch];
        let most = links.iter().max().copied().unwrap_or(0);
        let near = (0..links.len()).filter(|&process| 2 * links[process] >= most);
        near.min_by_key(|&process| self.work[process]).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use tailrace_core::transport::TransportParams;
    use tailrace_core::{HEADER_BYTES, LinkRate, Rate, Time};
    use tailrace_fabric::{FabricParams, PortId};

    use super::*;
    use crate::LookAheads;

    fn shares(text: &str, processes: usize) -> Vec<f64> {
        let table = text.parse().expect("a table");
        let fabric = FabricParams::from_table(&table).expect("a fabric").build();
        let partition = Partition::by_racks(&fabric, processes);
        let mut shares = vec![0.0; partition.processes()];
        for port in 0..fabric.ports.len() as PortId {
            shares[partition.of_port(port)] += work(&fabric, port) as f64;
        }
        let all: f64 = shares.iter().sum();
        shares.iter().map(|share| share / all).collect()
    }

    /// A port's own rounding counts: a picosecond too much, and packets would arrive in the past.
    #[test]
    fn a_look_ahead_is_no_longer_than_what_a_port_takes() {
        for gbps in 1..=400 {
            let text = format!(
                "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nhost_rate = \"{gbps}Gbps\"\n\
                 spine_rate = \"{gbps}Gbps\"\nhost_delay = \"1us\"\nspine_delay = \"1us\""
            );
            let fabric = FabricParams::from_table(&text.parse().expect("a table")).expect("a fabric").build();
            let transport = TransportParams::default();
            let port = LinkRate::new(Rate::from_gbps(gbps));
            let partition = Partition::by_racks(&fabric, 2);
            let look_aheads = LookAheads::new(&partition, &fabric, &transport);
            let expected = Time::from_us(1) + port.time_for(transport.ack_bytes.min(HEADER_BYTES));
            assert_eq!(
                [look_aheads.between(0, 1), look_aheads.between(1, 0), look_aheads.rounds()[0]],
                [expected, expected, expected + expected]
            );
        }
    }

    #[test]
    fn processes_have_about_the_same_work() {
        for (text, processes, most) in [
            ("preset = \"spine144\"", 2, 0.51),
            // Four spines for three processes.
            ("preset = \"spine144\"", 3, 0.37),
            ("preset = \"fattree64\"", 4, 0.26),
        ] {
            let shares = shares(text, processes);
            assert_eq!(shares.len(), processes);
            assert!(shares.iter().all(|&share| share < most), "{text} in {processes}: {shares:?}");
        }
    }
}
