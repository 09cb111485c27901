//! Partitions by stages: ports in the order in which packets meet them, from hosts inwards and back out.

use std::cmp::Reverse;

use tailrace_fabric::{Fabric, Node, PortId, SwitchId};

use super::{Partition, switches, work};

/// Most pairs of a switch and a rack whose ways are looked at.
const MAX_WAYS: usize = 1 << 18;

impl Partition {
    /// A partition into `processes` or fewer of about the same work: all ports stand in a row as packets meet them, those that lead
    /// inwards, those that lead outwards, and by racks those towards hosts, and hosts. The row is divided into lengths. So in
    /// fabrics of tiers no packet comes back to an earlier process but over links of hosts. Where these are long, no process waits for another
    /// closely; but most packets go from process to process twice. See [`Self::of_ports`] for the state that ports must not share. In fabrics
    /// without tiers the ports that a switch chooses between may be in two lengths; they go to one of them, and the other may become empty.
    ///
    /// `None` for fabrics of so many switches and racks that it takes long.
    pub fn by_stages(fabric: &Fabric, processes: usize) -> Option<Self> {
        let racks = super::edges(fabric).len();
        if fabric.switches.saturating_mul(racks) > MAX_WAYS {
            return None;
        }
        let with_work = |lot: Vec<PortId>| {
            let all = lot.iter().map(|&port| work(fabric, port)).sum();
            (lot, all)
        };
        let row: Vec<_> = row(fabric).into_iter().map(with_work).collect();
        Some(Self::of_row(fabric, &row, processes))
    }
}

/// All ports in the order in which packets meet them, in lots that stay together: those that a switch chooses between, in fabrics of tiers,
/// and ports of a rack towards its hosts, so that links to its switch from others lead to one process.
fn row(fabric: &Fabric) -> Vec<Vec<PortId>> {
    let levels = levels(fabric);
    let level = |switch: SwitchId| levels[usize::from(switch)];
    let mut inwards = vec![Vec::new(); fabric.switches];
    let mut outwards = inwards.clone();
    for (port, number) in fabric.ports.iter().zip(0..) {
        if let (Node::Switch(from), Node::Switch(to)) = (port.from, port.to) {
            let lots = if level(to) >= level(from) { &mut inwards } else { &mut outwards };
            lots[usize::from(from)].push(number);
        }
    }
    let mut racks = vec![(Vec::new(), Vec::new()); fabric.switches];
    for (host, (&edge, &port)) in fabric.edge_of.iter().zip(&fabric.port_to).enumerate() {
        let (towards, hosts) = &mut racks[usize::from(edge)];
        towards.push(port);
        hosts.push(vec![host as PortId]);
    }
    let mut order: Vec<SwitchId> = switches(fabric).collect();
    order.sort_by_key(|&switch| level(switch));
    let mut row: Vec<_> =
        order.iter().map(|&switch| std::mem::take(&mut inwards[usize::from(switch)])).collect();
    order.sort_by_key(|&switch| Reverse(level(switch)));
    row.extend(order.iter().map(|&switch| std::mem::take(&mut outwards[usize::from(switch)])));
    row.extend(racks.into_iter().flat_map(|(towards, hosts)| std::iter::once(towards).chain(hosts)));
    row.retain(|lot| !lot.is_empty());
    row
}

/// How many links each switch is from one that hosts hang on.
fn levels(fabric: &Fabric) -> Vec<usize> {
    let mut levels = vec![usize::MAX; fabric.switches];
    fabric.edge_of.iter().for_each(|&edge| levels[usize::from(edge)] = 0);
    let mut changes = true;
    while std::mem::take(&mut changes) {
        for port in &fabric.ports {
            if let (Node::Switch(from), Node::Switch(to)) = (port.from, port.to) {
                let (from, to) = (usize::from(from), usize::from(to));
                if levels[from].saturating_add(1) < levels[to] {
                    (levels[to], changes) = (levels[from] + 1, true);
                }
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tailrace_core::Time;
    use tailrace_core::transport::TransportParams;
    use tailrace_fabric::FabricParams;

    use super::*;
    use crate::LookAheads;

    fn fabric(text: &str) -> Arc<Fabric> {
        FabricParams::from_table(&text.parse().expect("a table")).expect("a fabric").build()
    }

    /// The share of each process of all work.
    fn shares(fabric: &Fabric, partition: &Partition) -> Vec<f64> {
        let mut shares = vec![0.0; partition.processes()];
        let all: u64 = (0..fabric.ports.len() as PortId).map(|port| work(fabric, port)).sum();
        for port in 0..fabric.ports.len() as PortId {
            shares[partition.of_port(port)] += work(fabric, port) as f64 / all as f64;
        }
        shares
    }

    /// The only links back are those of hosts, so that the shortest way from a process to itself takes one of them.
    #[test]
    fn a_round_takes_a_link_of_a_host() {
        let tree = "kind = \"fat-tree\"\nradix = 4\nhost_rate = \"10Gbps\"\nhost_delay = \"20us\"\nswitch_delay = \"200ns\"";
        for text in ["preset = \"spine144\"", tree] {
            let fabric = fabric(text);
            for processes in 2..=9 {
                let partition = Partition::by_stages(&fabric, processes).expect("a small fabric");
                assert_eq!(partition.processes(), processes, "{text}");
                let look_aheads = LookAheads::new(&partition, &fabric, &TransportParams::default());
                (0..processes).for_each(|process| {
                    assert!(look_aheads.rounds()[process] >= Time::from_us(20), "{text}: {processes}")
                });
                let shares = shares(&fabric, &partition);
                assert!(
                    shares.iter().all(|share| share * (processes as f64) < 1.4),
                    "{text} in {processes}: {shares:?}"
                );
            }
        }
    }

    #[test]
    fn what_takes_long_is_not_begun() {
        let text = "kind = \"fat-tree\"\nradix = 36\nhost_rate = \"10Gbps\"";
        assert_eq!(Partition::by_stages(&fabric(text), 2), None);
    }

    /// Where ways go around, every port has a process all the same.
    #[test]
    fn fabrics_without_tiers_are_partitioned_as_well() {
        let ring = "kind = \"graph\"\nhosts = [\"h\", \"i\"]\nswitches = [\"a\", \"b\", \"c\"]\nrate = \"10Gbps\"\nlink = [\
                    { ends = [\"h\", \"a\"] }, { ends = [\"i\", \"b\"] }, { ends = [\"a\", \"b\"] }, { ends = [\"b\", \"c\"] },\
                    { ends = [\"c\", \"a\"] }]";
        let fabric = fabric(ring);
        let partition = Partition::by_stages(&fabric, 3).expect("a small fabric");
        assert_eq!(partition.processes(), 3);
        assert!(shares(&fabric, &partition).iter().all(|&share| share > 0.0));
    }
}
