//! Real packets in real time, beside closed forms and the simulated packets. Timing is the machine's, so what is
//! asserted has room for it; where it was too slow a run says so and is tried again.

use std::sync::{Mutex, PoisonError};

use tailrace_core::{Bytes, HEADER_BYTES, Outcome, Time};
use tailrace_fabric::Buffer;
use tailrace_run::{Live, RunError, Unattended, feed, replay, run, run_live};
use tailrace_scenario::{Level, Scenario};

/// Four hosts under two leaves, with round trips of 2 ms.
const FABRIC: &str = r#"
    [fabric]
    kind = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 2
    host_rate = "100Mbps"
    spine_rate = "100Mbps"
    host_delay = "250us"
    spine_delay = "250us"
    buffer = "200KB"
    [transport]
    min_rto = "50ms"
"#;

/// Whether this process may do what live runs need.
fn may_run() -> bool {
    let allowed = std::process::Command::new("unshare").args(["--net", "true"]).output();
    allowed.is_ok_and(|output| output.status.success())
}

fn scenario(rest: &str) -> Scenario {
    Scenario::parse(&format!("{rest}\n{FABRIC}")).unwrap_or_else(|error| panic!("{error}"))
}

/// Live runs have the machine to themselves.
static MACHINE: Mutex<()> = Mutex::new(());

fn at(level: Level, scenario: &Scenario) -> Outcome {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let scenario = Scenario { level, ..scenario.clone() };
    let run =
        feed(&scenario).map_err(RunError::from).and_then(|feed| run(&scenario, feed, &Unattended, None));
    run.unwrap_or_else(|error| panic!("{error}")).0
}

/// The completion times of a run's flows.
fn completion(outcome: &Outcome) -> Vec<Time> {
    outcome.flows.iter().map(|flow| flow.end.saturating_sub(flow.start)).collect()
}

fn alone(scheme: &str, bytes: u64) -> Scenario {
    scenario(&format!(
        "scheme = {{ name = \"{scheme}\" }}\n\
         workload = {{ sizes = {{ fixed = \"{bytes}B\" }}, load = 0.01, flows = 1, pattern = \"pairs\", from = [0], to = [3] }}"
    ))
}

#[test]
fn a_lone_flow_takes_what_the_closed_form_says() {
    if !may_run() {
        tailrace_linux::skip_test("network namespaces need root");
        return;
    }
    for bytes in [1_000, 14_600, 1_000_000] {
        // A window that fills the path from the start.
        let mut scenario = alone("pfabric", bytes);
        scenario.transport.initial_window = 60;
        let fabric = scenario.fabric.build();
        let ideal = fabric.ideal_fct(0, 3, Bytes::new(bytes), &scenario.transport, HEADER_BYTES);
        let took = || completion(&at(Level::Live, &scenario))[0];
        // The machine may stumble; no run is faster than its links.
        let tolerance = (0.05 * ideal.as_secs_f64()).max(300e-6);
        let off = |took: Time| took.as_secs_f64() - ideal.as_secs_f64();
        let mut tries: Vec<Time> = Vec::new();
        while tries.len() < 8 && tries.last().is_none_or(|&took| off(took) >= tolerance) {
            tries.push(took());
        }
        let took = *tries.iter().min().unwrap();
        let off = off(took);
        assert!((-20e-6..tolerance).contains(&off), "{bytes} B took {took}, alone {ideal}");
    }
}

#[test]
fn what_is_sent_arrives_at_the_simulated_time_and_nothing_is_lost_or_made_up() {
    if !may_run() {
        tailrace_linux::skip_test("network namespaces need root");
        return;
    }
    for scheme in ["dctcp", "awafs", "rcp", "baraat"] {
        let scenario = alone(scheme, 300_000);
        let [live, simulated] = [Level::Live, Level::Packet].map(|level| at(level, &scenario));
        assert!(live.ledger.unwrap().balances());
        let [took, would] = [&live, &simulated].map(|outcome| completion(outcome)[0].as_secs_f64());
        assert!((took / would - 1.0).abs() < 0.1, "{scheme}: {took} live, {would} simulated");
        let sent = |outcome: &Outcome| outcome.ledger.unwrap().injected.packets as f64;
        assert!((sent(&live) / sent(&simulated) - 1.0).abs() < 0.2, "{scheme}");
    }
}

