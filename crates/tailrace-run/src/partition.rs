//! How a run is partitioned into logical processes: by racks, stages or hosts, and into as many as make it faster.

use tailrace_config::ScenarioError;
use tailrace_core::transport::TransportParams;
use tailrace_core::{HEADER_BYTES, HostId, Outcome, PortId, PortPolicy, Scheme, Time};
use tailrace_fabric::{Buffer, Fabric, PortSpec};
use tailrace_packet::{LookAheads, Partition};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::HostLoad;

use crate::build;

/// Packet-hops of a process in a [round](LookAheads::rounds) of look-aheads below which its thread waits for others about as long as it
/// works: on two threads `spine144` gained nothing by racks with 20 and half with 114, and by stages a tenth with 98
/// (docs/concepts/parallel.md#when-it-does-not-help).
const MIN_HOPS: f64 = 80.0;

/// The same by hosts: on stars two threads gained nothing with 80, and a fifth with 160.
const MIN_HOPS_BY_HOSTS: f64 = 160.0;

/// Packet-hops of a process in a round of look-aheads below which threads that a user asks for would do little but wait for each other.
const MIN_HOPS_REQUESTED: f64 = 8.0;

/// Packet-hops of a process in a round of look-aheads from which on processes by racks wait for each other so little that the messages
/// of processes by stages cost more: with 120 two threads were faster by stages, with 850 by racks
/// (docs/performance.md#one-run-on-several-threads).
const ENOUGH_HOPS: f64 = 240.0;

/// Ports of all processes together, each of which has tables of all: half a kilobyte a port.
const MAX_PORTS: usize = 1 << 22;

/// The share of their rates that hosts send where it is not known: for how a fabric is partitioned, not whether.
const ASSUMED_LOAD: f64 = 0.5;

/// Decides how a run is partitioned.
pub(crate) struct Partitioner<'a> {
    fabric: &'a Fabric,
    transport: &'a TransportParams,
    /// Whether the ports of a switch may be in several processes.
    may_split_switches: bool,
    /// The load of each host that the workload offers at first, if that is known.
    loads: Option<Vec<HostLoad>>,
}

impl<'a> Partitioner<'a> {
    pub(crate) fn new(scenario: &'a Scenario, fabric: &'a Fabric, may_split_switches: bool) -> Self {
        Partitioner {
            fabric,
            transport: &scenario.transport,
            may_split_switches,
            loads: loads(scenario, fabric),
        }
    }

    /// Packet-hops a second by what the workload offers at first, if that is known.
    fn hops(&self) -> Option<f64> {
        let bytes = |(port, load): (&PortSpec, &HostLoad)| load.sends * port.rate.bytes_per_sec();
        let sent = self.fabric.ports.iter().zip(self.loads.as_ref()?).map(bytes).sum();
        Some(hops_of(self.fabric, self.transport, sent))
    }

    /// The same, or what it may be.
    fn hops_or_assumed(&self) -> f64 {
        let assumed = || ASSUMED_LOAD * bytes_of_all_hosts(self.fabric);
        self.hops().unwrap_or_else(|| hops_of(self.fabric, self.transport, assumed()))
    }

    /// The work of a host under the load that the workload offers: it sends, and it acknowledges the packets that it gets.
    fn work(&self, host: HostId) -> u64 {
        let load = self.loads.as_ref().map_or(1.0, |loads| {
            let HostLoad { sends, receives } = loads[host as usize];
            sends + receives
        });
        (load * self.fabric.ports[host as usize].rate.as_bps() as f64) as u64
    }

    /// The best partition into so many processes, or fewer. It is by racks; but where ports of a switch may be in several processes, one rack is
    /// partitioned by hosts; and where racks are too few, or too small for the load, and processes by stages can be some times as
    /// far apart, it is by stages.
    pub(crate) fn best(&self, processes: usize) -> Partition {
        let racks = Partition::by_racks(self.fabric, processes);
        if !self.may_split_switches {
            return racks;
        }
        if racks.processes() == 1 {
            return Partition::by_hosts(self.fabric, processes, |host| self.work(host));
        }
        let round = self.round(&racks);
        if racks.processes() == processes && self.hops_or_assumed() * round / processes as f64 >= ENOUGH_HOPS
        {
            return racks;
        }
        let stages = Partition::by_stages(self.fabric, processes);
        stages.filter(|stages| self.round(stages) >= 4.0 * round).unwrap_or(racks)
    }

