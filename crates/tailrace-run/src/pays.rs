//! How many parts a run is over soonest with.

use tailrace_config::ScenarioError;
use tailrace_core::transport::TransportParams;
use tailrace_core::{HEADER_BYTES, HostId, Outcome, PortId, PortPolicy, Scheme, Time};
use tailrace_fabric::{Buffer, Fabric, PortSpec};
use tailrace_packet::{LookAheads, Partition};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::HostLoad;

use crate::build;

/// Packet-hops of a part in a [round](LookAheads::rounds) of look-aheads below which its thread waits for others about as long as it
/// works: on two threads `spine144` gained nothing by racks with 20 and half with 114, and by stages a tenth with 98
/// (docs/concepts/parallel.md#when-it-does-not-help).
const LEAST_HOPS: f64 = 80.0;

/// The same by hosts: on stars two threads gained nothing with 80, and a fifth with 160.
const LEAST_HOPS_BY_HOSTS: f64 = 160.0;

/// Packet-hops of a part in a round of look-aheads below which threads that somebody asks for would do little but wait for each other.
const FEWEST_HOPS: f64 = 8.0;

/// Packet-hops of a part in a round of look-aheads from which on parts by racks wait for each other so little that the letters
/// of parts by stages cost more: with 120 two threads were faster by stages, with 850 by racks
/// (docs/performance.md#one-run-on-several-threads).
const ENOUGH_HOPS: f64 = 240.0;

/// Ports of all parts together, each of which has tables of all: half a kilobyte a port.
const MOST_PORTS: usize = 1 << 22;

/// Of the rates of all hosts, what they send where it is not known: for how a fabric is cut, not whether.
const ASSUMED_LOAD: f64 = 0.5;

/// What decides how a run is cut.
pub(crate) struct Cutter<'a> {
    fabric: &'a Fabric,
    transport: &'a TransportParams,
    /// Whether the ports of a switch may be of several parts.
    may_split: bool,
    /// What hosts send and receive by what the workload offers at first, if that is known.
    loads: Option<Vec<HostLoad>>,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(scenario: &'a Scenario, fabric: &'a Fabric, may_split: bool) -> Self {
        Cutter { fabric, transport: &scenario.transport, may_split, loads: loads(scenario, fabric) }
    }

    /// Packet-hops a second by what the workload offers at first, if that is known.
    fn hops(&self) -> Option<f64> {
        let bytes = |(port, load): (&PortSpec, &HostLoad)| load.sends * port.rate.bytes_per_sec();
        let sent = self.fabric.ports.iter().zip(self.loads.as_ref()?).map(bytes).sum();
        Some(hops_of(self.fabric, self.transport, sent))
    }

    /// The same, or what it may be.
    fn hops_or_so(&self) -> f64 {
        let assumed = || ASSUMED_LOAD * bytes_of_all_hosts(self.fabric);
        self.hops().unwrap_or_else(|| hops_of(self.fabric, self.transport, assumed()))
    }

    /// What a host has to do, of what the workload offers: it sends what it has, and acknowledges what it gets.
    fn work(&self, host: HostId) -> u64 {
        let load = self.loads.as_ref().map_or(1.0, |loads| {
            let HostLoad { sends, receives } = loads[host as usize];
            sends + receives
        });
        (load * self.fabric.ports[host as usize].rate.as_bps() as f64) as u64
    }

    /// A cut into so many parts, or fewer. It is by racks; but where ports of a switch may be of several parts, one rack is cut by hosts,
    /// and where racks are too few, or too fine for what goes on, and parts by stages can be some times as far apart, it is by stages.
    pub(crate) fn best(&self, parts: usize) -> Partition {
        let racks = Partition::by_racks(self.fabric, parts);
        if !self.may_split {
            return racks;
        }
        if racks.processes() == 1 {
            return Partition::by_hosts(self.fabric, parts, |host| self.work(host));
        }
        let round = self.round(&racks);
        if racks.processes() == parts && self.hops_or_so() * round / parts as f64 >= ENOUGH_HOPS {
            return racks;
        }
        let stages = Partition::by_stages(self.fabric, parts);
        stages.filter(|stages| self.round(stages) >= 4.0 * round).unwrap_or(racks)
    }

    /// The cut into the most parts, up to `at_most`, that have enough to do between two looks at each other by what the workload
    /// offers; `None` if two have not, or that is not known.
    pub(crate) fn where_it_pays(&self, at_most: usize) -> Option<Partition> {
        let fit = MOST_PORTS / self.fabric.ports.len().max(1);
        let one_rack = self.fabric.edge_of.windows(2).all(|edges| edges[0] == edges[1]);
        let least = if one_rack { LEAST_HOPS_BY_HOSTS } else { LEAST_HOPS };
        self.finest(at_most.min(fit), self.hops()?, least)
    }

    /// The cut into the most parts, up to `at_most`, for somebody who asks for them; `None` if two would do little but wait for each
    /// other, or there are none.
    pub(crate) fn as_asked(&self, at_most: usize) -> Option<Partition> {
        self.finest(at_most, self.hops_or_so(), FEWEST_HOPS)
    }

    /// The cut into the most parts that have so many packet-hops to do in a round of look-aheads, of so many in a second.
    fn finest(&self, at_most: usize, hops: f64, least: f64) -> Option<Partition> {
        let enough = (hops * self.longest_round() / least) as usize;
        let mut cuts =
            (2..=at_most.min(Partition::MAX_PROCESSES).min(enough)).rev().map(|parts| self.best(parts));
        cuts.find(|cut| cut.processes() > 1 && hops * self.round(cut) >= least * cut.processes() as f64)
    }

    /// That of the cut that has the longest one, into two parts; with more it is no longer.
    fn longest_round(&self) -> f64 {
        let racks = Partition::by_racks(self.fabric, 2);
        let split = match racks.processes() {
            _ if !self.may_split => None,
            1 => Some(self.best(2)),
            _ => Partition::by_stages(self.fabric, 2),
        };
        let cuts = [Some(racks), split].into_iter().flatten().filter(|cut| cut.processes() > 1);
        cuts.map(|cut| self.round(&cut)).fold(0.0, f64::max)
    }

    /// The shortest round of look-aheads of any part, in seconds.
    fn round(&self, cut: &Partition) -> f64 {
        let ahead = LookAheads::new(cut, self.fabric, self.transport);
        ahead.rounds().into_iter().min().unwrap_or_default().as_secs_f64()
    }
}

