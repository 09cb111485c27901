//! Karuna on a network: deadlines are met and hardly early, and the rest of the link is for the others.

use tailrace_core::{ACK_BYTES, FlowRecord, HEADER_BYTES, HostId, Reveals, SeriesSource, Time};
use tailrace_fabric::Fabric;
use tailrace_packet::Watch;
use tailrace_workload::FlowSpec;

use crate::setup::{MSS, Run, Setup, fabric, flow};

const GUARD_RTTS: u64 = 6;
/// Thresholds that need no planned traffic.
const PARAMS: &str = r#"thresholds = { splitting = ["10KB", "30KB", "100KB", "300KB", "1MB", "3MB"], sieving = ["10KB", "30KB", "100KB", "300KB", "1MB", "3MB"] }"#;

/// Eight hosts at 10 Gbps on a switch, a base round trip of 85 µs.
fn star() -> Fabric {
    fabric(
        r#"kind = "star"
        hosts = 8
        host_rate = "10Gbps"
        host_delay = "20.2us"
        buffer = "360KB""#,
    )
}

fn rtt(fabric: &Fabric) -> Time {
    fabric.farthest_rtt(MSS as u16 + HEADER_BYTES, ACK_BYTES)
}

fn due(src: HostId, dst: HostId, size: u64, start: Time, span: Time) -> FlowSpec {
    FlowSpec { deadline: Some(start + span), reveals: Reveals::Deadline, ..flow(src, dst, size, start) }
}

fn ideal(setup: &Setup, spec: &FlowSpec) -> Time {
    setup.fabric.ideal_fct(spec.src, spec.dst, 0, spec.size, &setup.transport, HEADER_BYTES)
}

fn times(time: Time, factor: f64) -> Time {
    Time::from_secs_f64(time.as_secs_f64() * factor)
}

/// Alone on a link every feasible deadline is met, early by no more than the guard and two round trips. (A flow
/// of one segment has nothing to space, and is done at once.)
#[test]
fn a_lone_flow_is_done_just_in_time() {
    for size in [2_000, 10_000, 60_000, 200_000, 1_000_000, 10_000_000, 100_000_000] {
        for slack in [1.05, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0] {
            let mut setup = Setup::new(star(), vec![flow(0, 1, size, Time::ZERO)]);
            let span = times(ideal(&setup, &setup.flows[0]), slack);
            setup.flows = vec![due(0, 1, size, Time::ZERO, span)];
            let run = setup.run("karuna", PARAMS);
            let fct = run.only_fct();
            assert!(fct <= span, "{size} bytes at slack {slack}: {fct} for a deadline of {span}");
            let rtt = rtt(&setup.fabric);
            let early = rtt * (GUARD_RTTS + 2);
            assert!(
                span - fct <= early,
                "{size} bytes at slack {slack}: {fct} is more than {early} before {span}"
            );
        }
    }
}

fn record(run: &Run, id: u32) -> &FlowRecord {
    &run.records[id as usize]
}

/// Flows of types 2 and 3 get what MCP leaves over, and MCP takes what its deadline needs.
#[test]
fn the_others_get_what_is_left() {
    let end = Time::from_ms(300);
    for share in [0.1, 0.3, 0.6] {
        // A flow that needs this share of the link for the whole time, and long ones of both other types.
        let size = (share * 1.25e9 * 0.3) as u64;
        let known = flow(1, 7, 1 << 40, Time::ZERO);
        let unknown = FlowSpec { reveals: Reveals::Nothing, ..flow(2, 7, 1 << 40, Time::ZERO) };
        let flows = vec![due(0, 7, size, Time::ZERO, end), known, unknown];
        let setup = Setup { horizon: Some(end), ..Setup::new(star(), flows) };
        let run = setup.run("karuna", PARAMS);
        assert!(record(&run, 0).fct().is_some_and(|fct| fct <= end), "{share}: {:?}", record(&run, 0));
        let port = setup.fabric.port_named("switch->host7").unwrap_or(setup.fabric.port_to[7]);
        let sent = &run.ports[port as usize];
        let capacity = 1.25e9 * end.as_secs_f64();
        let (urgent, others) = (sent.urgent_bytes as f64, (sent.sent.bytes - sent.urgent_bytes) as f64);
        let wire = size as f64 * 1500.0 / MSS as f64;
        assert!((urgent / wire - 1.0).abs() < 0.01, "{share}: {urgent} urgent bytes for {wire}");
        assert!(others > 0.98 * (capacity - urgent), "{share}: {others} of {}", capacity - urgent);
    }
}

