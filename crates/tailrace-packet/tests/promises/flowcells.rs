//! Flowcells over paths that are not alike at the moment: reordering is no loss, and a loss is one.

use tailrace_core::{Bytes, MTU_BYTES, Time};
use tailrace_fabric::{Buffer, Fabric, LoadBalancing};
use tailrace_packet::Watch;

use crate::setup::{ENDLESS, MSS, Run, Setup, fabric, flow};

const UPLINKS: [&str; 4] = ["leaf0->spine0", "leaf0->spine1", "leaf0->spine2", "leaf0->spine3"];

/// Two leaves with four paths between them, each as fast as a host's link.
fn leaf_spine(buffer: Buffer) -> Fabric {
    let mut fabric = fabric(
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 8\nhost_rate = \"1Gbps\"\nspine_rate = \"1Gbps\"",
    );
    fabric.load_balancing = LoadBalancing::Flowcell { size: Bytes::new(65_536) };
    fabric.buffer = buffer;
    fabric
}

/// A long flow of 47 cells. Every half millisecond four other hosts send a burst of so many packets each, less
/// than a cell, to hosts of their own: they meet the long flow on a path or two, and nowhere else.
fn disturbed(buffer: Buffer, burst: u64) -> Setup {
    let mut flows = vec![flow(0, 8, 2_000 * MSS, Time::ZERO)];
    for round in 0..45u64 {
        let start = Time::from_us(200 + 500 * round);
        flows.extend((1..5).map(|src| flow(src, 8 + src, burst * MSS, start)));
    }
    let mut setup = Setup::new(leaf_spine(buffer), flows);
    let ports = UPLINKS.iter().filter_map(|name| setup.fabric.port_named(name)).collect();
    setup.watch = Watch { ports, every: Some(Time::from_us(50)), ..Watch::default() };
    setup
}

/// The largest difference between the queues of two uplinks at a time, in packets.
fn most_unequal(run: &Run) -> f64 {
    let rows = run.series.iter().filter(|(_, row)| row.metric == "port_packets");
    let queues: Vec<f64> = rows.map(|(_, row)| row.value).collect();
    let spread = |at_once: &[f64]| {
        let longest = at_once.iter().copied().fold(0.0, f64::max);
        longest - at_once.iter().copied().fold(f64::MAX, f64::min)
    };
    queues.chunks(UPLINKS.len()).map(spread).fold(0.0, f64::max)
}

#[test]
fn unequal_queues_cause_no_retransmission() {
    for (scheme, params) in [("fifo", "window = 100"), ("tcp", ""), ("dctcp", "")] {
        for burst in [5, 10, 20] {
            let run = disturbed(ENDLESS, burst).run(scheme, params);
            let unequal = most_unequal(&run);
            // A burst is spread over four paths, so that one has it all now and then.
            assert!(unequal > 4.0 * burst as f64, "{scheme}, bursts of {burst}: too tame, {unequal} packets");
            let sent_again: u64 = run.records.iter().map(|flow| u64::from(flow.retransmitted)).sum();
            assert_eq!(sent_again, 0, "{scheme}, bursts of {burst}, queues that differ by {unequal} packets");
        }
    }
}

#[test]
fn a_loss_within_a_cell_is_repaired_by_duplicate_acknowledgements() {
    // The window fits the network card's memory: what is lost is lost where the paths begin.
    let run =
        disturbed(Buffer::PerPort(Bytes::new(40 * u64::from(MTU_BYTES))), 13).run("fifo", "window = 38");
    let long = run.records[0];
    assert!(u64::from(long.retransmitted) >= 5 * MSS, "too tame: {long:?}");
    assert_eq!(long.timeouts, 0);
    // The bursts lose their tails, which only a timeout finds. All in all what is lost is sent again, once.
    let sent_again: u64 = run.records.iter().map(|flow| u64::from(flow.retransmitted)).sum();
    assert_eq!(sent_again, run.ledger.dropped().packets * MSS);
}
