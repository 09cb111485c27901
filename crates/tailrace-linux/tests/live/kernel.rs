//! Flows as TCP connections of the kernel, over a fabric in real time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use tailrace_core::{
    Bytes, Ending, FlowRecord, HostId, LiveError, Outcome, PortId, Progress, Running, Scheme, TagTable, Time,
};
use tailrace_fabric::{Buffer, FabricParams};
use tailrace_linux::{Fabrics, Flows, Hosts, Limits, Priorities, Tagger, Tags, Terms, run_on_kernel};
use tailrace_packet::{Watch, World};
use tailrace_scenario::Scenario;
use tailrace_schemes::dctcp::Dctcp;
use tailrace_schemes::fifo::Fifo;
use tailrace_workload::feed::Feed;

/// These machines are busy: what is asserted here does not depend on a packet in a hundred.
const LENIENT: Limits = Limits { lag: Time::from_ms(500), stall: Time::MAX };

/// Live runs have the machine to themselves.
static MACHINE: Mutex<()> = Mutex::new(());

/// Hosts at one switch with 100 Mbps, a millisecond apart, and these fields.
fn scenario(hosts: u16, fields: &str) -> Scenario {
    let text = format!(
        "scheme = {{ name = \"fifo\" }}\n{fields}\n\
         [fabric]\nkind = \"star\"\nhosts = {hosts}\nhost_rate = \"100Mbps\"\nhost_delay = \"250us\"\nbuffer = \"400KB\"\n"
    );
    Scenario::parse(&text).unwrap()
}

fn feed(scenario: &Scenario) -> Feed {
    Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed).unwrap()
}

/// Runs a scenario under `S`; `None` where that needs rights that are not there.
fn run<S: Scheme>(scenario: &Scenario, congestion: &str) -> Option<Result<(Outcome, Ending), LiveError>> {
    run_watched::<S>(scenario, congestion, &[], &mut |_| ControlFlow::Continue(()))
}

