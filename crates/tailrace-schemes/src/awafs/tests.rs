//! Ports and hosts that follow completed flows, without a network. Sizes are in packets of 1460 bytes.

use super::*;
use crate::pias::Thresholds;
use crate::pias::tests::web_search;
use tailrace_core::{
    FlowId, Header, HostPolicy, Packet, PacketKind, PortPlace, PortPolicy, Rate, Reason, Refresh, SeriesRow,
};
use tailrace_queues::PortParams;

const MSS: u64 = 1460;
const ROOM: Bytes = Bytes::new(1 << 40);

fn scheme(params: Params) -> Result<Awafs, ParamError> {
    let published_sizes = |name: &str| (name == "web-search").then(web_search);
    let facts = Facts { published_sizes, ..Facts::new(2, Rate::from_gbps(10), Time::from_us(85), 4) };
    Awafs::new(params, &facts)
}

/// Two queues: the threshold starts at `packets` and follows the median.
fn two_queues(packets: u64) -> Params {
    Params {
        percentiles: Percentiles::Given(vec![0.5]),
        initial_thresholds: Thresholds::Given(vec![Bytes::new(packets * MSS)]),
        port: PortParams { queues: 2, ..PortParams::default() },
        ..Params::default()
    }
}

const FLOW: FlowInfo =
    FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 };

type AwafsPort = RoutedPort<AwafsRouter, Shim>;

fn port(params: Params) -> AwafsPort {
    let buffer = Bytes::new(360_000);
    let facts = PortFacts::new(0, PortPlace::SwitchToHost, Rate::from_gbps(10), buffer);
    scheme(params).unwrap().port(&facts)
}

/// Packet `number` of a flow of so many.
fn packet(flow: FlowId, number: u64, packets: u64) -> Packet<Shim> {
    let last = number + 1 == packets;
    let mut packet = Packet {
        flow,
        bytes: 1500,
        header: Shim { before: number * MSS, last, on_wire: false },
        ..Packet::EMPTY
    };
    packet.set(if last { PacketKind::LastData } else { PacketKind::Data }, tailrace_core::Ecn::Capable);
    packet
}

/// Sends a flow through the port; returns how many of its packets went to each of two queues.
fn send(port: &mut AwafsPort, now: Time, flow: FlowId, packets: u64) -> [u64; 2] {
    let mut queues = [0; 2];
    for number in 0..packets {
        port.enqueue(now, packet(flow, number, packets), ROOM, &mut |_, _| panic!("there is room"));
        let sent = port.dequeue(now).unwrap();
        queues[usize::from(sent.priority)] += 1;
    }
    queues
}

/// The threshold after an adjustment at `ms`, in packets, and the length of the list.
fn adjust(port: &mut AwafsPort, ms: u64) -> (u64, u64) {
    let mut rows: Vec<SeriesRow> = Vec::new();
    port.on_wake(Time::from_ms(ms), &mut rows);
    let value = |metric| rows.iter().find(|row| row.metric == metric).unwrap().value as u64;
    (value("threshold_bytes") / MSS, value("list_length"))
}

#[test]
fn a_flow_as_large_as_the_threshold_never_sinks() {
    let mut port = port(two_queues(10));
    assert_eq!(send(&mut port, Time::ZERO, 0, 10), [10, 0]);
    assert_eq!(send(&mut port, Time::ZERO, 1, 11), [10, 1]);
}

#[test]
fn without_initial_thresholds_everything_starts_at_the_bottom() {
    let mut port = port(Params { initial_thresholds: Thresholds::Given(vec![]), ..two_queues(0) });
    assert_eq!(send(&mut port, Time::ZERO, 0, 3), [0, 3]);
}

#[test]
fn thresholds_follow_a_change_of_traffic_within_a_window() {
    let mut port = port(two_queues(1));
    // A flow every 10 ms: of 3 packets until 1000 ms, of 30 from then on.
    let mut thresholds = Vec::new();
    for flow in 0..200 {
        let ms = 10 * u64::from(flow);
        if ms > 0 && ms % 200 == 0 {
            thresholds.push(adjust(&mut port, ms));
        }
        send(&mut port, Time::from_ms(ms), flow, if ms < 1000 { 3 } else { 30 });
    }
    // The window is 250 ms: 25 flows, of which 20 are new at the first adjustment after the change.
    let (threshold, lengths): (Vec<u64>, Vec<u64>) = thresholds.into_iter().unzip();
    assert_eq!(threshold, [3, 3, 3, 3, 3, 30, 30, 30, 30]);
    assert_eq!(lengths, [20, 25, 25, 25, 25, 25, 25, 25, 25]);
}

