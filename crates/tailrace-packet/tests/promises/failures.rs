//! Links and switches that fail: what is under way is lost and counted, and what is sent later goes around.

use proptest::prelude::*;
use tailrace_core::{Ending, PortId, Time};
use tailrace_fabric::Fabric;
use tailrace_schemes::NAMES;
use tailrace_workload::FlowSpec;

use crate::setup::{Run, Setup, fabric, flow, takes_one_path};

const TWO_SPINES: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nhost_rate = \"1Gbps\"\n\
                          spine_rate = \"1Gbps\"\ndelay = \"10us\"\nbuffer = \"1MB\"\n";

fn failing(failures: &str, convergence: &str) -> Fabric {
    fabric(&format!("{TWO_SPINES}convergence = \"{convergence}\"\nfailure = [{failures}]\n"))
}

fn run(fabric: &Fabric, flows: Vec<FlowSpec>, scheme: &str) -> Run {
    let mut setup = Setup::new(fabric.clone(), flows);
    setup.transport.min_rto = Time::from_ms(10);
    setup.horizon = Some(Time::from_ms(20_000));
    setup.run(scheme, "")
}

/// The spine that a lone flow from leaf 0 to leaf 1 goes by, and the other one.
fn spines(flow: u32) -> [usize; 2] {
    let fabric = fabric(TWO_SPINES);
    let uplink = fabric.hashed_path(0, 2, flow).nth(1).unwrap_or_default();
    if fabric.port_name(uplink) == "leaf0->spine0" { [0, 1] } else { [1, 0] }
}

fn sent(fabric: &Fabric, run: &Run, port: &str) -> u64 {
    let port = fabric.port_named(port).unwrap_or_else(|| panic!("{port}"));
    run.ports[port as usize].sent.packets
}

/// A flow of 10 MB takes 82 ms. Its link fails after 20 ms, and routes follow 5 ms later: what it sends meanwhile is lost, its timer
/// runs out, and the rest goes by the other spine.
#[test]
fn a_flow_goes_on_by_another_way_once_routes_have_followed() {
    let [own, other] = spines(0);
    let fabric = failing(&format!("{{ link = \"leaf0->spine{own}\", at = \"20ms\" }}"), "5ms");
    let size = 10_000_000;
    let run = run(&fabric, vec![flow(0, 2, size, Time::ZERO)], "tcp");
    let lost = run.ledger.dropped_failure.packets;
    let (by_own, by_other) = (
        sent(&fabric, &run, &format!("leaf0->spine{own}")),
        sent(&fabric, &run, &format!("leaf0->spine{other}")),
    );
    println!("{:?}: {lost} lost, {by_own} by the first spine, {by_other} by the other", run.only_fct());
    assert!(run.ledger.balances(), "{}", run.ledger);
    assert!(lost > 0 && run.records[0].timeouts >= 1, "{lost}");
    // A packet takes 12 µs: 20 ms of them, and what was in the queue and came while acknowledgements of packets before still did.
    assert!((1_500..2_600).contains(&by_own), "{by_own}");
    assert!(by_own + by_other >= size / 1460 + lost, "{by_own} and {by_other}");
    let without =
        Setup::new(crate::setup::fabric(TWO_SPINES), vec![flow(0, 2, size, Time::ZERO)]).run("tcp", "");
    // It costs no less than waiting for routes, and no more than its timer and the ramp after it.
    let more = run.only_fct() - without.only_fct();
    assert!((Time::from_ms(5)..Time::from_ms(40)).contains(&more), "{more}");
}

/// What was sent before the failure and had not arrived by then is lost, and what is sent after its end is not: the last of a burst of
/// ten packets that leave at 0, 12, ... µs are on a link of 10 µs when it fails.
#[test]
fn what_is_under_way_is_lost_to_the_packet() {
    let [own, _] = spines(0);
    // The first packet is at the leaf after 22 µs, and has left it after 34; the fourth leaves from 58 to 70, and is at the
    // spine at 80. A failure at 75 takes it and those behind it.
    let case = |at: &str| {
        let fabric =
            failing(&format!("{{ link = \"spine{own}->leaf0\", at = \"{at}\", until = \"1s\" }}"), "2s");
        let run = run(&fabric, vec![flow(0, 2, 14_600, Time::ZERO)], "tcp");
        assert!(run.ledger.balances(), "{}", run.ledger);
        let host = fabric.port_named("leaf1->host2").unwrap_or_else(|| panic!("no such port"));
        (run.ledger.dropped_failure.packets, run.ports[host as usize].sent.packets)
    };
    // What arrives at that very moment has arrived.
    for (at, arrived) in [("80us", 4), ("79us", 3), ("75us", 3), ("58us", 2), ("44us", 1), ("43us", 0)] {
        let (lost, _) = case(at);
        // Acknowledgements of those that arrived are lost with the link, too, and so is what timers send in the second.
        assert!(lost >= 10 - arrived, "at {at}: {lost} lost");
    }
    let horizon = |at: &str| {
        let fabric = failing(&format!("{{ link = \"spine{own}->leaf0\", at = \"{at}\" }}"), "2s");
        let mut setup = Setup::new(fabric, vec![flow(0, 2, 14_600, Time::ZERO)]);
        setup.horizon = Some(Time::from_ms(1));
        setup.run("tcp", "")
    };
    for (at, arrived) in [("80us", 4), ("79us", 3), ("57us", 2), ("56us", 2), ("55us", 1), ("43us", 0)] {
        let run = horizon(at);
        let fabric = fabric(TWO_SPINES);
        assert_eq!(sent(&fabric, &run, "leaf1->host2"), arrived, "at {at}");
    }
}

