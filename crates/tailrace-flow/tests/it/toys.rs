//! Whole runs that can be worked out by hand: the toys of Baraat's figures 4 and 5, and what queues are known to do.

use std::ops::ControlFlow;

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Directive, Ending, FlowInfo, HostId, HostPolicy, Knowledge, Outcome, Prospect, Queues, Rank,
    RateRule, Reveals, TagTable, TaskId, Time,
};
use tailrace_fabric::{Fabric, FabricParams};
use tailrace_flow::{Setup, World};
use tailrace_scenario::Scenario;
use tailrace_workload::FlowSpec;
use tailrace_workload::feed::Feed;

const ALL: Knowledge = Knowledge { sizes: true, deadlines: true };

/// All flows share.
struct Fair;
impl RateRule for Fair {
    fn rank(&self, _: &Prospect<'_>) -> Rank {
        Rank::SAME
    }
}

/// Tasks in order; heavy ones share with the next.
struct Fifo(Option<Bytes>);
impl RateRule for Fifo {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank::of_task(prospect.flow)
    }
    fn heavy(&self) -> Option<Bytes> {
        self.0
    }
}

/// What remains least goes first.
struct Srpt;
impl RateRule for Srpt {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank(prospect.left.map_or(u64::MAX, |left| left.get()), prospect.flow.id.into())
    }
    fn follows_progress(&self) -> bool {
        true
    }
}

/// Flows with deadlines first, as fast as they need to be.
struct JustInTime;
impl RateRule for JustInTime {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank(u64::from(prospect.flow.deadline.is_none()), 0)
    }
    fn due(&self, prospect: &Prospect<'_>) -> Option<Time> {
        prospect.flow.deadline
    }
}

/// Flows sink after two units, and after three.
struct Sinking;
impl HostPolicy for Sinking {
    fn directive(&self, _: &FlowInfo) -> Directive {
        Directive::tagged(TagTable::with_limits(&[2, 3].map(|units| Bytes::new(units * UNIT))))
    }
}

fn star() -> Fabric {
    let text = "kind = \"star\"\nhosts = 6\nhost_rate = \"1Gbps\"";
    fabric_of(text)
}

fn fabric_of(text: &str) -> Fabric {
    let table = text.parse().unwrap_or_else(|error| panic!("{error}"));
    FabricParams::from_table(&table).unwrap_or_else(|error| panic!("{error}")).build().as_ref().clone()
}

/// A thousand full packets: 12 ms of a link.
const UNIT: u64 = 1_460_000;
const UNIT_MS: f64 = 12.0;

/// A flow of so many units to host 0, in units of time.
fn flow(src: HostId, task: TaskId, units: u64, start: u64) -> FlowSpec {
    let start = Time::from_ms(start * 12);
    FlowSpec { src, dst: 0, size: Bytes::new(units * UNIT), start, task, ..FlowSpec::default() }
}

fn run(rule: impl RateRule + 'static, fabric: &Fabric, feed: Feed) -> Outcome {
    let setup = Setup::Fixed(Time::ZERO);
    let mut world = World::new(Box::new(rule), ALL, fabric, TransportParams::default(), feed, setup, None);
    assert_eq!(world.run(&mut |_| ControlFlow::Continue(())), Ending::Finished);
    world.into_outcome()
}

/// When flows end, in units of time, by number.
fn ends(rule: impl RateRule + 'static, flows: Vec<FlowSpec>) -> Vec<f64> {
    let outcome = run(rule, &star(), flows.into());
    outcome.flows.iter().map(|flow| flow.end.as_secs_f64() * 1e3 / UNIT_MS).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(close, "{found:?} is not {expected:?}");
}

#[test]
fn figure_4a_in_turn_the_first_of_two_equal_tasks_takes_half() {
    let two = || vec![flow(1, 1, 4, 0), flow(2, 2, 4, 0)];
    assert_close(&ends(Fair, two()), &[8.0, 8.0]);
    assert_close(&ends(Fifo(None), two()), &[4.0, 8.0]);
}