#[test]
fn the_notice_counts_although_its_packet_is_dropped() {
    let mut port = port(two_queues(1));
    let mut dropped = Vec::new();
    port.enqueue(Time::ZERO, packet(7, 4, 5), Bytes::ZERO, &mut |lost, reason| {
        dropped.push((lost.flow, reason));
    });
    assert_eq!(dropped, [(7, Reason::Buffer)]);
    assert_eq!(adjust(&mut port, 200), (5, 1));
}

#[test]
fn a_packet_that_never_waits_counts_too() {
    let mut port = port(two_queues(1));
    let mut packet = packet(7, 4, 5);
    assert!(port.pass(Time::ZERO, &mut packet, ROOM, &mut |_, _| panic!("there is room")));
    assert_eq!(packet.priority, 1);
    assert_eq!(adjust(&mut port, 200), (5, 1));
}

#[test]
fn a_last_packet_sent_again_counts_once_among_sixteen_flows() {
    let counted = |deduplicate, flows_between: u32| {
        let mut port = port(Params { deduplicate, ..two_queues(1) });
        for flow in std::iter::once(0).chain(1..=flows_between).chain(std::iter::once(0)) {
            send(&mut port, Time::ZERO, flow, 1);
        }
        adjust(&mut port, 200).1 - u64::from(flows_between)
    };
    assert_eq!((counted(true, 15), counted(true, 16)), (1, 2));
    assert_eq!(counted(false, 0), 2);
}

#[test]
fn acknowledgements_are_left_alone() {
    let mut port = port(two_queues(1));
    let mut ack = packet(7, 4, 5);
    ack.set(PacketKind::Ack, tailrace_core::Ecn::NotCapable);
    port.enqueue(Time::ZERO, ack, ROOM, &mut |_, _| panic!("there is room"));
    assert_eq!(port.dequeue(Time::ZERO).map(|packet| packet.priority), Some(0));
    assert_eq!(adjust(&mut port, 200), (1, 0));
}

#[test]
fn placed_in_hosts_it_tags_and_ports_only_schedule() {
    let scheme = scheme(Params { placement: Placement::Host, ..two_queues(10) }).unwrap();
    let mut host = scheme.host();
    let priority = |host: &AwafsHost, packets: u64| host.directive(&FLOW).tags.priority(packets * MSS);
    assert_eq!((priority(&host, 9), priority(&host, 10)), (0, 1));
    host.on_flow_end(Time::ZERO, &FLOW, Bytes::new(30 * MSS));
    assert_eq!(host.next_wake(), Some(Time::from_ms(200)));
    assert_eq!(host.on_wake(Time::from_ms(200), &mut Vec::new()), Refresh::All);
    assert_eq!((priority(&host, 29), priority(&host, 30)), (0, 1));
    let mut port = port(Params { placement: Placement::Host, ..two_queues(10) });
    assert_eq!(port.next_wake(), None);
    assert_eq!(send(&mut port, Time::ZERO, 0, 20), [20, 0]);
}

#[test]
fn only_placed_in_hosts_is_a_plan_all_that_switches_need() {
    let plan = |placement| {
        let scheme = scheme(Params { placement, ..Params::default() }).unwrap();
        scheme.switch_plan(Rate::from_gbps(10)).map(|plan| plan.queues)
    };
    assert!(plan(Placement::Switch).is_none());
    let queues = plan(Placement::Host).unwrap();
    assert_eq!(queues.len(), 8);
    assert_eq!(queues[0].holds, "acknowledgements; data of flows that start");
    assert_eq!(queues[7].holds, "data of flows that have sent past threshold 7 of the host's own");
}

#[test]
fn what_is_wrong_is_named() {
    let error = |change: fn(&mut Params)| {
        let mut params = Params::default();
        change(&mut params);
        scheme(params).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        error(|p| p.port.queues = 4),
        "percentiles: 7 percentiles for 4 queues: one fewer than queues is needed"
    );
    fn given(p: &mut Params, last: f64) {
        p.percentiles = Percentiles::Given(vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6, last]);
    }
    assert_eq!(error(|p| given(p, 1.0)), "percentiles: each must lie strictly between 0 and 1");
    assert_eq!(error(|p| given(p, 0.1)), "percentiles: they must ascend");
    assert_eq!(
        error(|p| p.period = Time::ZERO),
        "period: 0s is too short: it must be at least 1us; the thesis uses 200ms"
    );
    assert_eq!(
        error(|p| p.window = Time::from_ms(199)),
        "window: 199ms is shorter than the period 200ms (AWAFS §4.2.2.1)"
    );
    fn initial(p: &mut Params, fitted: &str, load: f64) {
        p.initial_thresholds = Thresholds::Fitted { fitted: fitted.into(), load };
    }
    assert_eq!(
        error(|p| p.initial_thresholds = Thresholds::Given(vec![Bytes::ZERO])),
        "initial_thresholds: 1 thresholds for 8 queues: one fewer than queues is needed"
    );
    assert_eq!(
        error(|p| initial(p, "nothing", 0.5)),
        "initial_thresholds.fitted: there is no workload \"nothing\"; tailrace workloads lists them"
    );
    assert_eq!(
        error(|p| initial(p, "web-search", 1.0)),
        "initial_thresholds.load: 1 must lie between 0 and 1, both excluded"
    );
    assert!(error(|p| p.liars = vec![0, 4000]).starts_with("liars: there is no host 4000: they are 0 to "));
    assert_eq!(
        error(|p| (p.percentiles, p.period) = (Percentiles::Named(Chosen::Chosen), Time::from_us(5))),
        "period: 5us is too short: it must be at least 1ms; the thesis uses 200ms"
    );
    assert_eq!(
        error(|p| p.silence = Some(Time::ZERO)),
        "silence: 0s is too short: packets of a flow are some apart, so it must be at least 10us; give 10ms"
    );
    assert_eq!(
        error(|p| (p.silence, p.placement) = (Some(Time::from_ms(1)), Placement::Host)),
        "silence: is for placement = \"switch\": hosts know when their flows end"
    );
}

