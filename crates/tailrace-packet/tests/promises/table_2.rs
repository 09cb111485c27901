//! What Baraat says of itself and of others in its table 2, measured: with nobody else there, and before a queue of tasks.

use tailrace_core::transport::{LossDetection, RtoMode, TransportParams};
use tailrace_core::{Bytes, HostId, Time};
use tailrace_fabric::{Buffer, Fabric};
use tailrace_workload::FlowSpec;

use crate::baraat::of_task;
use crate::rates::dumbbell;
use crate::setup::{Setup, fabric, flow};

/// Bytes that 10 Gbps carry in a microsecond.
const LINK_US: f64 = 1_250.0;
/// Endless, as far as these runs go.
const LONG: u64 = 1 << 32;

/// A scheme with parameters.
type Choice = (&'static str, &'static str);
/// A task of 10 MB is heavy.
const LIMITED: Choice = ("baraat", "heavy = \"10MB\"");
const FIFO: Choice = ("baraat", "order = \"fifo\"");

/// So many base round trips of the [`dumbbell`].
fn rounds(n: u64) -> Time {
    dumbbell(1).base_rtt() * n
}

/// The run of flows to different hosts. pFabric has the buffers and timers that it is made for (pFabric §5.1).
fn race(scheme: &str, mut fabric: Fabric, flows: Vec<FlowSpec>) -> Setup {
    let mut transport = TransportParams::default();
    if scheme == "pfabric" {
        fabric.buffer = Buffer::PerPort(Bytes::new(212_000));
        transport.min_rto = Time::from_us(250);
        transport.rto = RtoMode::Fixed;
        transport.loss_detection = LossDetection::TimeoutOnly;
    }
    Setup { transport, ..Setup::new(fabric, flows) }
}

/// What each host has received until then, in bytes.
fn received(setup: &Setup, (scheme, params): Choice, until: Time) -> Vec<f64> {
    let run = Setup { horizon: Some(until), ..setup.clone() }.run(scheme, params);
    let bytes = |host| {
        let from = |switch| setup.fabric.port_named(&format!("{switch}->host{host}"));
        let port = ["left", "right"].into_iter().find_map(from);
        port.map_or(0.0, |port| run.ports[port as usize].sent.bytes as f64)
    };
    (0..setup.fabric.hosts).map(bytes).collect()
}

/// What each host receives in a span, as a share of 10 Gbps.
fn shares(choice: Choice, fabric: Fabric, flows: Vec<FlowSpec>, from: Time, to: Time) -> Vec<f64> {
    let setup = race(choice.0, fabric, flows);
    let link = to.saturating_sub(from).as_secs_f64() * 1e6 * LINK_US;
    let (before, after) = (received(&setup, choice, from), received(&setup, choice, to));
    std::iter::zip(after, before).map(|(after, before)| (after - before) / link).collect()
}

/// Tasks of three flows each that wait for the link that `pairs` others share, from hosts of their own; they are
/// all later than these.
fn queue(pairs: HostId, tasks: u32) -> impl Iterator<Item = FlowSpec> {
    let one = move |n: u32| flow(pairs + n, 2 * pairs + 3 + n, LONG, rounds(1));
    (100..100 + tasks).flat_map(move |task| (0..3).map(move |n| of_task(task, one(n))))
}

/// A dumbbell for that, and where the receiver of its n-th pair is.
fn beside_a_queue(pairs: HostId) -> (Fabric, impl Fn(u32) -> u32) {
    (dumbbell(pairs + 3), move |n| pairs + 3 + n)
}

/// The share of an earlier task against a later one, which was there before, and those behind it.
fn strict_priority(choice: Choice, waiting: u32) -> f64 {
    let (fabric, right) = beside_a_queue(2);
    let later = of_task(2, flow(0, right(0), LONG, Time::ZERO));
    let earlier = of_task(1, flow(1, right(1), LONG, rounds(20)));
    let flows = [later, earlier].into_iter().chain(queue(2, waiting)).collect();
    shares(choice, fabric, flows, rounds(60), rounds(200))[(right(1)) as usize]
}