    /// The partition into the most processes, up to `at_most`, that have enough to do in a round of look-aheads under the load that the workload
    /// offers; `None` if two have not, or that is not known.
    pub(crate) fn if_faster(&self, at_most: usize) -> Option<Partition> {
        let fit = MAX_PORTS / self.fabric.ports.len().max(1);
        let one_rack = self.fabric.edge_of.windows(2).all(|edges| edges[0] == edges[1]);
        let min = if one_rack { MIN_HOPS_BY_HOSTS } else { MIN_HOPS };
        self.finest(at_most.min(fit), self.hops()?, min)
    }

    /// The partition into the most processes, up to `at_most`, for a user who asks for them; `None` if two would do little but wait for each
    /// other, or there are none.
    pub(crate) fn as_requested(&self, at_most: usize) -> Option<Partition> {
        self.finest(at_most, self.hops_or_assumed(), MIN_HOPS_REQUESTED)
    }

    /// The partition into the most processes with `min` packet-hops each in a round of look-aheads, at `hops` a second in all.
    fn finest(&self, at_most: usize, hops: f64, min: f64) -> Option<Partition> {
        let enough = (hops * self.longest_round() / min) as usize;
        let mut partitions = (2..=at_most.min(Partition::MAX_PROCESSES).min(enough))
            .rev()
            .map(|processes| self.best(processes));
        partitions.find(|partition| {
            partition.processes() > 1 && hops * self.round(partition) >= min * partition.processes() as f64
        })
    }

    /// The longest round of any partition into two processes; with more processes it is no longer.
    fn longest_round(&self) -> f64 {
        let racks = Partition::by_racks(self.fabric, 2);
        let split = match racks.processes() {
            _ if !self.may_split_switches => None,
            1 => Some(self.best(2)),
            _ => Partition::by_stages(self.fabric, 2),
        };
        let partitions =
            [Some(racks), split].into_iter().flatten().filter(|partition| partition.processes() > 1);
        partitions.map(|partition| self.round(&partition)).fold(0.0, f64::max)
    }

    /// The shortest round of look-aheads of any process, in seconds.
    fn round(&self, partition: &Partition) -> f64 {
        let look_aheads = LookAheads::new(partition, self.fabric, self.transport);
        look_aheads.rounds().into_iter().min().unwrap_or_default().as_secs_f64()
    }
}

/// The reason why the ports of a switch must be in one process, if they share more than the state by which the switch chooses.
pub(crate) fn shared_by_ports<S: Scheme>(fabric: &Fabric) -> Option<&'static str> {
    let reasons = [
        (matches!(fabric.buffer, Buffer::Shared { .. }), "the ports of a switch share its memory"),
        (S::Port::REVERSE, "the scheme's ports look at what comes back"),
        (!S::Port::WORK_CONSERVING, "the scheme's ports hold packets while their links are idle"),
    ];
    reasons.into_iter().find_map(|(applies, why)| applies.then_some(why))
}

/// Whether the ports of a switch may be in several processes under the scheme of a scenario.
fn may_split_switches(scenario: &Scenario, fabric: &Fabric) -> Result<bool, ScenarioError> {
    struct Splits<'a>(&'a Fabric);
    impl SchemeVisitor for Splits<'_> {
        type Output = Result<bool, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            Ok(shared_by_ports::<S>(self.0).is_none())
        }
    }
    build::visit(scenario, Splits(fabric))
}

/// Statistics of a partition of a run: how its work is shared out, and how many messages its processes send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionStats {
    /// How many processes there are.
    pub processes: usize,
    /// The share of all work that the largest process does; a packet-hop from a host counts twice, as for [`Partition::by_racks`].
    pub largest_share: f64,
    /// Packet-hops from one process to another, of all.
    pub messages_per_hop: f64,
    /// Packet-hops of all processes in a look-ahead, or half the shortest round of them, over the whole run.
    pub hops_per_look_ahead: f64,
    /// The same under the load that the workload offers at first: without the end, when fewer and fewer flows go on.
    pub hops_at_load: f64,
}

