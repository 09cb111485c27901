//! The kernel's TCP over a scheme's fabric.

use tailrace_core::{Outcome, SeriesSource, Time};
use tailrace_live::Live;
use tailrace_scenario::Scenario;

use crate::machine::{Failure, hold, live, may_run, some_try_holds};

/// Later than any packet is when the machine has nothing else to do.
const LATE: Time = Time::from_ms(2);

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

fn ran(scheme: &str, text: &str) -> Result<Outcome, Failure> {
    live(&Scenario::parse(&format!("scheme = {scheme}\n{text}")).unwrap(), &Live::default())
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
    if !may_run() {
        return;
    }
    some_try_holds(|| {
        let outcome = ran("{ name = \"pias\" }", &text)?;
        let to_host = |place: &SeriesSource| *place == SeriesSource::Port(5);
        for metric in ["port_bytes", "port_packets", "queue_bytes"] {
            let of_port =
                outcome.series.rows.iter().filter(|(place, row)| to_host(place) && row.metric == metric);
            let values: Vec<f64> = of_port.map(|(_, row)| row.value).collect();
            let right = values.len() > 100 && values.iter().any(|value| *value > 0.0);
            hold(&outcome, LATE, right, format!("{metric}: {values:?}"))?;
        }
        let real_time = outcome.real_time.as_ref().unwrap();
        let counts = [&real_time.entered, &real_time.left, &real_time.started].map(|lag| lag.count());
        assert!(counts[0] > 8_000 && counts[1] > 8_000 && counts[2] == 31, "{counts:?}");
        Ok(())
    });
}

#[test]
fn tags_of_hosts_and_queues_of_switches_keep_short_flows_from_waiting() {
    let pias = "{ name = \"pias\", params = { thresholds = [\"20KB\"], port = { queues = 2 } } }";
    if !may_run() {
        return;
    }
    some_try_holds(|| {
        let (fifo, pias) = (ran("{ name = \"tcp\" }", LONG_AND_SHORT)?, ran(pias, LONG_AND_SHORT)?);
        let [one, two] = [&fifo, &pias].map(short);
        let message = format!("short flows: {one:.2} ms behind one queue, {two:.2} ms with two");
        // The port of host 2 holds 24 ms, and a long flow of Reno fills at least half of that. One of 10 KB takes 3 ms alone.
        hold(&fifo, LATE, one > 8.0, message.clone())?;
        hold(&pias, LATE, two < 8.0 && two < 0.7 * one, message)
    });
}

/// Sixteen hosts of 10 Gbps, all of which send: a core carries a hundredth of that.
#[test]
fn a_fabric_that_is_too_fast_for_the_machine_is_refused() {
    if !may_run() {
        return;
    }
    let text = r#"
        level = "live"
        live = { stack = "kernel", tcp_congestion = "reno" }
        transport = { min_rto = "10ms" }
        fabric = { kind = "star", hosts = 16, host_rate = "10Gbps", delay = "50us" }
        workload = { sizes = { fixed = "1MB" }, load = 0.8, flows = 300 }
    "#;
    match ran("{ name = \"dctcp\" }", text) {
        Err(Failure::Machine(error)) => {
            assert!(error.contains("tried 3 times: the machine was too slow"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