/// A failure that comes after the end changes nothing, not even the order of events.
#[test]
fn until_then_everything_is_as_without() {
    let flows = || {
        (0..40).map(|i: u32| flow(i % 2, 2 + i / 2 % 2, 30_000, Time::from_us(u64::from(i) * 50))).collect()
    };
    let failing = failing("{ switch = \"spine0\", at = \"9s\" }", "1ms");
    for scheme in NAMES {
        let [with, without] =
            [failing.clone(), fabric(TWO_SPINES)].map(|fabric| run(&fabric, flows(), scheme).digest);
        assert_eq!(with, without, "{scheme}");
    }
}

/// Without a way left packets are lost at the switch that has none, and flows go on when there is one again.
#[test]
fn who_is_cut_off_waits_for_the_end_of_it() {
    let both = "{ switch = \"spine0\", at = \"5ms\", until = \"300ms\" }, { switch = \"spine1\", at = \"5ms\", until = \"400ms\" }";
    let fabric = failing(both, "1ms");
    let run =
        run(&fabric, vec![flow(0, 2, 2_000_000, Time::ZERO), flow(1, 0, 2_000_000, Time::ZERO)], "dctcp");
    assert_eq!(run.ending, Ending::Finished);
    assert!(run.ledger.balances() && run.ledger.dropped_failure.packets > 0, "{}", run.ledger);
    // The second one has not noticed.
    let ends: Vec<Time> = run.records.iter().map(|flow| flow.end).collect();
    assert!(ends[0] > Time::from_ms(300) && ends[1] < Time::from_ms(50), "{ends:?}");
    // Ports have dropped what was on their links; what found no way later is nobody's.
    let at_ports: u64 = run.ports.iter().map(|port| port.dropped.packets).sum();
    assert!((1..run.ledger.dropped().packets).contains(&at_ports), "{at_ports}, {}", run.ledger);
}

/// Not even for longer than a run is watched in which nothing moves.
#[test]
fn nobody_is_given_up_while_a_link_may_come_back() {
    let fabric = failing("{ switch = \"leaf1\", at = \"1ms\", until = \"400s\" }", "1ms");
    for scheme in ["pfabric", "d3", "dctcp"] {
        let flows = (0..4).map(|i: u32| flow(i % 2, 2 + i / 2, 2_000_000, Time::ZERO)).collect();
        let mut setup = Setup::new(fabric.clone(), flows);
        setup.transport.min_rto = Time::from_ms(10);
        let run = setup.run(scheme, "");
        assert_eq!(run.ending, Ending::Finished, "{scheme}");
        assert!(run.records.iter().all(|flow| flow.end > Time::from_ms(400_000)), "{scheme}");
    }
}

/// A flow a millisecond, from each host to each other one.
fn between_all() -> Vec<FlowSpec> {
    (0..30).map(|i: u32| flow(i % 4, (i + 1 + i / 4 % 3) % 4, 100_000, Time::from_ms(u64::from(i)))).collect()
}

/// A flow that goes by the other spine may be paused there when its own is back, and wait for a port that it does not pass any more.
#[test]
fn whoever_waits_for_a_port_of_another_way_goes_on() {
    let failures = "{ switch = \"spine0\", at = \"14ms\", until = \"19ms\" }, \
                    { link = \"host0->leaf0\", at = \"0ms\", until = \"19ms\" }";
    let fabric = failing(failures, "100us");
    for scheme in NAMES {
        let run = run(&fabric, between_all(), scheme);
        let late: Vec<u32> =
            run.records.iter().filter(|flow| flow.end > Time::from_ms(500)).map(|flow| flow.id).collect();
        assert_eq!((run.records.len(), &late[..]), (30, &[][..]), "{scheme}");
    }
}

/// Any failures under any balancing: every packet is accounted for, and with links back everything ends.
fn failures() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    prop::collection::vec((0u8..10, 0u64..30, 1u64..60), 1..5)
}

proptest! {
    #![proptest_config(tailrace_cases::cases(64))]

    #[test]
    fn whatever_fails_every_packet_is_accounted_for_and_flows_end_when_links_are_back(
        failures in failures(),
        convergence in prop::sample::select(vec!["0s", "100us", "7ms"]),
        balancing in prop::sample::select(vec!["ecmp", "spray", "spray-random", "flowlet"]),
        scheme in prop::sample::select(NAMES.to_vec()),
    ) {
        let whole = fabric(TWO_SPINES);
        let named = |(what, at, span): &(u8, u64, u64)| {
            let times = format!("at = \"{at}ms\", until = \"{}ms\"", at + span);
            match what {
                0 | 1 => format!("{{ switch = \"spine{what}\", {times} }}"),
                2 | 3 => format!("{{ switch = \"leaf{}\", {times} }}", what - 2),
                _ => format!("{{ link = \"{}\", {times} }}", whole.port_name(PortId::from(*what) * 2 % 12)),
            }
        };
        let list: Vec<String> = failures.iter().map(named).collect();
        let one_path = takes_one_path(scheme);
        let balancing = if one_path { "ecmp" } else { balancing };
        let text = format!(
            "{TWO_SPINES}load_balancing = \"{balancing}\"\nconvergence = \"{convergence}\"\nfailure = [{}]\n", list.join(", ")
        );
        let fabric = fabric(&text);
        let [one, again] = [0, 1].map(|_| run(&fabric, between_all(), scheme));
        prop_assert!(one.ledger.balances(), "{}", one.ledger);
        prop_assert_eq!(one.digest, again.digest);
        let ended = one.records.iter().filter(|flow| flow.fct().is_some()).count();
        prop_assert_eq!(ended, 30, "{:?} {} {}", one.ending, scheme, text);
    }
}
