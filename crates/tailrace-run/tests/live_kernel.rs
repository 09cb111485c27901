//! The kernel's TCP over a scheme's fabric.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use tailrace_core::{Outcome, Place};
use tailrace_run::{LiveError, RunError, Unattended, feed, run};
use tailrace_scenario::Scenario;

/// A long flow, and short ones beside it that start when it has filled its port.
const LONG_AND_SHORT: &str = r#"
    level = "live"
    live = { stack = "kernel", tcp_congestion = "reno" }
    transport = { min_rto = "20ms" }
    [fabric]
    kind = "star"
    hosts = 3
    host_rate = "100Mbps"
    host_delay = "500us"
    buffer = "300KB"
    [workload]
    flows = 1000
    pattern = "pairs"
    to = [2]
    [[workload.rule]]
    from = [0]
    sizes = { fixed = "12MB" }
    arrivals = "once"
    [[workload.rule]]
    from = [1]
    sizes = { fixed = "10KB" }
    arrivals = "periodic"
    every = "20ms"
    start = "200ms"
    stop = "800ms"
"#;

/// Runs it, where that is possible now.
fn ran(scheme: &str) -> Option<Outcome> {
    ran_as(scheme, LONG_AND_SHORT)
}

fn ran_as(scheme: &str, text: &str) -> Option<Outcome> {
    let scenario = Scenario::parse(&format!("scheme = {scheme}\n{text}")).unwrap();
    match run(&scenario, feed(&scenario).unwrap(), &Unattended, None) {
        Ok((outcome, _)) => Some(outcome),
        Err(RunError::Live(error @ (LiveError::TooSlow(_) | LiveError::Refused { .. }))) => {
            tailrace_linux::skip_test(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The mean completion time of short flows, in ms.
fn short(outcome: &Outcome) -> f64 {
    let fcts: Vec<f64> = outcome
        .flows
        .iter()
        .filter(|flow| flow.class == 1)
        .map(|flow| flow.fct().expect("complete").as_secs_f64() * 1e3)
        .collect();
    assert!(fcts.len() == 30 && outcome.flows.len() == 31, "{} flows", outcome.flows.len());
    fcts.iter().sum::<f64>() / fcts.len() as f64
}

#[test]
fn what_is_to_be_measured_of_ports_is_written_down_as_at_the_other_levels() {
    let text = LONG_AND_SHORT.replace(
        "[fabric]",
        "measure = { sample_every = \"5ms\", sample_ports = [\"switch0->host2\"] }\n[fabric]",
    );
    let Some(outcome) = ran_as("{ name = \"pias\" }", &text) else { return };
    let to_host = |place: &Place| *place == Place::Port(5);
    for metric in ["port_bytes", "port_packets", "queue_bytes"] {
        let of_port =
            outcome.series.rows.iter().filter(|(place, row)| to_host(place) && row.metric == metric);
        let values: Vec<f64> = of_port.map(|(_, row)| row.value).collect();
        assert!(values.len() > 100 && values.iter().any(|value| *value > 0.0), "{metric}: {values:?}");
    }
    let real_time = outcome.real_time.unwrap();
    let counts = [&real_time.entered, &real_time.left, &real_time.started].map(|lag| lag.count());
    assert!(counts[0] > 8_000 && counts[1] > 8_000 && counts[2] == 31, "{counts:?}");
}

#[test]
fn tags_of_hosts_and_queues_of_switches_keep_short_flows_from_waiting() {
    let pias = "{ name = \"pias\", params = { thresholds = [\"20KB\"], port = { queues = 2 } } }";
    let (Some(fifo), Some(pias)) = (ran("{ name = \"tcp\" }"), ran(pias)) else { return };
    eprintln!("short flows: {:.2} ms behind one queue, {:.2} ms with two", short(&fifo), short(&pias));
    // The port of host 2 holds 24 ms, and a long flow of Reno fills at least half of that. One of 10 KB takes 3 ms alone.
    assert!(short(&fifo) > 8.0 && short(&pias) < 0.7 * short(&fifo));
    assert!(short(&pias) < 8.0);
}
