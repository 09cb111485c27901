//! Which path packets take.

use tailrace_core::Time;
use tailrace_core::random::{mix, scale};
use tailrace_scenario::fabric::{Fabric, LoadBalancing};

use crate::setup::{MSS, Run, Setup, fabric, flow};

const SPINES: u32 = 4;

fn leaf_spine(load_balancing: LoadBalancing) -> Fabric {
    let mut fabric = fabric(&format!(
        "kind = \"leaf-spine\"\nleaves = 2\nspines = {SPINES}\nhosts_per_leaf = 4\nhost_rate = \"10Gbps\"\nspine_rate = \"40Gbps\""
    ));
    fabric.load_balancing = load_balancing;
    fabric
}

/// Packets that leaf 0 sent to each spine.
fn sent_up(setup: &Setup, run: &Run) -> Vec<u64> {
    let port = |spine: u32| setup.fabric.port_named(&format!("leaf0->spine{spine}"));
    (0..SPINES).map(|spine| port(spine).map_or(0, |p| run.ports[p as usize].sent.packets)).collect()
}

#[test]
fn ecmp_takes_the_documented_hash_and_sticks_to_it() {
    let flows: Vec<_> = (0..200u64)
        .map(|i| flow((i % 4) as u16, 4 + (i % 3) as u16, 10 * MSS, Time::from_us(40 * i)))
        .collect();
    let setup = Setup::new(leaf_spine(LoadBalancing::Ecmp), flows);
    let run = setup.run("fifo", "");
    // The key is the flow's number below the number of choices.
    let mut expected = vec![0; SPINES as usize];
    (0..200u64).for_each(|id| expected[scale(mix(id | u64::from(SPINES) << 32), SPINES) as usize] += 10);
    assert_eq!(sent_up(&setup, &run), expected);
    assert!(expected.iter().all(|&packets| packets > 300), "the hash spreads: {expected:?}");
}

#[test]
fn round_robin_takes_turns_exactly() {
    let flows = (0..4u16).map(|src| flow(src, 4 + src, 101 * MSS, Time::ZERO)).collect();
    let setup = Setup::new(leaf_spine(LoadBalancing::SprayRoundRobin), flows);
    assert_eq!(sent_up(&setup, &setup.run("fifo", "")), [101; SPINES as usize]);
}

#[test]
fn random_spraying_is_even_on_average() {
    let flows = (0..4u16).map(|src| flow(src, 4 + src, 1000 * MSS, Time::ZERO)).collect();
    let setup = Setup::new(leaf_spine(LoadBalancing::SprayRandom), flows);
    for packets in sent_up(&setup, &setup.run("fifo", "window = 50")) {
        // 4000 packets over four ports: five standard deviations.
        assert!(packets.abs_diff(1000) < 140, "{packets}");
    }
}

#[test]
fn flowlets_stay_while_packets_follow_closely() {
    let gap = Time::from_us(100);
    // Paced, a packet leaves every 12 µs in the first case and every 240 µs in the second.
    for (pacing, together) in [("1Gbps", true), ("50Mbps", false)] {
        let setup =
            Setup::new(leaf_spine(LoadBalancing::Flowlet { gap }), vec![flow(0, 4, 200 * MSS, Time::ZERO)]);
        let run = setup.run("fifo", &format!("pacing = \"{pacing}\""));
        let used = sent_up(&setup, &run).iter().filter(|&&packets| packets > 0).count();
        assert_eq!(used == 1, together, "{pacing}: {used} paths");
    }
}
