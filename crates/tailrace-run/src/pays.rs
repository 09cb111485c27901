//! How many parts a run is over soonest with.

use tailrace_config::ScenarioError;
use tailrace_core::transport::TransportParams;
use tailrace_core::{HEADER_BYTES, Outcome, PortId, PortPolicy, Scheme, Time};
use tailrace_fabric::{Buffer, Fabric};
use tailrace_packet::{Cut, LookAheads};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;

use crate::build;

/// Packet-hops of a part in a [round](LookAheads::rounds) of look-aheads below which its thread waits for others about as long as it
/// works: on two threads `spine144` gained nothing by racks with 20 and half with 114, and by stages a tenth with 98
/// (docs/concepts/parallel.md#when-it-does-not-help).
const LEAST_HOPS: f64 = 80.0;

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
    /// Packet-hops a second by what the workload offers at first, if that is known.
    hops: Option<f64>,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(scenario: &'a Scenario, fabric: &'a Fabric, may_split: bool) -> Self {
        let transport = &scenario.transport;
        let hops = bytes_a_second(scenario, fabric).map(|bytes| hops_of(fabric, transport, bytes));
        Cutter { fabric, transport, may_split, hops }
    }

    /// A cut into so many parts, or fewer. It is by racks; but where ports of a switch may be of several parts, one rack is cut by hosts,
    /// and where racks are too few, or too fine for what goes on, and parts by stages can be some times as far apart, it is by stages.
    pub(crate) fn best(&self, parts: usize) -> Cut {
        let racks = Cut::by_racks(self.fabric, parts);
        if !self.may_split {
            return racks;
        }
        if racks.parts() == 1 {
            return Cut::by_hosts(self.fabric, parts);
        }
        let (round, assumed) = (self.round(&racks), || ASSUMED_LOAD * bytes_of_all_hosts(self.fabric));
        let hops = self.hops.unwrap_or_else(|| hops_of(self.fabric, self.transport, assumed()));
        if racks.parts() == parts && hops * round / parts as f64 >= ENOUGH_HOPS {
            return racks;
        }
        let stages = Cut::by_stages(self.fabric, parts);
        stages.filter(|stages| self.round(stages) >= 4.0 * round).unwrap_or(racks)
    }

    /// The most parts, up to `at_most`, that have enough to do between two looks at each other by what the workload offers;
    /// one where that is not known.
    pub(crate) fn parts_that_pay(&self, at_most: usize) -> usize {
        let Some(hops) = self.hops else { return 1 };
        let enough = (hops * self.longest_round() / LEAST_HOPS) as usize;
        let most = at_most.min(Cut::MOST).min(enough).min(MOST_PORTS / self.fabric.ports.len().max(1));
        let mut cuts = (2..=most).rev().map(|parts| self.best(parts));
        let pays = |cut: &Cut| hops * self.round(cut) >= LEAST_HOPS * cut.parts() as f64;
        cuts.find(pays).map_or(1, |cut| cut.parts())
    }

    /// That of the cut that has the longest one, into two parts; with more it is no longer.
    fn longest_round(&self) -> f64 {
        let racks = Cut::by_racks(self.fabric, 2);
        let split = match racks.parts() {
            _ if !self.may_split => None,
            1 => Some(Cut::by_hosts(self.fabric, 2)),
            _ => Cut::by_stages(self.fabric, 2),
        };
        let cuts = [Some(racks), split].into_iter().flatten().filter(|cut| cut.parts() > 1);
        cuts.map(|cut| self.round(&cut)).fold(0.0, f64::max)
    }

    /// The shortest round of look-aheads of any part, in seconds.
    fn round(&self, cut: &Cut) -> f64 {
        let ahead = LookAheads::new(cut, self.fabric, self.transport);
        ahead.rounds().into_iter().min().unwrap_or_default().as_secs_f64()
    }
}

/// Whether the ports of a switch may be of several parts: they share nothing but what the switch chooses by.
pub(crate) fn splits<S: Scheme>(fabric: &Fabric) -> bool {
    S::Port::WORK_CONSERVING && !S::Port::REVERSE && matches!(fabric.buffer, Buffer::PerPort(_))
}

/// The same, by the scheme's name.
fn may_split(scenario: &Scenario, fabric: &Fabric) -> Result<bool, ScenarioError> {
    struct Splits<'a>(&'a Fabric);
    impl SchemeVisitor for Splits<'_> {
        type Output = Result<bool, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            Ok(splits::<S>(self.0))
        }
    }
    build::visit(scenario, Splits(fabric))
}

/// What a cut makes of a run: how its work is shared out, and what its parts tell each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// How many parts there are.
    pub parts: usize,
    /// What the largest part does of all work; a packet-hop from a host counts twice, as for [`Cut::by_racks`].
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
    let (mut work, mut letters) = (vec![0; cut.parts()], 0.0);
    for ((port, counts), out) in (0..).zip(&outcome.ports).zip(cut.shares_out(&fabric)) {
        let sent = counts.sent.packets;
        work[cut.of_port(port as PortId)] += if port < fabric.hosts { 2 * sent } else { sent };
        letters += sent as f64 * out;
    }
    let hops = outcome.packet_hops() as f64;
    let half_round = cutter.round(&cut) / 2.0;
    let (largest, all) = (work.iter().copied().max().unwrap_or(0), work.iter().sum::<u64>());
    Ok(Shares {
        parts: cut.parts(),
        largest: largest as f64 / all.max(1) as f64,
        letters_per_hop: letters / hops.max(1.0),
        hops_per_look_ahead: hops * half_round / outcome.end.as_secs_f64(),
        hops_at_load: cutter.hops.unwrap_or(0.0) * half_round,
    })
}

/// The packet-hops that so many bytes with headers make, and their acknowledgements, each over the longest path.
fn hops_of(fabric: &Fabric, transport: &TransportParams, bytes: f64) -> f64 {
    let packets = bytes / f64::from(transport.mss + HEADER_BYTES);
    let both_ways = packets * (1.0 + 1.0 / f64::from(transport.ack_every));
    both_ways * fabric.longest_path() as f64
}

/// What all hosts together send a second at first, with headers, if that is known.
fn bytes_a_second(scenario: &Scenario, fabric: &Fabric) -> Option<f64> {
    let loads: Vec<f64> = match (&scenario.workload.offered, scenario.plan()) {
        (Some(offered), _) => offered.ports.clone(),
        (None, Ok(plan)) => plan.host_loads(Time::ZERO).iter().map(|load| load.sends).collect(),
        (None, Err(_)) => Vec::new(),
    };
    let hosts = fabric.ports[..fabric.hosts].iter().zip(loads);
    let bytes: f64 = hosts.map(|(port, load)| load * port.rate.bytes_per_sec()).sum();
    (bytes > 0.0).then_some(bytes)
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
        Cutter::new(&scenario, &scenario.fabric.build(), true).parts_that_pay(at_most)
    }

    /// The same, where switches are not divided.
    fn racks(fabric: &str, workload: &str, at_most: usize) -> usize {
        let scenario = scenario(fabric, workload);
        Cutter::new(&scenario, &scenario.fabric.build(), false).parts_that_pay(at_most)
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
        // A round takes links of two hosts, 2 * (20.2 us and 32 ns), in which 4 hosts at 0.6 of their rate have 323 hops by two links.
        let star = "preset = \"micro4\"";
        assert_eq!([0.6, 0.3, 0.1].map(|load| parts(star, &web_search(load), 8)), [4, 2, 1]);
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
