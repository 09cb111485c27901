//! QJUMP's promise: whatever else is sent, packets of the highest level wait no longer than one of each host takes.

use tailrace_core::{HostId, Time};
use tailrace_workload::FlowSpec;

use crate::setup::{ENDLESS, MSS, Run, Setup, fabric, flow};

const HOSTS: u32 = 8;
/// A full packet on a link.
const PACKET: Time = Time::from_ns(1_200);
/// A full packet from host to host.
const LONE: Time = Time::from_ns(4_400);
/// 2 · 8 · 1.2 µs: of equal links, no host may send more than a packet in this time.
const EPOCH: Time = Time::from_ns(19_200);
const PARAMS: &str = "factors = [1.0]\nthresholds = [\"1460B\"]\nprocessing = \"0us\"";

fn run(scheme: &str, params: &str, flows: Vec<FlowSpec>) -> Run {
    let fields = format!("kind = \"star\"\nhosts = {HOSTS}\nhost_rate = \"10Gbps\"\nhost_delay = \"1us\"");
    let mut star = fabric(&fields);
    star.buffer = ENDLESS;
    Setup::new(star, flows).run(scheme, params)
}

/// The longest that a flow of one packet takes to host 0. All other hosts send one there at about the same time, every
/// epoch, and a long flow all the while.
fn longest(scheme: &str, params: &str) -> Time {
    let rounds = (0..200).flat_map(|round: u64| {
        let start = move |src: HostId| EPOCH * (round + 3) + Time::from_ns(u64::from(src) * 37 * (round % 5));
        (1..HOSTS).map(move |src| flow(src, 0, MSS, start(src)))
    });
    let long = (1..HOSTS).map(|src| flow(src, 0, 3_000 * MSS, Time::ZERO));
    let run = run(scheme, params, long.chain(rounds).collect());
    let short = run.records.iter().filter(|record| record.size.get() == MSS);
    let times: Vec<Time> = short.filter_map(|record| record.fct()).collect();
    assert_eq!(times.len(), 200 * (HOSTS - 1) as usize);
    times.into_iter().max().unwrap_or_default()
}

#[test]
fn the_highest_level_waits_for_a_packet_of_each_host_at_most() {
    // Six others of its level, and one of a lower level that is under way at each of two ports.
    let bound = LONE + PACKET * 6 + PACKET * 2;
    let longest_of = |scheme, params| longest(scheme, params);
    let jumping = longest_of("qjump", PARAMS);
    assert!(jumping <= bound && jumping > LONE + PACKET * 5, "{jumping} of {bound}");
    assert!(longest_of("tcp", "") > bound * 20);
}

#[test]
fn the_highest_level_has_a_packet_an_epoch() {
    let ten = (0..10).map(|_| flow(1, 0, MSS, Time::ZERO)).collect();
    let ends: Vec<Time> = run("qjump", PARAMS, ten).records.iter().map(|record| record.end).collect();
    let turns: Vec<Time> = (0..10).map(|turn| LONE + EPOCH * turn).collect();
    assert_eq!(ends, turns);
}
