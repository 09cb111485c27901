//! Real packets in real time, beside closed forms and the simulated packets. Timing is the machine's, so what is
//! asserted has room for it; where it was too slow a run says so and is tried again.

use tailrace_core::{Bytes, HEADER_BYTES, Outcome, Time};
use tailrace_fabric::Buffer;
use tailrace_live::{Live, replay, run_live};
use tailrace_run::{Unattended, feed, run};
use tailrace_scenario::Scenario;

use crate::machine::{alone, hold, live, may_run, some_try_holds};

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

fn scenario(rest: &str) -> Scenario {
    Scenario::parse(&format!("{rest}\n{FABRIC}")).unwrap_or_else(|error| panic!("{error}"))
}

fn simulated(scenario: &Scenario) -> Outcome {
    run(scenario, feed(scenario).unwrap(), &Unattended, Vec::new()).unwrap().0
}

/// The completion times of a run's flows.
fn completion(outcome: &Outcome) -> Vec<Time> {
    outcome.flows.iter().map(|flow| flow.end.saturating_sub(flow.start)).collect()
}

fn lone_flow(scheme: &str, bytes: u64) -> Scenario {
    scenario(&format!(
        "scheme = {{ name = \"{scheme}\" }}\n\
         workload = {{ sizes = {{ fixed = \"{bytes}B\" }}, load = 0.01, flows = 1, pattern = \"pairs\", from = [0], to = [3] }}"
    ))
}

#[test]
fn a_lone_flow_takes_what_the_closed_form_says() {
    if !may_run() {
        return;
    }
    for bytes in [1_000, 14_600, 1_000_000] {
        // A window that fills the path from the start.
        let mut scenario = lone_flow("pfabric", bytes);
        scenario.transport.initial_window = 60;
        let fabric = scenario.fabric.build();
        let ideal = fabric.ideal_fct(0, 3, 0, Bytes::new(bytes), &scenario.transport, HEADER_BYTES);
        let tolerance = (0.05 * ideal.as_secs_f64()).max(300e-6);
        some_try_holds(|| {
            let outcome = live(&scenario, &Live::default())?;
            let took = completion(&outcome)[0];
            let off = took.as_secs_f64() - ideal.as_secs_f64();
            // No run is faster than its links.
            let message = format!("{bytes} B took {took}, alone {ideal}");
            assert!(off > -20e-6, "{message}");
            hold(&outcome, Time::from_us(150), off < tolerance, message)
        });
    }
}

#[test]
fn what_is_sent_arrives_at_the_simulated_time_and_nothing_is_lost_or_made_up() {
    if !may_run() {
        return;
    }
    for scheme in ["dctcp", "awafs", "rcp", "baraat"] {
        let scenario = lone_flow(scheme, 300_000);
        let simulated = simulated(&scenario);
        some_try_holds(|| {
            let live = live(&scenario, &Live::default())?;
            assert!(live.ledger.unwrap().balances());
            let [took, would] = [&live, &simulated].map(|outcome| completion(outcome)[0].as_secs_f64());
            let message = format!("{scheme}: {took} live, {would} simulated");
            hold(&live, Time::from_us(300), (took / would - 1.0).abs() < 0.1, message)?;
            let [sent, would] =
                [&live, &simulated].map(|outcome| outcome.ledger.unwrap().injected.packets as f64);
            let message = format!("{scheme}: {sent} packets live, {would} simulated");
            hold(&live, Time::from_us(300), (sent / would - 1.0).abs() < 0.2, message)
        });
    }
}

