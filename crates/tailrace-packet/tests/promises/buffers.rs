//! Packet memory: tail drop counted by hand, and shared memory with dynamic thresholds.

use proptest::prelude::*;
use tailrace_core::transport::RtoMode;
use tailrace_core::{Bytes, Ending, HostId, MTU_BYTES, SeriesSource, Time};
use tailrace_fabric::{Buffer, PortId};
use tailrace_packet::Watch;
use tailrace_workload::FlowSpec;

use crate::setup::{MSS, Setup, fabric, flow};

const PACKET: u64 = MTU_BYTES as u64;
/// All of a flow leaves at once, and losses are not repaired within the test.
const BURST: &str = "window = 1000";

/// A star whose network cards hold everything, because only the switch is of interest.
fn star(hosts: u16, buffer: Buffer) -> tailrace_fabric::Fabric {
    let mut fabric =
        fabric(&format!("kind = \"star\"\nhosts = {hosts}\nhost_rate = \"10Gbps\"\nhost_delay = \"1us\""));
    fabric.buffer = buffer;
    fabric
}

/// Flows of `packets` full packets from each of `senders` to host 0, at the same time.
fn bursts(senders: std::ops::Range<u32>, packets: u64) -> Vec<FlowSpec> {
    senders.map(|src| flow(src, 0, packets * MSS, Time::ZERO)).collect()
}

fn dropped(setup: &Setup) -> u64 {
    // The switch has sent all it kept, and no retransmission timer has expired.
    Setup { horizon: Some(Time::from_us(900)), ..setup.clone() }.run("fifo", BURST).ledger.dropped().packets
}

#[test]
fn tail_drop_is_exact() {
    // Three bursts of 100 packets meet at one port: 300 come in while 100 leave, 200 want to wait. The
    // network cards send at once what they are given, so their own queue of up to 99 must fit as well.
    for (buffer, lost) in [(99, 101), (100, 100), (150, 50), (199, 1), (200, 0)] {
        let setup = Setup::new(star(4, Buffer::PerPort(Bytes::new(buffer * PACKET))), bursts(1..4, 100));
        assert_eq!(dropped(&setup), lost, "buffer of {buffer} packets");
    }
}

/// The longest queue at each switch port while bursts meet, in packets.
fn longest_queues(alpha_percent: u32, total: u64, flows: Vec<FlowSpec>, ports: &[PortId]) -> Vec<u64> {
    let buffer = Buffer::Shared { total: Bytes::new(total * PACKET), alpha_percent };
    let mut setup = Setup::new(star(9, buffer), flows);
    setup.watch = Watch { ports: ports.to_vec(), every: Some(Time::from_ns(600)), ..Watch::default() };
    setup.horizon = Some(Time::from_us(900));
    let rows = setup.run("fifo", BURST).series;
    let longest = |port: PortId| {
        let place = tailrace_core::SeriesSource::Port(port);
        let of_port = rows.iter().filter(|(at, row)| *at == place && row.metric == "port_packets");
        of_port.map(|(_, row)| row.value as u64).max().unwrap_or(0)
    };
    ports.iter().map(|&port| longest(port)).collect()
}

#[test]
fn one_port_may_take_alpha_over_one_plus_alpha() {
    // A lone queue q grows until q = α·(B − q) (Choudhury and Hahne 1998, §III).
    let port = star(9, Buffer::PerPort(Bytes::MAX)).port_to[0];
    for (alpha_percent, share) in [(100, 60), (50, 40), (200, 80)] {
        let longest = longest_queues(alpha_percent, 120, bursts(1..5, 100), &[port])[0];
        assert!(longest.abs_diff(share) <= 1, "α = {alpha_percent} %: {longest} packets, expected {share}");
    }
}

#[test]
fn two_ports_share_alike() {
    // With α = 1 two queues take a third of the memory each: q = B − 2q.
    let fabric = star(9, Buffer::PerPort(Bytes::MAX));
    let (a, b) = (fabric.port_to[0], fabric.port_to[8]);
    let to = |dst: HostId, src: HostId| flow(src, dst, 100 * MSS, Time::ZERO);
    let flows = [1, 2, 3].map(|src| to(0, src)).into_iter().chain([4, 5, 6].map(|src| to(8, src)));
    for longest in longest_queues(100, 120, flows.collect(), &[a, b]) {
        assert!(longest.abs_diff(40) <= 2, "{longest} packets, expected 40");
    }
}