fn run_watched<S: Scheme>(
    scenario: &Scenario,
    congestion: &str,
    tags: &[Bytes],
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> Option<Result<(Outcome, Ending), LiveError>> {
    if !nix::unistd::geteuid().is_root() {
        tailrace_linux::skip_test("network namespaces need root");
        return None;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let fabric = scenario.fabric.build();
    let scheme = || S::new(S::Params::default(), &scenario.facts(&fabric)).unwrap();
    let world = || {
        let (nothing, horizon) = (Feed::from(Vec::new()), scenario.measure.horizon);
        let ports = (0..fabric.ports.len() as PortId).collect();
        let watch = Watch { ports, every: scenario.measure.sample_every, ..Watch::default() };
        World::new(scheme(), &fabric, scenario.transport, nothing, horizon, watch, 1).outside()
    };
    let hosts = Hosts::new(fabric.hosts, 1500, None).unwrap();
    let terms = Terms::new(&scenario.transport, scheme().ecn(), Some(congestion.to_owned()));
    let table = TagTable::with_limits(tags);
    let flows = Flows { feed: feed(scenario), gamma: None, tagger: Box::new(move || Box::new(Same(table))) };
    let fabrics = Fabrics::<S> { rehearsal: world(), run: world() };
    let priorities = Priorities::new(None);
    Some(run_on_kernel(fabrics, flows, &hosts, &priorities, &terms, LENIENT, report))
}

/// Tags all flows by the same table.
struct Same(TagTable);

impl Tagger for Same {
    fn tags(&self, _: &FlowRecord) -> Tags {
        Tags { data: self.0, acks: 0 }
    }
    fn ended(&mut self, _: Time, _: &FlowRecord) {}
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn wake(&mut self, _: Time) -> Vec<HostId> {
        Vec::new()
    }
}

/// Completion times in milliseconds.
fn fcts(outcome: &Outcome) -> Vec<f64> {
    outcome.flows.iter().map(|flow| flow.fct().expect("complete").as_secs_f64() * 1e3).collect()
}

/// All at once, from each of some hosts to each of others.
fn once(size: &str, from: &str, to: &str) -> String {
    format!(
        "workload = {{ sizes = {{ fixed = \"{size}\" }}, arrivals = \"once\", flows = 100, pattern = \"pairs\", \
         from = {from}, to = {to} }}"
    )
}

#[test]
fn a_lone_flow_takes_what_its_path_takes() {
    let scenario = scenario(2, &once("1MB", "[0]", "[1]"));
    let Some(ran) = run::<Fifo>(&scenario, "cubic") else { return };
    let (outcome, ending) = ran.unwrap();
    let flow = outcome.flows.of(0);
    let fabric = scenario.fabric.build();
    let ideal = fabric.ideal_fct(flow.src, flow.dst, 0, flow.size, &scenario.transport, 40);
    let (ideal, fct) = (ideal.as_secs_f64() * 1e3, fcts(&outcome)[0]);
    eprintln!("{fct} ms, ideal {ideal} ms, {:?}", outcome.real_time.as_ref().map(|real| real.left.summary()));
    assert_eq!((ending, outcome.flows.len()), (Ending::Finished, 1));
    // Slow start takes some round trips more than the ideal.
    assert!(fct > ideal && fct < ideal + 30.0, "{fct} ms, ideal {ideal} ms");
    // 685 segments, the last of which says that it is, and no handshake.
    let (sent, again) = (outcome.ports[0].sent, u64::from(flow.retransmitted));
    assert_eq!(sent.packets - again.div_ceil(1460), 685, "{sent:?}");
    assert!(outcome.ledger.unwrap().balances());
}

#[test]
fn two_flows_share_a_link_and_take_twice_as_long() {
    let scenario = scenario(3, &once("2MB", "[0, 1]", "[2]"));
    let Some(ran) = run::<Fifo>(&scenario, "reno") else { return };
    let fcts = fcts(&ran.unwrap().0);
    eprintln!("{fcts:?} ms");
    let last = fcts.iter().copied().fold(0.0, f64::max);
    // 4 MB and headers at 100 Mbps are 329 ms, and neither can have more than the link before.
    assert!(
        fcts.len() == 2 && last > 328.0 && last < 420.0 && fcts.iter().all(|&fct| fct > 164.0),
        "{fcts:?}"
    );
}

#[test]
fn many_flows_may_start_together() {
    let scenario =
        scenario(24, &once("20KB", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]", "[20,21]"));
    let Some(ran) = run::<Fifo>(&scenario, "cubic") else { return };
    let (outcome, _) = ran.unwrap();
    assert_eq!((fcts(&outcome).len(), outcome.flows.iter().all(|flow| flow.start == Time::ZERO)), (40, true));
}

#[test]
fn a_second_stage_starts_when_the_first_has_ended() {
    for fct_end in ["receiver", "acked"] {
        let fields = format!(
            "transport = {{ fct_end = \"{fct_end}\" }}\n[[workload.task]]\n\
             workflow = {{ shuffle = {{ mappers = 2, reducers = 2, stages = 2, selectivity = 0.5 }} }}\n\
             sizes = {{ fixed = \"400KB\" }}\narrivals = \"periodic\"\nevery = \"50ms\"\ncount = 5"
        );
        let Some(ran) = run::<Fifo>(&scenario(4, &fields), "cubic") else { return };
        let (outcome, ending) = ran.unwrap();
        assert_eq!((ending, outcome.tasks.len(), outcome.flows.len()), (Ending::Finished, 5, 40));
        for task in &outcome.tasks {
            let of_task = || outcome.flows.iter().filter(|flow| flow.task == task.id);
            let (first, second): (Vec<FlowRecord>, Vec<FlowRecord>) =
                of_task().partition(|flow| flow.start == task.start);
            assert_eq!((first.len(), second.len()), (4, 4));
            let heard = first.iter().map(|flow| flow.end).max().unwrap();
            assert!(second.iter().all(|flow| flow.start == heard), "{second:?}");
            assert_eq!(task.end, second.iter().map(|flow| flow.end).max().unwrap());
        }
    }
}

#[test]
fn a_horizon_ends_a_run_in_the_middle_of_flows() {
    let fields = once("20MB", "[0]", "[1]")
        + "\nmeasure = { horizon = \"150ms\", sample_every = \"10ms\", sample_ports = \"all\" }";
    let Some(ran) = run::<Fifo>(&scenario(2, &fields), "cubic") else { return };
    let (outcome, ending) = ran.unwrap();
    let flow = outcome.flows.of(0);
    assert_eq!((ending, outcome.flows.len(), flow.fct()), (Ending::Horizon, 1, None));
    let sent = outcome.ports[0].sent.bytes as f64 * 8.0 / 150e-3;
    assert!(sent > 60e6 && sent < 105e6, "{sent} bps");
    assert!(outcome.series.rows.iter().any(|(_, row)| row.metric == "port_bytes" && row.value > 0.0));
}

#[test]
fn records_are_complete_and_losses_are_in_them() {
    let fields = "[workload]\nsizes = { uniform = [\"1KB\", \"200KB\"] }\nload = 0.5\nflows = 150";
    let mut scenario = scenario(4, fields);
    let Some(ran) = run::<Dctcp>(&scenario, "reno") else { return };
    let (outcome, ending) = ran.unwrap();
    assert_eq!((ending, outcome.flows.len()), (Ending::Finished, 150));
    let planned: Vec<_> = feed(&scenario).collect();
    for (flow, spec) in outcome.flows.iter().zip(&planned) {
        assert_eq!((flow.src, flow.dst, flow.size, flow.start), (spec.src, spec.dst, spec.size, spec.start));
        assert!(flow.fct().is_some());
    }
    let marked: u64 = outcome.ports.iter().map(|port| port.marked).sum();
    assert!(marked > 0, "DCTCP's ports mark what negotiates ECN");

    // Ports that hold ten packets drop, and flows are complete all the same.
    scenario.fabric = with_buffer(&scenario, 15_000);
    let (outcome, _) = run::<Fifo>(&scenario, "reno").unwrap().unwrap();
    let dropped: u64 = outcome.ports.iter().map(|port| port.dropped.packets).sum();
    let again: u64 = outcome.flows.iter().map(|flow| u64::from(flow.retransmitted)).sum();
    assert!(
        dropped > 0 && again > 0 && outcome.flows.iter().all(|flow| flow.fct().is_some()),
        "{dropped} {again}"
    );
}

fn with_buffer(scenario: &Scenario, bytes: u64) -> FabricParams {
    let buffer = Buffer::PerPort(Bytes::new(bytes));
    FabricParams { buffer, ..scenario.fabric.clone() }
}

#[test]
fn tags_change_at_the_first_segment_that_is_beyond_a_threshold() {
    let scenario = scenario(2, &once("1MB", "[0]", "[1]"));
    let thresholds = [100_000, 100_500, 500_000].map(Bytes::new);
    let follow = &mut |_: &mut dyn Running| ControlFlow::Continue(());
    let Some(ran) = run_watched::<Fifo>(&scenario, "cubic", &thresholds, follow) else { return };
    let (outcome, _) = ran.unwrap();
    // 69 segments begin within 100 KB, and the last of them ends beyond 100.5 KB.
    let (urgent, again) = (outcome.ports[0].urgent_bytes, outcome.flows.of(0).retransmitted);
    eprintln!("{urgent} bytes in the first priority, {again} sent again, {:?} ms", fcts(&outcome));
    assert!(again > 0 || urgent == 69 * 1500, "{urgent}");
}

#[test]
fn a_congestion_control_that_is_not_there_is_named_beside_those_that_are() {
    let scenario = scenario(2, &once("1KB", "[0]", "[1]"));
    let Some(ran) = run::<Fifo>(&scenario, "quick") else { return };
    let said = ran.unwrap_err().to_string();
    assert!(said.contains("live.tcp_congestion: \"quick\"") && said.contains("reno"), "{said}");
}

#[test]
fn who_follows_a_run_may_end_it() {
    let scenario = scenario(2, &once("20MB", "[0]", "[1]"));
    let mut seen = None;
    let report = &mut |run: &mut dyn Running| {
        if run.progress().started == 0 {
            return ControlFlow::Continue(());
        }
        seen = Some(run.progress());
        ControlFlow::Break(())
    };
    let Some(ran) = run_watched::<Fifo>(&scenario, "cubic", &[], report) else { return };
    assert!(matches!(ran, Err(LiveError::Interrupted)));
    let Progress { started, finished, packet_hops, .. } = seen.unwrap();
    assert!((started, finished) == (1, 0) && packet_hops > 100);
}