/// Jain's index of eight flows of one task, before those that wait.
fn fair_sharing(choice: Choice, waiting: u32) -> f64 {
    let (fabric, right) = beside_a_queue(8);
    let flows = (0..8).map(|i| of_task(1, flow(i, right(i), LONG, Time::ZERO)));
    let all = shares(choice, fabric, flows.chain(queue(8, waiting)).collect(), rounds(20), rounds(100));
    let shares = &all[((right(0)) as usize)..(right(8)) as usize];
    shares.iter().sum::<f64>().powi(2) / (8.0 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// The shares of a heavy task, of a light one behind it, and of all behind that: a round trip carries 106 KB, so
/// that the first is heavy after 94 round trips, and the second not yet after another 160.
fn heavy_support(choice: Choice, waiting: u32) -> [f64; 3] {
    let (fabric, right) = beside_a_queue(3);
    let start = [0, 100, 105].map(rounds);
    let task = |i: u32| of_task(i + 1, flow(i, right(i), LONG, start[i as usize]));
    // The queue comes when the first is heavy, or it would become heavy itself before the second is there.
    let queue = queue(3, waiting).map(|flow| FlowSpec { start: rounds(110), ..flow });
    let flows = (0..3).map(task).chain(queue).collect();
    let shares = shares(choice, fabric, flows, rounds(160), rounds(260)).split_off((right(0)) as usize);
    [shares[0], shares[1], shares[2..].iter().sum()]
}

/// Of three links in a row, the second has a quarter of the others' rate, and the first task fills that: what later
/// tasks get of the first link, and of the last, as shares of what the first task leaves there, from three round trips
/// after they have started to ten. Those who wait do so for one link, for the other, and for all three.
fn work_conservation(choice: Choice, waiting: u32) -> [f64; 2] {
    let narrow = fabric(
        r#"kind = "dumbbell"
        left = 2
        right = 2
        host_rate = "10Gbps"
        bottleneck_rate = "2.5Gbps"
        host_delay = "20.2us"
        bottleneck_delay = "0.2us""#,
    );
    let start = rounds(20);
    let behind = |task| [(0, 1), (3, 2), (0, 2)].map(|(src, dst)| of_task(task, flow(src, dst, LONG, start)));
    let flows = [
        of_task(1, flow(0, 2, LONG, Time::ZERO)),
        of_task(2, flow(0, 1, LONG, start)),
        of_task(3, flow(3, 2, LONG, start)),
    ];
    let flows = flows.into_iter().chain((100..100 + waiting).flat_map(behind)).collect();
    let shares = shares(choice, narrow, flows, start + rounds(3), start + rounds(10));
    // Host 2 receives the first task as well.
    [shares[1] / 0.75, (shares[2] - 0.25) / 0.75]
}

/// The share of a task of a link that a later one has filled, from two round trips after its start to five; its bytes
/// take half a round trip to be there.
fn preemption(choice: Choice, waiting: u32) -> f64 {
    let (fabric, right) = beside_a_queue(2);
    let start = rounds(20);
    let later = of_task(2, flow(0, right(0), LONG, Time::ZERO));
    let earlier = of_task(1, flow(1, right(1), LONG, start));
    let flows = [later, earlier].into_iter().chain(queue(2, waiting)).collect();
    let there = start + Time::from_ps(rounds(1).as_ps() / 2);
    shares(choice, fabric, flows, there + rounds(2), there + rounds(5))[(right(1)) as usize]
}

/// With nobody else there, and before twenty tasks of three flows that wait, whose requests take a sixteenth of a link at most.
#[test]
fn baraat_has_all_properties_of_table_2() {
    for (waiting, requests) in [(0, 0.0), (20, 1.0 / 16.0)] {
        let strict = strict_priority(FIFO, waiting);
        let jain = fair_sharing(LIMITED, waiting);
        let [heavy, light, behind] = heavy_support(LIMITED, waiting);
        let leftovers = work_conservation(FIFO, waiting);
        let preempted = preemption(FIFO, waiting);
        println!(
            "{waiting} wait: {strict:.2} {jain:.3} {heavy:.2} {light:.2} {behind:.2} {leftovers:.2?} {preempted:.2}"
        );
        assert!(strict > 0.97 - requests, "{strict} of the link for the earlier task");
        assert!(jain > 0.98, "Jain's index is {jain}");
        let split =
            (0.45..0.52).contains(&heavy) && (0.45..0.52).contains(&light) && behind < 0.02 + requests;
        assert!(split, "{heavy} for a heavy task, {light} for the next, {behind} for those behind");
        // In so short a span a packet is a five hundredth.
        assert!(leftovers.iter().all(|share| (0.9..1.002).contains(share)), "{leftovers:?} of what is left");
        assert!(preempted > 0.93 - requests, "{preempted} of the link from two round trips on");
    }
}

/// What table 2 says of others, measured as above; `--nocapture` prints it. Nobody shares a link between a heavy
/// task and the next one only: either all three have a part, or the first has all.
#[test]
fn other_schemes_lack_properties_of_table_2() {
    for (choice, is_strict, is_fair) in [
        (("dctcp", ""), false, true),
        (("rcp", "router = \"exact\""), false, true),
        (("d3", ""), false, true),
        (("pfabric", "rank = \"edf\""), true, true),
        (("pdq", ""), true, false),
    ] {
        let (strict, jain, heavy) =
            (strict_priority(choice, 0), fair_sharing(choice, 0), heavy_support(choice, 0));
        let (conserving, preempted) = (work_conservation(choice, 0), preemption(choice, 0));
        println!("{choice:?}: {strict:.2} {jain:.3} {heavy:.2?} {conserving:.2?} {preempted:.2}");
        assert_eq!(
            (strict > 0.9, jain > 0.9, preempted > 0.9),
            (is_strict, is_fair, is_strict),
            "{choice:?}"
        );
        // What its rates tend to is max-min fair: all of what a flow leaves that is limited elsewhere.
        assert!(choice.0 != "rcp" || conserving.iter().all(|share| *share > 0.9), "{conserving:?}");
        let is_limited = heavy[1] > 0.4 && heavy[2] < 0.05;
        assert!(!is_limited, "{choice:?}: {heavy:?}");
    }
}