/// As many deadlines as fit are met side by side.
#[test]
fn deadlines_that_fit_together_are_met() {
    let flow = |i: u64| {
        let start = Time::from_us(40 * i);
        // Six flows at a time that each need 15 % of the link.
        due((i % 7) as u32, 7, 1_000_000, start, times(Time::from_us(800), 1.0 / 0.15))
    };
    let mut flows: Vec<FlowSpec> = (0..6).map(flow).collect();
    flows.push(FlowSpec { reveals: Reveals::Nothing, ..crate::setup::flow(6, 7, 1 << 40, Time::ZERO) });
    let setup = Setup { horizon: Some(Time::from_ms(8)), ..Setup::new(star(), flows) };
    let run = setup.run("karuna", PARAMS);
    for record in run.records.iter().filter(|record| record.deadline < Time::MAX) {
        assert!(record.end <= record.deadline, "{record:?}");
    }
}

/// Too much for the link: what cannot be met is given up, demoted or kept, and bytes are accounted for.
#[test]
fn what_cannot_be_met_is_treated_as_asked() {
    let span = Time::from_ms(2);
    let flows: Vec<FlowSpec> = (0..7).map(|src| due(src, 7, 1_000_000, Time::ZERO, span)).collect();
    let run = |hopeless| {
        let params = format!("{PARAMS}\nmcp = {{ hopeless = \"{hopeless}\" }}");
        let run = Setup::new(star(), flows.clone()).run("karuna", &params);
        assert!(run.ledger.balances());
        let stopped = run.records.iter().filter(|record| record.stopped).count();
        let finished = run.records.iter().filter(|record| record.end < Time::MAX).count();
        (stopped, finished)
    };
    // 2.5 MB fit into 2 ms. MCP admits all seven, they back off alike, and none gets through.
    let (stopped, finished) = run("terminate");
    assert!(stopped >= 5, "{stopped} given up");
    assert_eq!(finished + stopped, 7);
    for treatment in ["demote", "keep"] {
        let (stopped, finished) = run(treatment);
        assert_eq!((stopped, finished), (0, 7), "{treatment}");
    }
}

/// With marking by port, a flow with deadline takes the backlog of two long flows for its queue: close to what samples
/// of the port say it is, and far from the packet or two of its own priority.
#[test]
fn the_estimate_is_of_the_port_where_the_port_is_marked_by() {
    let end = Time::from_ms(100);
    let long = [1, 2].map(|src| flow(src, 7, 1 << 40, Time::ZERO));
    let flows = [due(0, 7, 12_500_000, Time::ZERO, end)].into_iter().chain(long).collect();
    let mut setup = Setup { horizon: Some(end), ..Setup::new(star(), flows) };
    let port = setup.fabric.port_to[7];
    let every = Some(Time::from_us(50));
    setup.watch = Watch { ports: vec![port], every, every_flow: Some(1), ..Watch::default() };
    let series = setup.run("karuna", &format!("{PARAMS}\nport = {{ marking = \"port\" }}")).series;
    let mean = |place, metric: &str| {
        let of = series.iter().filter(|(at, row)| *at == place && row.metric == metric);
        let values: Vec<f64> = of.map(|(_, row)| row.value).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let traced = |metric| mean(SeriesSource::Flow(0), metric);
    let sampled = mean(SeriesSource::Port(port), "port_bytes");
    assert!((traced("longest_port_bytes") / sampled - 1.0).abs() < 0.1, "{sampled} were sampled");
    assert!(traced("longest_queue_bytes") < sampled / 10.0, "{}", traced("longest_queue_bytes"));
    assert!(traced("port_estimate_error") < 0.3, "{}", traced("port_estimate_error"));
}