proptest! {
    #![proptest_config(tailrace_cases::cases(40))]
    /// Whatever arrives, the ports of a switch never hold more than its memory.
    #[test]
    fn shared_memory_is_never_exceeded(
        alpha_percent in 10u32..1000,
        total in 3u64..60,
        flows in prop::collection::vec((0u32..9, 0u32..9, 1u64..60, 0u64..60), 1..30),
    ) {
        let buffer = Buffer::Shared { total: Bytes::new(total * PACKET), alpha_percent };
        let fabric = star(9, buffer);
        let flows = flows.into_iter().filter(|(src, dst, ..)| src != dst);
        let flows = flows.map(|(src, dst, packets, us)| flow(src, dst, packets * MSS, Time::from_us(us)));
        let mut setup = Setup::new(fabric, flows.collect());
        let ports = setup.fabric.port_to.clone();
        setup.watch = Watch { ports, every: Some(Time::from_ns(900)), ..Watch::default() };
        setup.horizon = Some(Time::from_us(400));
        let series = setup.run("fifo", BURST).series;
        let mut held: std::collections::BTreeMap<Time, u64> = std::collections::BTreeMap::new();
        for (_, row) in series.iter().filter(|(_, row)| row.metric == "port_bytes") {
            *held.entry(row.at).or_default() += row.value as u64;
        }
        for (at, bytes) in held {
            prop_assert!(bytes <= total * PACKET, "{bytes} bytes at {at}");
        }
    }
}

/// What samples say that a port did since the last one is, all together, what the port did.
#[test]
fn samples_of_what_ports_do_add_up() {
    // The run ends with its last flow, after the last sample: that one has links of its own.
    let last = flow(7, 8, MSS, Time::from_ms(50));
    let flows =
        (1..7).map(|src| flow(src, 0, 80 * MSS, Time::from_us(u64::from(src)))).chain([last]).collect();
    let mut setup = Setup::new(star(9, Buffer::PerPort(Bytes::new(80 * PACKET))), flows);
    let ports: Vec<_> = (0..setup.fabric.ports.len() as u32).collect();
    setup.watch = Watch { ports, every: Some(Time::from_ms(1)), ..Watch::default() };
    let run = setup.run("dctcp", "");
    let of_the_last = [7, 8].map(|host| [host, setup.fabric.port_to[host as usize]]).concat();
    for (port, counts) in (0..).zip(&run.ports).filter(|(port, _)| !of_the_last.contains(port)) {
        let sum = |metric: &str| -> f64 {
            let rows =
                run.series.iter().filter(|(at, row)| *at == SeriesSource::Port(port) && row.metric == metric);
            rows.map(|(_, row)| row.value).sum()
        };
        let capacity = setup.fabric.ports[port as usize].rate.bytes_per_sec() * 1e-3;
        assert!((sum("utilisation") * capacity - counts.sent.bytes as f64).abs() < 1e-3, "{port}");
        assert_eq!(sum("marked_packets"), counts.marked as f64);
        assert_eq!(sum("dropped_packets"), counts.dropped.packets as f64);
    }
    let hot = run.ports[setup.fabric.port_to[0] as usize];
    assert!(hot.marked > 0 && hot.dropped.packets > 0, "{hot:?}");
}

/// Where no packet fits, senders would try for ever; with timers that double, and without.
#[test]
fn a_run_whose_flows_get_nothing_any_more_ends() {
    for rto in [RtoMode::Standard, RtoMode::Fixed] {
        let fitting = flow(0, 1, 20, Time::ZERO);
        let late = flow(2, 1, 20, Time::from_ms(100_000));
        let mut setup = Setup::new(star(4, Buffer::PerPort(Bytes::new(100))), vec![fitting, late]);
        setup.transport.rto = rto;
        // Who waits for the next flow to start does not wait for ever.
        assert_eq!(setup.run("tcp", "").ending, Ending::Finished);
        setup.flows.push(flow(3, 1, 20_000, Time::from_ms(100_001)));
        let run = setup.run("tcp", "");
        assert_eq!((run.ending, run.records[1].fct().is_some()), (Ending::Stalled, true));
        assert!(run.records[2].fct().is_none() && run.ledger.balances());
    }
}