#[test]
fn of_two_classes_the_first_waits_for_one_frame_a_port_at_most() {
    if !may_run() {
        tailrace_linux::skip_test("network namespaces need root");
        return;
    }
    // Long flows sink to the last queue; between the same two hosts, ten short ones come by.
    let list = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    let mut text = "src,dst,size_bytes,start_ns\n0,3,3000000,0\n".to_owned();
    (1..=10).for_each(|flow| text.push_str(&format!("0,3,2920,{}\n", 60_000_000 + flow * 12_000_000)));
    std::fs::write(list.path(), text).unwrap();
    let path = list.path().display();
    let mut scenario = scenario(&format!(
        "scheme = {{ name = \"mlfq\", params = {{ thresholds = [\"20KB\"], port = {{ queues = 2 }} }} }}\nworkload = {{ flow_list = \"{path}\" }}"
    ));
    scenario.read_files(std::path::Path::new("/")).unwrap();
    let fabric = scenario.fabric.build();
    let outcome = at(Level::Live, &scenario);
    let lag = outcome.real_time.as_ref().unwrap().left.summary().p99;
    let (frame, hops) = (fabric.host_rate().time_for(Bytes::new(1500)), fabric.hops_between(0, 3) as u64);
    let ideal = fabric.ideal_fct(0, 3, Bytes::new(2920), &scenario.transport, HEADER_BYTES);
    let allowed = ideal.as_secs_f64() + frame.as_secs_f64() * hops as f64 + 2.0 * lag.as_secs_f64() + 300e-6;
    let late: Vec<Time> =
        completion(&outcome).into_iter().skip(1).filter(|took| took.as_secs_f64() > allowed).collect();
    // The machine may stumble once.
    assert!(late.len() <= 1, "{late:?} are above {allowed} s; alone {ideal}, lag {lag}");
}

#[test]
fn marking_begins_at_the_threshold() {
    if !may_run() {
        tailrace_linux::skip_test("network namespaces need root");
        return;
    }
    // A burst of 30 packets into the card of its sender, which marks above K.
    let marks = |threshold: u32, level| {
        let mut scenario = scenario(&format!(
            "scheme = {{ name = \"dctcp\", params = {{ port = {{ marking_threshold = \"{threshold}KB\" }} }} }}\nseed = 3\n\
             workload = {{ sizes = {{ fixed = \"43800B\" }}, load = 0.01, flows = 1 }}"
        ));
        scenario.transport.initial_window = 30;
        at(level, &scenario).ports.iter().map(|port| port.marked).sum::<u64>()
    };
    assert_eq!([Level::Packet, Level::Live].map(|level| marks(60, level)), [0, 0]);
    let [simulated, live] = [Level::Packet, Level::Live].map(|level| marks(15, level));
    assert!(simulated >= 15 && live.abs_diff(simulated) <= 2, "{live} live, {simulated} simulated");
}

#[test]
fn a_live_run_is_recorded_and_its_record_replayed() {
    if !may_run() {
        tailrace_linux::skip_test("network namespaces need root");
        return;
    }
    let file = std::env::temp_dir().join(format!("tailrace-record-{}", std::process::id()));
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    // Its ports evict, by a rank that packets carry: three hosts send to one whose port holds 15 packets.
    let text = "scheme = { name = \"pfabric\" }\nworkload = { sizes = { uniform = [\"3KB\", \"150KB\"] }, load = 0.9, flows = 40, \
                pattern = \"pairs\", from = [0, 1, 2], to = [3] }";
    let mut scenario = Scenario { level: Level::Live, ..scenario(text) };
    scenario.fabric.buffer = Buffer::PerPort(Bytes::new(22_500));
    let live = Live { record: Some(file.clone()), ..Live::default() };
    let (outcome, _) = run_live(&scenario, feed(&scenario).unwrap(), &Unattended, &live).unwrap();
    let replayed = replay(&file);
    let _ = std::fs::remove_file(&file);
    let (replayed, ledger) = (replayed.unwrap(), outcome.ledger.unwrap());
    assert_eq!(replayed.difference, None);
    assert_eq!((replayed.entered, replayed.left), (ledger.injected.packets, ledger.delivered.packets));
    assert_eq!(replayed.dropped, ledger.dropped().packets);
    assert!(ledger.dropped_evicted.packets > 0, "{ledger:?}");
}

/// Sixteen hosts of 10 Gbps, all of which send: a core carries a hundredth of that.
#[test]
fn a_fabric_that_is_too_fast_for_the_machine_is_refused_with_what_it_carries() {
    if !may_run() {
        tailrace_linux::skip_test("network namespaces need root");
        return;
    }
    let scenario = Scenario::parse(
        "scheme = { name = \"dctcp\" }\nlevel = \"live\"\ntransport = { min_rto = \"10ms\" }\n\
         fabric = { kind = \"star\", hosts = 16, host_rate = \"10Gbps\", delay = \"50us\" }\n\
         workload = { sizes = { fixed = \"1MB\" }, load = 0.8, flows = 300 }",
    )
    .unwrap();
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let feed = feed(&scenario).unwrap();
    let error = run_live(&scenario, feed, &Unattended, &Live::default()).map(drop).unwrap_err().to_string();
    assert!(error.contains("tried 3 times: the machine was too slow"), "{error}");
    assert!(error.contains("packets a second") && error.contains("and would carry some"), "{error}");
}