#[test]
fn figure_5_a_later_task_does_not_delay_earlier_ones() {
    let three = || vec![flow(1, 1, 4, 0), flow(2, 2, 4, 0), flow(3, 3, 4, 4)];
    // Until 4 two share, then three: each of the first has 2 left, which takes 6.
    assert_close(&ends(Fair, three()), &[10.0, 10.0, 12.0]);
    assert_close(&ends(Fifo(None), three()), &[4.0, 8.0, 12.0]);
}

#[test]
fn a_heavy_task_shares_with_the_next_alone() {
    let flows = vec![flow(1, 1, 10, 0), flow(2, 2, 2, 0), flow(3, 3, 2, 0)];
    // The first is heavy after 4 units, headers included. Then the second has half until it is done at 8, then the third.
    let heavy = Some(Bytes::new(4 * 1_500_000));
    assert_close(&ends(Fifo(heavy), flows), &[14.0, 8.0, 12.0]);
}

#[test]
fn what_remains_least_goes_first() {
    // The second comes when the first has 3 left, the third when the second has 1.
    let flows = vec![flow(1, 0, 4, 0), flow(2, 0, 2, 1), flow(3, 0, 3, 2)];
    assert_close(&ends(Srpt, flows), &[6.0, 3.0, 9.0]);
}

/// When a flow of 6 units comes, one of 10 has 5 left, and goes on. A third has the link full all the time.
#[test]
fn what_is_under_way_is_ranked_by_what_it_has_left() {
    let flows = vec![flow(1, 0, 10, 0), flow(2, 0, 30, 0), flow(3, 0, 6, 5)];
    assert_close(&ends(Srpt, flows), &[10.0, 46.0, 16.0]);
}

#[test]
fn a_fixed_setup_puts_off_first_bytes() {
    let feed = vec![flow(1, 0, 4, 0), flow(2, 0, 2, 3)].into();
    let setup = Setup::Fixed(Time::from_ms(12));
    let fabric = star();
    let mut world = World::new(Box::new(Fair), ALL, &fabric, TransportParams::default(), feed, setup, None);
    let _ = world.run(&mut |_| ControlFlow::Continue(()));
    let units = |time: Option<Time>| time.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3 / UNIT_MS);
    let fcts: Vec<f64> = world.into_outcome().flows.iter().map(|flow| units(flow.fct())).collect();
    // Bytes flow from 1 and from 4 on, when the first has one unit left: until 6 it shares, then the second is alone.
    assert_close(&fcts, &[6.0, 4.0]);
}

/// Rates take effect a unit after what changes them.
#[test]
fn with_late_feedback_links_are_shared_late_and_idle_for_as_long() {
    let feed = vec![flow(1, 0, 4, 0), flow(2, 0, 1, 2)].into();
    let (fabric, transport) = (star(), TransportParams::default());
    let world = World::new(Box::new(Fair), ALL, &fabric, transport, feed, Setup::Fixed(Time::ZERO), None);
    let mut world = world.with_feedback_delay(Time::from_ms(12));
    assert_eq!(world.run(&mut |_| ControlFlow::Continue(())), Ending::Finished);
    let ends = world
        .into_outcome()
        .flows
        .iter()
        .map(|flow| flow.end.as_secs_f64() * 1e3 / UNIT_MS)
        .collect::<Vec<_>>();
    // From 1 to 3 the first is alone, then both have a half until the second ends at 5; until 6 the first has no more.
    assert_close(&ends, &[6.5, 5.0]);
}

/// Two flows fit through the core; the third fills it, when 4 units of the first and 7 of the second are left.
#[test]
fn where_a_link_fills_later_what_remains_by_then_counts() {
    let core = "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 3\nhost_rate = \"1Gbps\"\nspine_rate = \"2Gbps\"";
    let across = |from, units, start| FlowSpec { dst: from + 3, ..flow(from, 0, units, start) };
    let flows = vec![across(0, 10, 0), across(1, 8, 5), across(2, 6, 6)];
    let outcome = run(Srpt, &fabric_of(core), flows.into());
    let ends: Vec<f64> = outcome.flows.iter().map(|flow| flow.end.as_secs_f64() * 1e3 / UNIT_MS).collect();
    assert_close(&ends, &[10.0, 17.0, 12.0]);
}