/// Why the ports of a switch may not be of several parts, if they share more than what the switch chooses by.
pub(crate) fn shares_what<S: Scheme>(fabric: &Fabric) -> Option<&'static str> {
    let reasons = [
        (matches!(fabric.buffer, Buffer::Shared { .. }), "the ports of a switch share its memory"),
        (S::Port::REVERSE, "the scheme's ports look at what comes back"),
        (!S::Port::WORK_CONSERVING, "the scheme's ports hold packets while their links are idle"),
    ];
    reasons.into_iter().find_map(|(shares, what)| shares.then_some(what))
}

/// The same, by the scheme's name.
fn may_split(scenario: &Scenario, fabric: &Fabric) -> Result<bool, ScenarioError> {
    struct Splits<'a>(&'a Fabric);
    impl SchemeVisitor for Splits<'_> {
        type Output = Result<bool, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            Ok(shares_what::<S>(self.0).is_none())
        }
    }
    build::visit(scenario, Splits(fabric))
}

/// What a cut makes of a run: how its work is shared out, and what its parts tell each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// How many parts there are.
    pub parts: usize,
    /// What the largest part does of all work; a packet-hop from a host counts twice, as for [`Partition::by_racks`].
    pub largest: f64,
    /// Packet-hops from one part to another, of all.
    pub letters_per_hop: f64,
    /// Packet-hops of all parts in a look-ahead, or half the shortest round of them, over the whole run.
    pub hops_per_look_ahead: f64,
    /// The same while the workload offers what it does at first: without the end, when fewer and fewer flows go on.
    pub hops_at_load: f64,
}

/// What comes of cutting a run that is over into `parts`, or fewer.
pub fn shares(scenario: &Scenario, outcome: &Outcome, parts: usize) -> Result<Shares, ScenarioError> {
    let fabric = scenario.fabric.build();
    let cutter = Cutter::new(scenario, &fabric, may_split(scenario, &fabric)?);
    let cut = cutter.best(parts);
    let (mut work, mut letters) = (vec![0; cut.processes()], 0.0);
    for ((port, counts), out) in (0..).zip(&outcome.ports).zip(cut.remote_shares(&fabric)) {
        let sent = counts.sent.packets;
        work[cut.of_port(port as PortId)] += if port < fabric.hosts { 2 * sent } else { sent };
        letters += sent as f64 * out;
    }
    let hops = outcome.packet_hops() as f64;
    let half_round = cutter.round(&cut) / 2.0;
    let (largest, all) = (work.iter().copied().max().unwrap_or(0), work.iter().sum::<u64>());
    Ok(Shares {
        parts: cut.processes(),
        largest: largest as f64 / all.max(1) as f64,
        letters_per_hop: letters / hops.max(1.0),
        hops_per_look_ahead: hops * half_round / outcome.end.as_secs_f64(),
        hops_at_load: cutter.hops().unwrap_or(0.0) * half_round,
    })
}