#[test]
fn of_two_classes_the_first_waits_for_one_frame_a_port_at_most() {
    if !may_run() {
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
    let (frame, hops) = (fabric.host_rate().time_for(Bytes::new(1500)), fabric.hops_between(0, 3) as u64);
    let ideal = fabric.ideal_fct(0, 3, 0, Bytes::new(2920), &scenario.transport, HEADER_BYTES);
    some_try_holds(|| {
        let outcome = live(&scenario, &Live::default())?;
        let lag = outcome.real_time.as_ref().unwrap().left.summary().p99;
        let allowed =
            ideal.as_secs_f64() + frame.as_secs_f64() * hops as f64 + 2.0 * lag.as_secs_f64() + 300e-6;
        let took = completion(&outcome).into_iter().skip(1);
        let late: Vec<Time> = took.filter(|took| took.as_secs_f64() > allowed).collect();
        let message = format!("{late:?} are above {allowed} s; alone {ideal}, lag {lag}");
        hold(&outcome, Time::from_us(300), late.is_empty(), message)
    });
}

#[test]
fn marking_begins_at_the_threshold() {
    if !may_run() {
        return;
    }
    // A burst of 30 packets into the card of its sender, which marks above K.
    let bursts = |threshold: u32| {
        let mut scenario = scenario(&format!(
            "scheme = {{ name = \"dctcp\", params = {{ port = {{ marking_threshold = \"{threshold}KB\" }} }} }}\nseed = 3\n\
             workload = {{ sizes = {{ fixed = \"43800B\" }}, load = 0.01, flows = 1 }}"
        ));
        scenario.transport.initial_window = 30;
        scenario
    };
    let marks = |outcome: &Outcome| outcome.ports.iter().map(|port| port.marked).sum::<u64>();
    let (above, below) = (bursts(15), bursts(60));
    let would = marks(&simulated(&above));
    assert!(would >= 15 && marks(&simulated(&below)) == 0, "{would}");
    some_try_holds(|| {
        assert_eq!(marks(&live(&below, &Live::default())?), 0);
        let outcome = live(&above, &Live::default())?;
        let marks = marks(&outcome);
        let message = format!("{marks} live, {would} simulated");
        hold(&outcome, Time::from_us(300), marks.abs_diff(would) <= 2, message)
    });
}

#[test]
fn a_live_run_is_recorded_and_its_record_replayed() {
    if !may_run() {
        return;
    }
    let file = std::env::temp_dir().join(format!("tailrace-record-{}", std::process::id()));
    // Its ports evict, by a rank that packets carry: three hosts send to one whose port holds 15 packets.
    let text = "scheme = { name = \"pfabric\" }\nworkload = { sizes = { uniform = [\"3KB\", \"150KB\"] }, load = 0.9, flows = 40, \
                pattern = \"pairs\", from = [0, 1, 2], to = [3] }";
    let mut scenario = scenario(text);
    scenario.fabric.buffer = Buffer::PerPort(Bytes::new(22_500));
    some_try_holds(|| {
        let outcome = live(&scenario, &Live { record: Some(file.clone()), ..Live::default() });
        let replayed = replay(&file);
        let _ = std::fs::remove_file(&file);
        let (outcome, replayed) = (outcome?, replayed.unwrap());
        let ledger = outcome.ledger.unwrap();
        assert_eq!(replayed.difference, None);
        assert_eq!((replayed.entered, replayed.left), (ledger.injected.packets, ledger.delivered.packets));
        assert_eq!(replayed.dropped, ledger.dropped().packets);
        // That may be for the times at which they came.
        hold(&outcome, Time::from_us(300), ledger.dropped_evicted.packets > 0, format!("{ledger:?}"))
    });
}

/// Sixteen hosts of 10 Gbps, all of which send: a core carries a hundredth of that.
#[test]
fn a_fabric_that_is_too_fast_for_the_machine_is_refused_with_what_it_carries() {
    if !may_run() {
        return;
    }
    let scenario = Scenario::parse(
        "scheme = { name = \"dctcp\" }\nlevel = \"live\"\ntransport = { min_rto = \"10ms\" }\n\
         fabric = { kind = \"star\", hosts = 16, host_rate = \"10Gbps\", delay = \"50us\" }\n\
         workload = { sizes = { fixed = \"1MB\" }, load = 0.8, flows = 300 }",
    )
    .unwrap();
    let _alone = alone();
    let feed = feed(&scenario).unwrap();
    let error = run_live(&scenario, feed, &Unattended, &Live::default()).map(drop).unwrap_err().to_string();
    assert!(error.contains("tried 3 times: the machine was too slow"), "{error}");
    assert!(error.contains("packets a second") && error.contains("and would carry some"), "{error}");
}
