//! How many parts a run is over soonest with.

use std::collections::BTreeSet;

use tailrace_core::{HEADER_BYTES, Outcome, PortId, Time};
use tailrace_fabric::Fabric;
use tailrace_packet::Cut;
use tailrace_scenario::Scenario;

/// Packet-hops of a part in a look-ahead below which its thread waits for others about as long as it works: on two
/// threads `spine144` gained nothing with 10, and half with 57 (docs/concepts/parallel.md#when-it-does-not-help).
const LEAST_HOPS: f64 = 40.0;

/// Ports of all parts together, each of which has tables of all: half a kilobyte a port.
const MOST_PORTS: usize = 1 << 22;

/// The most parts, up to `at_most`, that have enough to do between two looks at each other by what the workload offers;
/// one where that is not known.
pub(crate) fn parts_that_pay(scenario: &Scenario, fabric: &Fabric, at_most: usize) -> usize {
    let transport = &scenario.transport;
    let hops_a_second = hops_a_second(scenario, fabric);
    let enough = |parts: usize| {
        let cut = Cut::by_racks(fabric, parts);
        let ahead = cut.look_ahead(fabric, transport).as_secs_f64();
        (hops_a_second * ahead / LEAST_HOPS) as usize
    };
    let racks = fabric.edge_of.iter().collect::<BTreeSet<_>>().len();
    let most = at_most.min(Cut::MOST).min(racks).min(MOST_PORTS / fabric.ports.len().max(1));
    // Mostly the look-ahead is the same however a fabric is cut.
    (2..=most.min(enough(2))).rev().find(|&parts| enough(parts) >= parts).unwrap_or(1)
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
    /// Packet-hops of all parts in a look-ahead, over the whole run.
    pub hops_per_look_ahead: f64,
    /// The same while the workload offers what it does at first: without the end, when fewer and fewer flows go on.
    pub hops_at_load: f64,
}

/// What comes of cutting a run that is over into `parts`, or fewer.
pub fn shares(scenario: &Scenario, outcome: &Outcome, parts: usize) -> Shares {
    let fabric = scenario.fabric.build();
    let cut = Cut::by_racks(&fabric, parts);
    let (mut work, mut letters) = (vec![0; cut.parts()], 0);
    for (port, counts) in outcome.ports.iter().enumerate() {
        let ((from, to), sent) = (cut.ends(port as PortId), counts.sent.packets);
        work[from] += if port < fabric.hosts { 2 * sent } else { sent };
        letters += if from == to { 0 } else { sent };
    }
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let hops = outcome.packet_hops();
    let ahead = cut.look_ahead(&fabric, &scenario.transport).as_secs_f64();
    Shares {
        parts: cut.parts(),
        largest: ratio(work.iter().copied().max().unwrap_or(0), work.iter().sum()),
        letters_per_hop: ratio(letters, hops),
        hops_per_look_ahead: hops as f64 * ahead / outcome.end.as_secs_f64(),
        hops_at_load: hops_a_second(scenario, &fabric) * ahead,
    }
}

/// Packet-hops a second by what all hosts together send at first; 0 where it is not known.
fn hops_a_second(scenario: &Scenario, fabric: &Fabric) -> f64 {
    let transport = &scenario.transport;
    let packets = bytes_a_second(scenario, fabric) / f64::from(transport.mss + HEADER_BYTES);
    let both_ways = packets * (1.0 + 1.0 / f64::from(transport.ack_every));
    both_ways * fabric.longest_path() as f64
}

/// What all hosts together send at first, with headers; 0 where it is not known.
fn bytes_a_second(scenario: &Scenario, fabric: &Fabric) -> f64 {
    let loads: Vec<f64> = match (&scenario.workload.offered, scenario.plan()) {
        (Some(offered), _) => offered.ports.clone(),
        (None, Ok(plan)) => plan.host_loads(Time::ZERO).iter().map(|load| load.sends).collect(),
        (None, Err(_)) => Vec::new(),
    };
    let hosts = fabric.ports[..fabric.hosts].iter().zip(loads);
    hosts.map(|(port, load)| load * port.rate.bytes_per_sec()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(fabric: &str, workload: &str, at_most: usize) -> usize {
        let text = format!("[fabric]\n{fabric}\n[workload]\n{workload}\n[scheme]\nname = \"dctcp\"\n");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        parts_that_pay(&scenario, &scenario.fabric.build(), at_most)
    }

    fn web_search(load: f64) -> String {
        format!("sizes = \"web-search\"\nload = {load}\nflows = 100")
    }

    #[test]
    fn busy_fabrics_have_many_parts_and_others_one() {
        let small = "preset = \"spine144\"";
        assert_eq!(parts(small, &web_search(0.6), 2), 2);
        assert_eq!(parts(small, &web_search(0.6), 8), 2);
        assert_eq!(parts(small, &web_search(0.1), 8), 1);
        // By hand: 144 hosts send 72 million packets a second and get as many, over four links each; in 430 ns and the 8 ns of
        // 40 bytes these are 252 hops, which is six times 40.
        let longer = format!("{small}\nspine_delay = \"430ns\"");
        assert_eq!(parts(&longer, &web_search(0.6), 8), 6);
        let large = "kind = \"fat-tree\"\nradix = 16\nhost_rate = \"10Gbps\"\nswitch_delay = \"200ns\"";
        assert_eq!(parts(large, &web_search(0.6), 8), 8);
        assert_eq!(parts("preset = \"micro4\"", &web_search(0.9), 8), 1);
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
            shares(&scenario, &outcome, 2);
        assert_eq!((parts, letters_per_hop), (2, 0.25));
        // Of ten units each way the part with the spine has the host's two, the switch's two, and the spine's two.
        assert_eq!(largest, 0.6);
        let look_aheads = outcome.end.as_secs_f64() / 1.032e-6;
        assert!((hops_per_look_ahead * look_aheads - outcome.packet_hops() as f64).abs() < 1e-6);
        assert_eq!(shares(&scenario, &outcome, 1).letters_per_hop, 0.0);
    }

    #[test]
    fn one_busy_host_is_not_a_busy_fabric() {
        let incast = "sizes = { fixed = \"40KB\" }\nload = 0.9\nflows = 100\n\
                      pattern = { incast = { receivers = [0], fan_in = 8, jitter = \"0s\" } }";
        assert_eq!(parts("preset = \"spine144\"", incast, 8), 1);
    }
}