#[test]
fn flows_sink_through_queues_as_they_send() {
    // The first sinks at 2, is overtaken at 3 by the second until that sinks as well, and both end in the third queue.
    let flows = || vec![flow(1, 0, 5, 0), flow(2, 0, 4, 3)];
    // 0–3 the first (3 sent, third queue); 3–6 the second (3 sent); then both share: 1 left of the second, 2 of the first.
    assert_close(&ends(Queues(Sinking), flows()), &[9.0, 8.0]);
    // A third that comes when both are down there goes before them.
    let third = flow(3, 0, 1, 6);
    assert_close(&ends(Queues(Sinking), [flows(), vec![third]].concat()), &[10.0, 9.0, 7.0]);
}

#[test]
fn a_flow_with_a_deadline_takes_just_what_it_needs() {
    let due = |flow: FlowSpec, units: u64| {
        let deadline = Some(Time::from_ms(units * 12));
        FlowSpec { deadline, reveals: Reveals::Deadline, ..flow }
    };
    // Half of the link by 8 leaves half to the second; then there is no reason to be faster.
    let flows = vec![due(flow(1, 0, 4, 0), 8), flow(2, 0, 2, 0)];
    assert_close(&ends(JustInTime, flows), &[8.0, 4.0]);
    // Two that need 0.6 and 0.5 have a half each until the second has ended; then the first needs, and gets, 2/3.
    let flows = vec![due(flow(1, 0, 3, 0), 5), due(flow(2, 0, 1, 0), 2), flow(3, 0, 2, 0)];
    assert_close(&ends(JustInTime, flows), &[5.0, 2.0, 6.0]);
    // Who is late has no reason to hold back, and shares with those who are not.
    let flows = vec![due(flow(1, 0, 2, 0), 1), due(flow(2, 0, 2, 0), 1)];
    assert_close(&ends(JustInTime, flows), &[4.0, 4.0]);
}

/// A flow over three links of a row, and others over one each, two of them over the second: the second is its bottleneck,
/// which all three share; whoever has another link besides it takes two thirds of that (Bertsekas and Gallager 1987, §6.5.2).
#[test]
fn along_a_row_the_narrowest_link_decides() {
    let row = "kind = \"parking-lot\"\nswitches = 4\nhosts_per_switch = 3\nhost_rate = \"10Gbps\"\nrow_rate = \"1Gbps\"";
    let flow = |src, dst, units| FlowSpec { src, dst, size: Bytes::new(units * UNIT), ..FlowSpec::default() };
    let flows = vec![flow(0, 9, 5), flow(1, 3, 4), flow(4, 6, 3), flow(5, 7, 1), flow(8, 10, 8)];
    let outcome = run(Fair, &fabric_of(row), flows.into());
    let ends: Vec<f64> = outcome.flows.iter().map(|flow| flow.end.as_secs_f64() * 1e3 / UNIT_MS).collect();
    // By 3 the fourth is done, the long flow has 1 of 5, the second 2 of 4 and the last 2 of 8. Then the long flow has a
    // half of every link: by 7 the second and third are done, and the last has 4 of 8. It and the long flow, with 2 to go,
    // share the last link until 11, when the last has 2 to go.
    assert_close(&ends, &[11.0, 7.0, 7.0, 3.0, 13.0]);
}