/// The statistics of the best partition of a run that is over into `processes`, or fewer.
pub fn partition_stats(
    scenario: &Scenario,
    outcome: &Outcome,
    processes: usize,
) -> Result<PartitionStats, ScenarioError> {
    let fabric = scenario.fabric.build();
    let partitioner = Partitioner::new(scenario, &fabric, may_split_switches(scenario, &fabric)?);
    let partition = partitioner.best(processes);
    let (mut work, mut messages) = (vec![0; partition.processes()], 0.0);
    for ((port, counts), out) in (0..).zip(&outcome.ports).zip(partition.remote_shares(&fabric)) {
        let sent = counts.sent.packets;
        work[partition.of_port(port as PortId)] += if port < fabric.hosts { 2 * sent } else { sent };
        messages += sent as f64 * out;
    }
    let hops = outcome.packet_hops() as f64;
    let half_round = partitioner.round(&partition) / 2.0;
    let (largest_share, all) = (work.iter().copied().max().unwrap_or(0), work.iter().sum::<u64>());
    Ok(PartitionStats {
        processes: partition.processes(),
        largest_share: largest_share as f64 / all.max(1) as f64,
        messages_per_hop: messages / hops.max(1.0),
        hops_per_look_ahead: hops * half_round / outcome.end.as_secs_f64(),
        hops_at_load: partitioner.hops().unwrap_or(0.0) * half_round,
    })
}

/// The packet-hops that so many bytes with headers make, and their acknowledgements, each over the longest path.
fn hops_of(fabric: &Fabric, transport: &TransportParams, bytes: f64) -> f64 {
    let packets = bytes / f64::from(transport.mss + HEADER_BYTES);
    let both_ways = packets * (1.0 + 1.0 / f64::from(transport.ack_every));
    both_ways * fabric.longest_path() as f64
}

/// The load of each host at first, as shares of its link, if that is known.
fn loads(scenario: &Scenario, fabric: &Fabric) -> Option<Vec<HostLoad>> {
    let loads = match (&scenario.workload.offered, scenario.plan()) {
        (Some(offered), _) => {
            let of = |(sends, &towards): (&f64, &PortId)| HostLoad {
                sends: *sends,
                receives: offered.ports[towards as usize],
            };
            offered.ports.iter().zip(&fabric.port_to).map(of).collect()
        }
        (None, Ok(plan)) => plan.host_loads(Time::ZERO),
        (None, Err(_)) => return None,
    };
    loads.iter().any(|load| load.sends > 0.0).then_some(loads)
}