/// The packet-hops that so many bytes with headers make, and their acknowledgements, each over the longest path.
fn hops_of(fabric: &Fabric, transport: &TransportParams, bytes: f64) -> f64 {
    let packets = bytes / f64::from(transport.mss + HEADER_BYTES);
    let both_ways = packets * (1.0 + 1.0 / f64::from(transport.ack_every));
    both_ways * fabric.longest_path() as f64
}

/// What each host sends and receives at first, as shares of its link, if that is known.
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

/// What all hosts together can send a second.
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

    fn parts(fabric: &str, workload: &str, at_most: usize) -> usize {
        let scenario = scenario(fabric, workload);
        Cutter::new(&scenario, &scenario.fabric.build(), true)
            .where_it_pays(at_most)
            .map_or(1, |cut| cut.processes())
    }

    /// The same, where switches are not divided.
    fn racks(fabric: &str, workload: &str, at_most: usize) -> usize {
        let scenario = scenario(fabric, workload);
        Cutter::new(&scenario, &scenario.fabric.build(), false)
            .where_it_pays(at_most)
            .map_or(1, |cut| cut.processes())
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
        assert_eq!([0.6, 0.1, 0.02, 0.005].map(|load| parts(small, &web_search(load), 8)), [8, 8, 4, 1]);
        // By stages there may be more parts than racks.
        assert_eq!((parts(small, &web_search(0.6), 16), racks(&longer, &web_search(0.9), 16)), (16, 9));
        let large = "kind = \"fat-tree\"\nradix = 16\nhost_rate = \"10Gbps\"\nswitch_delay = \"200ns\"";
        assert_eq!(parts(large, &web_search(0.6), 8), 8);
        // A round takes links of two hosts, 2 * (20.2 us and 32 ns), in which 4 hosts at 0.6 of their rate have 323 hops by two links: twice 160.
        let star = "preset = \"micro4\"";
        assert_eq!([0.9, 0.6, 0.3].map(|load| parts(star, &web_search(load), 8)), [3, 2, 1]);
        assert_eq!(racks(star, &web_search(0.9), 8), 1);
    }

    /// 393,216 ports in ten parts are all that is taken unasked.
    #[test]
    fn memory_is_not_taken_unasked() {
        let largest = "kind = \"fat-tree\"\nradix = 64\nhost_rate = \"10Gbps\"\nswitch_delay = \"200ns\"";
        assert_eq!(parts(largest, &web_search(0.6), 64), 10);
    }

    /// By hand: a flow of ten packets between two racks, each of which is a part with a spine of its own or without. Each
    /// packet and its acknowledgement take four links, of which one or three lead from part to part.
    #[test]
    fn shares_are_those_of_the_ports() {
        let text = "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nhost_rate = \"10Gbps\"\n\
                    spine_rate = \"10Gbps\"\nhost_delay = \"1us\"\nspine_delay = \"1us\"\n[workload]\n\
                    sizes = { fixed = \"14600B\" }\nload = 0.1\nflows = 1\n[scheme]\nname = \"dctcp\"\n";
        let scenario = Scenario::parse(text).unwrap();
        let feed = crate::feed(&scenario).unwrap();
        let (outcome, _) = crate::run(&scenario, feed, &crate::Unattended, Vec::new()).unwrap();
        assert_eq!(outcome.packet_hops() % 8, 0, "as many there as back, over four links");
        let Shares { parts, largest, letters_per_hop, hops_per_look_ahead, .. } =
            shares(&scenario, &outcome, 2).unwrap();
        assert_eq!((parts, letters_per_hop), (2, 0.25));
        // Of ten units each way the part with the spine has the host's two, the switch's two, and the spine's two.
        assert_eq!(largest, 0.6);
        let look_aheads = outcome.end.as_secs_f64() / 1.032e-6;
        assert!((hops_per_look_ahead * look_aheads - outcome.packet_hops() as f64).abs() < 1e-6);
        assert_eq!(shares(&scenario, &outcome, 1).unwrap().letters_per_hop, 0.0);
    }

    /// Where ports of a switch may be of several parts, small fabrics are cut by stages, and large ones, where much goes on in a
    /// look-ahead, by racks, as those whose hosts are no farther away than switches.
    #[test]
    fn rounds_decide_how_a_fabric_is_cut() {
        let rounds_of = |fabric: &str, workload: &str, may_split| {
            let scenario = scenario(fabric, workload);
            let fabric = scenario.fabric.build();
            let cutter = Cutter::new(&scenario, &fabric, may_split);
            cutter.round(&cutter.best(2))
        };
        let rounds = |fabric: &str, may_split| rounds_of(fabric, &web_search(0.6), may_split);
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
        assert_eq!(parts("preset = \"spine144\"", incast, 8), 1);
    }
}