#[test]
fn a_lone_flow_takes_as_long_as_its_packets_would() {
    let far = "preset = \"spine144\"";
    let narrow =
        "kind = \"dumbbell\"\nleft = 2\nright = 2\nhost_rate = \"10Gbps\"\nbottleneck_rate = \"1Gbps\"";
    let transport = TransportParams::default();
    let flows = [(far, 0, 1, 1), (far, 0, 143, 1460), (far, 3, 100, 1_000_000), (narrow, 0, 2, 1_000_000)];
    for (fabric, src, dst, size) in flows {
        let fabric = fabric_of(fabric);
        let spec = FlowSpec { src, dst, size: Bytes::new(size), ..FlowSpec::default() };
        let feed = vec![spec].into();
        let mut world = World::new(Box::new(Fair), ALL, &fabric, transport, feed, Setup::Packets, None);
        let _ = world.run(&mut |_| ControlFlow::Continue(()));
        let fct = world.into_outcome().flows.of(0).fct().unwrap();
        let ideal = fabric.ideal_fct(src, dst, 0, Bytes::new(size), &transport, 40);
        assert!(fct.as_ps().abs_diff(ideal.as_ps()) <= 2, "{fct} is not {ideal}");
    }
}

/// Flows of any size that come at random to one link, of which they have an equal part each, take size/(C(1 - ρ)) on
/// average (Kleinrock 1976, §4.4): the size's distribution does not matter.
#[test]
fn one_link_is_a_processor_that_is_shared() {
    for sizes in ["{ fixed = \"100KB\" }", "{ pareto = { shape = 1.5, min = \"20KB\", max = \"2MB\" } }"] {
        let text = format!(
            "[fabric]\nkind = \"star\"\nhosts = 30\nhost_rate = \"1Gbps\"\n[scheme]\nname = \"rcp\"\n[workload]\n\
             sizes = {sizes}\nload = 0.7\nflows = 60000\npattern = \"pairs\"\nto = [0]\nfrom = [{}]",
            (1..30).map(|host| host.to_string()).collect::<Vec<_>>().join(", ")
        );
        let scenario = Scenario::parse(&text).unwrap();
        let outcome = run(
            Fair,
            &scenario.fabric.build(),
            Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed).unwrap(),
        );
        let stretch = |f: tailrace_core::FlowRecord| {
            let alone = (f.size.get() + f.size.get().div_ceil(1460) * 40) as f64 / 1.25e8;
            (f.fct().unwrap().as_secs_f64(), alone)
        };
        let (taken, alone) =
            outcome.flows.iter().map(stretch).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let ratio = taken / alone;
        assert!((ratio * 0.3 - 1.0).abs() < 0.05, "{sizes}: {ratio} is not 1/(1 - 0.7)");
    }
}

#[test]
fn every_byte_passes_every_link_of_its_way() {
    let text = "[fabric]\npreset = \"spine144\"\nload_balancing = \"ecmp\"\n[scheme]\nname = \"rcp\"\n[workload]\nsizes = \"web-search\"\n\
                load = 0.6\nflows = 2000";
    let scenario = Scenario::parse(text).unwrap();
    let fabric = scenario.fabric.build();
    let rules: [Box<dyn RateRule>; 4] = [
        Box::new(Fair),
        Box::new(Srpt),
        Box::new(Queues(Sinking)),
        Box::new(Fifo(Some(Bytes::new(1_000_000)))),
    ];
    for rule in rules {
        let feed = Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed).unwrap();
        let transport = TransportParams::default();
        let mut world = World::new(rule, ALL, &fabric, transport, feed, Setup::Packets, None);
        assert_eq!(world.run(&mut |_| ControlFlow::Continue(())), Ending::Finished);
        let outcome = world.into_outcome();
        let wire = |f: &tailrace_core::FlowRecord| f.size.get() + f.size.get().div_ceil(1460) * 40;
        let mut expected = vec![0; fabric.ports.len()];
        for (id, flow) in outcome.flows.iter().enumerate() {
            let path = fabric.hashed_path(flow.src, flow.dst, id as u32);
            path.for_each(|port| expected[port as usize] += wire(&flow));
        }
        assert!(outcome.ports.iter().map(|port| port.sent.bytes).eq(expected));
    }
}
