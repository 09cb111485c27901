//! Which path packets take.

use tailrace_core::random::{mix, scale};
use tailrace_core::{Bytes, Time};
use tailrace_fabric::{Fabric, LoadBalancing};
use tailrace_workload::FlowSpec;

use crate::setup::{MSS, Run, Setup, fabric, flow, preset};

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
    (0..SPINES).map(|spine| sent(setup, run, &format!("leaf0->spine{spine}"))).collect()
}

/// Packets that the port of that name sent.
fn sent(setup: &Setup, run: &Run, port: &str) -> u64 {
    let port = setup.fabric.port_named(port).unwrap_or_else(|| panic!("there is no port {port}"));
    run.ports[port as usize].sent.packets
}

#[test]
fn ecmp_takes_the_documented_hash_and_sticks_to_it() {
    let flows: Vec<_> = (0..200u64)
        .map(|i| flow((i % 4) as u32, 4 + (i % 3) as u32, 10 * MSS, Time::from_us(40 * i)))
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
fn another_seed_of_the_hash_gives_the_same_flows_other_paths() {
    let flows: Vec<_> =
        (0..200u64).map(|i| flow((i % 4) as u32, 4 + (i % 3) as u32, MSS, Time::from_us(40 * i))).collect();
    let ways = |ecmp_seed| {
        let fabric = Fabric { ecmp_seed, ..leaf_spine(LoadBalancing::Ecmp) };
        let way = |id: u32, spec: &FlowSpec| fabric.hashed_path(spec.src, spec.dst, id).nth(1);
        let ways: Vec<_> = flows.iter().zip(0..).map(|(spec, id)| way(id, spec)).collect();
        // Packets take the ports that the fabric names.
        let setup = Setup::new(fabric.clone(), flows.clone());
        let taken = |spine| setup.fabric.port_named(&format!("leaf0->spine{spine}"));
        let expected: Vec<u64> =
            (0..SPINES).map(|spine| ways.iter().filter(|&&way| way == taken(spine)).count() as u64).collect();
        assert_eq!(sent_up(&setup, &setup.run("fifo", "")), expected, "seed {ecmp_seed}");
        ways
    };
    let (first, second) = (ways(0), ways(7));
    let same = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    // By chance one in SPINES stays; 200 flows, five standard deviations.
    let expected = 200.0 / f64::from(SPINES);
    assert!((same as f64 - expected).abs() < 5.0 * expected.sqrt(), "{same} of 200 stay");
    assert_eq!(ways(7), second);
}

/// Switches of one mind would leave links between pods without any flow: the choice at the edge must not be that above it. In
/// fabrics of tiers and in others.
#[test]
fn what_the_edge_has_chosen_is_chosen_anew_above_it() {
    let fat_tree = fabric("preset = \"fattree64\"\nload_balancing = \"ecmp\"");
    // Two switches with hosts, between them two times two ways, over switches that have hosts as well.
    let ends = "a-b a-c b-d b-e c-d c-e d-f e-f".split(' ').map(|ends| ends.split_once('-').unwrap());
    let hosts = "abcdef".chars().map(|switch| format!("{{ ends = [\"h{switch}\", \"{switch}\"] }}"));
    let links = ends.map(|(a, b)| format!("{{ ends = [\"{a}\", \"{b}\"] }}"));
    let links: Vec<String> = hosts.chain(links).collect();
    let mesh = fabric(&format!(
        "kind = \"graph\"\nhosts = [\"ha\", \"hb\", \"hc\", \"hd\", \"he\", \"hf\"]\nrate = \"10Gbps\"\nlink = [{}]",
        links.join(", ")
    ));
    for (fabric, src, dst, ways) in [(fat_tree, 0, 63, 4), (mesh, 0, 5, 4)] {
        let mut taken = std::collections::BTreeMap::new();
        for flow in 0..4000 {
            let way: Vec<_> = fabric.hashed_path(src, dst, flow).collect();
            let back: Vec<_> = fabric.hashed_path(dst, src, flow).collect();
            let turned: Vec<_> = way.iter().rev().map(|&port| fabric.twins[port as usize]).collect();
            assert_eq!(back, turned, "flow {flow}");
            *taken.entry(way).or_insert(0) += 1;
        }
        assert_eq!(taken.len(), ways);
        // Five standard deviations.
        let (mean, most) = (4000.0 / ways as f64, 5.0 * (4000.0 / ways as f64).sqrt());
        assert!(taken.values().all(|&flows| (f64::from(flows) - mean).abs() < most), "{taken:?}");
    }
}

#[test]
fn round_robin_takes_turns_exactly() {
    let flows = (0..4u32).map(|src| flow(src, 4 + src, 101 * MSS, Time::ZERO)).collect();
    let setup = Setup::new(leaf_spine(LoadBalancing::SprayRoundRobin), flows);
    assert_eq!(sent_up(&setup, &setup.run("fifo", "")), [101; SPINES as usize]);
}

#[test]
fn random_spraying_is_even_on_average() {
    let flows = (0..4u32).map(|src| flow(src, 4 + src, 1000 * MSS, Time::ZERO)).collect();
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

/// Cells of 43 full packets.
const CELLS: LoadBalancing = LoadBalancing::Flowcell { size: Bytes::new(65_536) };

#[test]
fn a_cell_stays_together_and_the_next_takes_the_next_path() {
    // 100 packets are cells of 43, 43 and 14, on three spines in a row from the one that the hash says.
    let first = (mix(0) >> 32) as u32;
    let mut expected = [0; SPINES as usize];
    (0..3u32).for_each(|cell| expected[(first + cell) as usize % 4] = [43, 43, 14][cell as usize]);
    let setup = Setup::new(leaf_spine(CELLS), vec![flow(0, 4, 100 * MSS, Time::ZERO)]);
    assert_eq!(sent_up(&setup, &setup.run("fifo", "")), expected);
}

#[test]
fn cells_go_over_all_paths_of_three_tiers_in_turn() {
    // Pod 0 has two aggregation switches with two core links each: eight cells are two for each of four paths.
    let mut fabric = preset("fattree64");
    fabric.load_balancing = CELLS;
    let setup = Setup::new(fabric, vec![flow(0, 63, 8 * 43 * MSS, Time::ZERO)]);
    let run = setup.run("fifo", "window = 100");
    for (agg, core) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
        assert_eq!(sent(&setup, &run, &format!("agg{agg}->core{core}")), 2 * 43, "up to core {core}");
        assert_eq!(
            sent(&setup, &run, &format!("core{core}->agg{}", 6 + agg)),
            2 * 43,
            "down from core {core}"
        );
    }
    for agg in 0..2 {
        assert_eq!(sent(&setup, &run, &format!("edge0->agg{agg}")), 4 * 43, "up to aggregation switch {agg}");
    }
}

#[test]
fn cells_start_anywhere_and_acknowledgements_are_cut_by_their_own_bytes() {
    // 400 flows of one cell each: five standard deviations of a fair choice among four.
    let flows = (0..400u64).map(|i| flow((i % 4) as u32, 4, MSS, Time::from_us(10 * i))).collect();
    let setup = Setup::new(leaf_spine(CELLS), flows);
    for flows in sent_up(&setup, &setup.run("fifo", "")) {
        assert!(flows.abs_diff(100) < 44, "{flows}");
    }
    // 1638 acknowledgements of 40 bytes are a cell: a flow of 2000 packets has two cells of them.
    let setup = Setup::new(leaf_spine(CELLS), vec![flow(0, 4, 2000 * MSS, Time::ZERO)]);
    let run = setup.run("fifo", "");
    let mut back: Vec<_> =
        (0..SPINES).map(|spine| sent(&setup, &run, &format!("leaf1->spine{spine}"))).collect();
    back.sort_unstable();
    assert_eq!(back, [0, 0, 362, 1638]);
}