#[test]
fn it_can_start_from_a_named_workload() {
    let initial_thresholds = Thresholds::Fitted { fitted: "web-search".into(), load: 0.8 };
    let params = Params { initial_thresholds, ..two_queues(0) };
    // By the model two queues part web search at 1333 packets.
    assert_eq!(send(&mut port(params), Time::ZERO, 0, 1400), [1333, 67]);
}

#[test]
fn chosen_thresholds_part_what_percentiles_do_not() {
    // Nine flows of ten have 10 packets, the others 500: by the median as well as by the model the threshold is at
    // the first, within the eighth that bins are wide.
    let threshold = |percentiles, per_second: u64| {
        let mut port = port(Params { percentiles, ..two_queues(1) });
        for flow in 0..per_second as u32 / 5 {
            send(&mut port, Time::from_ms(100), flow, if flow % 10 == 9 { 500 } else { 10 });
        }
        adjust(&mut port, 200)
    };
    assert_eq!(threshold(Percentiles::Named(Chosen::Chosen), 1000), (10, 200));
    assert_eq!(threshold(Percentiles::Given(vec![0.5]), 1000), (10, 200));
    // Nine tenths of a percent lie above both; only the model sees that they are most of the load.
    assert_eq!(threshold(Percentiles::Given(vec![0.95]), 1000), (500, 200));
}

#[test]
fn a_port_that_counts_needs_no_header_and_believes_none() {
    let silence = Some(Time::from_ms(10));
    let mut counting = port(Params { silence, ..two_queues(10) });
    let mut queues = [0; 2];
    for number in 0..12 {
        let mut packet = packet(3, number, 12);
        packet.header = Shim::NONE;
        counting.enqueue(Time::ZERO, packet, ROOM, &mut |_, _| panic!("there is room"));
        queues[usize::from(counting.dequeue(Time::ZERO).unwrap().priority)] += 1;
    }
    assert_eq!(queues, [10, 2]);
    assert_eq!(adjust(&mut counting, 9), (10, 0));
    assert_eq!(adjust(&mut counting, 209), (12, 1));
    // The end that a packet tells of counts no more.
    send(&mut counting, Time::from_ms(209), 4, 30);
    assert_eq!(adjust(&mut counting, 210), (12, 1));
}

#[test]
fn a_liar_gains_the_first_queue_and_is_taken_for_small() {
    let params = |placement| Params { placement, liars: vec![0], ..two_queues(10) };
    let in_hosts = scheme(params(Placement::Host)).unwrap().host();
    let honest = FlowInfo { src: 1, ..FLOW };
    assert_eq!([FLOW, honest].map(|flow| in_hosts.directive(&flow).tags.priority(11 * MSS)), [0, 1]);
    let in_switches = scheme(params(Placement::Switch)).unwrap();
    let stamp = |flow: &FlowInfo| {
        let segment = Segment { before: Bytes::new(11 * MSS), len: 1460, last: true };
        let view = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };
        in_switches.law(flow).stamp(Time::ZERO, &segment, &view).before
    };
    assert_eq!([FLOW, honest].map(|flow| stamp(&flow)), [0, 11 * MSS]);
}

#[test]
fn tags_gain_nothing_at_a_port_with_thresholds() {
    let mut port = port(two_queues(10));
    let tagged = Packet { priority: 0, ..packet(0, 11, 20) };
    port.enqueue(Time::ZERO, tagged, ROOM, &mut |_, _| panic!("there is room"));
    assert_eq!(port.dequeue(Time::ZERO).map(|packet| packet.priority), Some(1));
}