/// The bytes that all hosts together can send a second.
fn bytes_of_all_hosts(fabric: &Fabric) -> f64 {
    fabric.ports[..fabric.hosts].iter().map(|port| port.rate.bytes_per_sec()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(fabric: &str, workload: &str) -> Scenario {
        let text = format!("[fabric]\n{fabric}\n[workload]\n{workload}\n[scheme]\nname = \"dctcp\"\n");
        Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn processes(fabric: &str, workload: &str, at_most: usize) -> usize {
        let scenario = scenario(fabric, workload);
        Partitioner::new(&scenario, &scenario.fabric.build(), true)
            .if_faster(at_most)
            .map_or(1, |partition| partition.processes())
    }

    /// The same, where switches are not divided.
    fn racks(fabric: &str, workload: &str, at_most: usize) -> usize {
        let scenario = scenario(fabric, workload);
        Partitioner::new(&scenario, &scenario.fabric.build(), false)
            .if_faster(at_most)
            .map_or(1, |partition| partition.processes())
    }

    fn web_search(load: f64) -> String {
        format!("sizes = \"web-search\"\nload = {load}\nflows = 100")
    }

    #[test]
    fn busy_fabrics_have_many_parts_and_others_one() {
        let small = "preset = \"spine144\"";
        assert_eq!(racks(small, &web_search(0.6), 2), 2);
        assert_eq!(racks(small, &web_search(0.6), 8), 2);
        assert_eq!(racks(small, &web_search(0.1), 8), 1);
        // By hand: 144 hosts send 72 million packets a second and get as many, over four links each; in a round of 2 * 438 ns
        // (430 ns and the 8 ns of 40 bytes) these are 505 hops, which is six times 80.
        let longer = format!("{small}\nspine_delay = \"430ns\"");
        assert_eq!(racks(&longer, &web_search(0.6), 8), 6);
        // A round by stages takes a host's link: 20.2 us and 32 ns, in which a thirtieth of that load are 388 hops.
        assert_eq!([0.6, 0.1, 0.02, 0.005].map(|load| processes(small, &web_search(load), 8)), [8, 8, 4, 1]);
        // By stages there may be more processes than racks.
        assert_eq!((processes(small, &web_search(0.6), 16), racks(&longer, &web_search(0.9), 16)), (16, 9));
        let large = "kind = \"fat-tree\"\nradix = 16\nhost_rate = \"10Gbps\"\nswitch_delay = \"200ns\"";
        assert_eq!(processes(large, &web_search(0.6), 8), 8);
        // A round takes links of two hosts, 2 * (20.2 us and 32 ns), in which 4 hosts at 0.6 of their rate have 323 hops by two links: twice 160.
        let star = "preset = \"micro4\"";
        assert_eq!([0.9, 0.6, 0.3].map(|load| processes(star, &web_search(load), 8)), [3, 2, 1]);
        assert_eq!(racks(star, &web_search(0.9), 8), 1);
    }

    /// 393,216 ports in ten processes are all that is taken unasked.
    #[test]
    fn memory_is_not_taken_unasked() {
        let largest_share =
            "kind = \"fat-tree\"\nradix = 64\nhost_rate = \"10Gbps\"\nswitch_delay = \"200ns\"";
        assert_eq!(processes(largest_share, &web_search(0.6), 64), 10);
    }

    /// By hand: a flow of ten packets between two racks, each of which is a process with a spine of its own or without. Each
    /// packet and its acknowledgement take four links, of which one or three lead from process to process.
    #[test]
    fn shares_are_those_of_the_ports() {
        let text = "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nhost_rate = \"10Gbps\"\n\
                    spine_rate = \"10Gbps\"\nhost_delay = \"1us\"\nspine_delay = \"1us\"\n[workload]\n\
                    sizes = { fixed = \"14600B\" }\nload = 0.1\nflows = 1\n[scheme]\nname = \"dctcp\"\n";
        let scenario = Scenario::parse(text).unwrap();
        let feed = crate::feed(&scenario).unwrap();
        let (outcome, _) = crate::run(&scenario, feed, &crate::Unattended, Vec::new()).unwrap();
        assert_eq!(outcome.packet_hops() % 8, 0, "as many there as back, over four links");
        let PartitionStats { processes, largest_share, messages_per_hop, hops_per_look_ahead, .. } =
            partition_stats(&scenario, &outcome, 2).unwrap();
        assert_eq!((processes, messages_per_hop), (2, 0.25));
        // Of ten units each way the process with the spine has the host's two, the switch's two, and the spine's two.
        assert_eq!(largest_share, 0.6);
        let look_aheads = outcome.end.as_secs_f64() / 1.032e-6;
        assert!((hops_per_look_ahead * look_aheads - outcome.packet_hops() as f64).abs() < 1e-6);
        assert_eq!(partition_stats(&scenario, &outcome, 1).unwrap().messages_per_hop, 0.0);
    }

    /// Where ports of a switch may be in several processes, small fabrics are partitioned by stages, and large ones, where much goes on in a
    /// look-ahead, by racks, as those whose hosts are no farther away than switches.
    #[test]
    fn rounds_decide_how_a_fabric_is_cut() {
        let rounds_of = |fabric: &str, workload: &str, may_split_switches| {
            let scenario = scenario(fabric, workload);
            let fabric = scenario.fabric.build();
            let partitioner = Partitioner::new(&scenario, &fabric, may_split_switches);
            partitioner.round(&partitioner.best(2))
        };
        let rounds =
            |fabric: &str, may_split_switches| rounds_of(fabric, &web_search(0.6), may_split_switches);
        let small = "preset = \"spine144\"";
        assert!((rounds(small, false) - 416e-9).abs() < 1e-12);
        assert!((rounds(small, true) - 20.44e-6).abs() < 1e-12);
        let large = "kind = \"leaf-spine\"\nleaves = 32\nspines = 8\nhosts_per_leaf = 32\nhost_rate = \"10Gbps\"\n\
                     spine_rate = \"40Gbps\"\nspine_delay = \"200ns\"\nhost_delay = \"20us\"";
        assert!((rounds(large, true) - 416e-9).abs() < 1e-12);
        // Where it is not known how much goes on, it may be much.
        let at_once = "sizes = \"web-search\"\nflows = 100\npattern = \"permutation\"\narrivals = \"once\"";
        assert!((rounds_of(small, at_once, true) - 20.44e-6).abs() < 1e-12);
        assert!((rounds_of(large, at_once, true) - 416e-9).abs() < 1e-12);
        assert!((rounds(&format!("{small}\nhost_delay = \"500ns\""), true) - 416e-9).abs() < 1e-12);
    }

    #[test]
    fn one_busy_host_is_not_a_busy_fabric() {
        let incast = "sizes = { fixed = \"40KB\" }\nload = 0.9\nflows = 100\n\
                      pattern = { incast = { receivers = [0], fan_in = 8, jitter = \"0s\" } }";
        assert_eq!(processes("preset = \"spine144\"", incast, 8), 1);
    }
}
