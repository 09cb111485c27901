//! A port that Poisson arrivals of equal packets meet is an M/D/1 queue: mean waiting times against theory,
//! first come first served and with strict priorities.

use tailrace_core::random::Stream;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, Facts, FlowInfo, FlowRecord, FlowView,
    HEADER_BYTES, HostPolicy, Knowledge, Loss, ParamError, PortFacts, Rate, Reveals, Scheme, TagTable, Time,
};
use tailrace_fabric::{Dumbbell, Fabric, LoadBalancing};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams};
use tailrace_workload::FlowSpec;

use crate::setup::{ENDLESS, MSS, Setup};

/// Hosts that share the arrivals. Their links are 40 times as fast as the bottleneck, so that a packet waits
/// at its own network card for less than 10⁻⁵ of its time at the bottleneck.
const SOURCES: u32 = 64;
const SINK: u32 = SOURCES;
/// A full packet's time at the bottleneck.
const SERVICE: Time = Time::from_ns(1_200);

/// The 99.5th percentile of Student's t with 49 degrees of freedom: half of a 99 % confidence interval of 50
/// batch means, in standard errors.
const STUDENT: f64 = 2.680;
const BATCHES: usize = 50;

/// Any deadline: that there is one tells [`TwoClasses`] that a flow is urgent.
const DEADLINE: Time = Time::from_ps(1);

fn bottleneck() -> Fabric {
    let dumbbell = Dumbbell {
        left: SOURCES as u16,
        right: 1,
        host_rate: Rate::from_gbps(400),
        bottleneck_rate: Rate::from_gbps(10),
        host_delay: Time::from_us(1),
        bottleneck_delay: Time::from_us(1),
    };
    dumbbell.build(LoadBalancing::Ecmp, ENDLESS)
}

/// Flows of one packet each that load the bottleneck by `load`. A share of them is urgent.
fn arrivals(load: f64, urgent: f64, flows: usize) -> Vec<FlowSpec> {
    let mut gaps = Stream::new(1, "gaps", 0);
    let mut sources = Stream::new(1, "sources", 0);
    let mut classes = Stream::new(1, "classes", 0);
    let mut now = 0.0;
    let mut arrival = || {
        now += gaps.exponential() * SERVICE.as_secs_f64() / load;
        FlowSpec {
            src: sources.below(SOURCES),
            dst: SINK,
            size: Bytes::new(MSS),
            start: Time::from_secs_f64(now),
            deadline: (classes.unit() < urgent).then_some(DEADLINE),
            reveals: Reveals::Deadline,
            ..FlowSpec::default()
        }
    };
    (0..flows).map(|_| arrival()).collect()
}

/// How long each flow's packet waited, in service times.
fn waits<'a>(setup: &Setup, records: impl Iterator<Item = &'a FlowRecord>) -> Vec<f64> {
    let ideal = setup.fabric.ideal_fct(0, SINK, 0, Bytes::new(MSS), &setup.transport, HEADER_BYTES);
    let wait = |record: &FlowRecord| record.fct().map(|fct| (fct - ideal).as_secs_f64());
    records.filter_map(wait).map(|wait| wait / SERVICE.as_secs_f64()).collect()
}

/// Mean and half of its 99 % confidence interval, from the means of consecutive batches.
fn batch_means(values: &[f64]) -> (f64, f64) {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let batches: Vec<f64> = values.chunks_exact(values.len() / BATCHES).take(BATCHES).map(mean).collect();
    let middle = mean(&batches);
    let squares: f64 = batches.iter().map(|batch| (batch - middle).powi(2)).sum();
    let deviation = (squares / (BATCHES - 1) as f64).sqrt();
    (middle, STUDENT * deviation / (BATCHES as f64).sqrt())
}

/// Asserts that the mean of `waits` agrees with theory, and that there are enough of them to tell.
fn assert_mean(waits: &[f64], theory: f64, what: &str) {
    let (mean, half) = batch_means(waits);
    assert!(
        (mean - theory).abs() <= half,
        "{what}: waits {mean:.4} ± {half:.4} services, theory {theory:.4}"
    );
    assert!(half < 0.06 * theory, "{what}: ± {half:.4} tells little about {theory:.4}");
}

#[test]
fn waits_are_those_of_an_m_d_1_queue() {
    for (load, flows) in [(0.3, 200_000), (0.5, 200_000), (0.7, 300_000), (0.8, 500_000), (0.9, 1_500_000)] {
        let setup = Setup::new(bottleneck(), arrivals(load, 0.0, flows));
        let run = setup.run("fifo", "");
        assert_eq!(run.ledger.dropped().packets, 0);
        // Pollaczek and Khinchine, with constant service times.
        assert_mean(&waits(&setup, run.records.iter()), load / (2.0 * (1.0 - load)), &format!("load {load}"));
    }
}

#[test]
fn strict_priority_waits_are_cobhams() {
    for (urgent, other) in [(0.2, 0.3), (0.4, 0.4), (0.2, 0.65), (0.7, 0.15)] {
        let load = urgent + other;
        let setup = Setup::new(bottleneck(), arrivals(load, urgent / load, 1_000_000));
        let run = setup.run_scheme(TwoClasses);
        let is_urgent = |record: &&FlowRecord| record.deadline == DEADLINE;
        // What an arrival finds being sent takes load/2 more on average; Cobham (1954) for two classes.
        let residual = load / 2.0;
        let what = |class: &str| format!("{class} packets at loads {urgent} and {other}");
        assert_mean(
            &waits(&setup, run.records.iter().filter(is_urgent)),
            residual / (1.0 - urgent),
            &what("urgent"),
        );
        let patient = residual / ((1.0 - urgent) * (1.0 - load));
        assert_mean(
            &waits(&setup, run.records.iter().filter(|record| !is_urgent(record))),
            patient,
            &what("other"),
        );
    }
}

/// Two strict priorities: flows with a deadline go first.
struct TwoClasses;

/// Tags flows without a deadline as less urgent, from their first byte on.
struct ByDeadline;

/// One segment in flight: no flow has more.
struct OneSegment;

impl CongestionLaw for OneSegment {
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(MSS), pacing: None }
    }
}

impl HostPolicy for ByDeadline {
    fn directive(&self, flow: &FlowInfo) -> Directive {
        let less_urgent = TagTable::with_limits(&[Bytes::ZERO]);
        Directive::tagged(if flow.deadline.is_some() { TagTable::FLAT } else { less_urgent })
    }
}

impl Scheme for TwoClasses {
    const NAME: &'static str = "two-classes";
    const SUMMARY: &'static str = "flows with a deadline go first";
    const SOURCE: &'static str = "this test";
    const KNOWS: Knowledge = Knowledge { sizes: false, deadlines: true };
    type Params = ();
    type Header = ();
    type Law = OneSegment;
    type Host = ByDeadline;
    type Port = MultiQueue;

    fn new((): (), _: &Facts) -> Result<Self, ParamError> {
        Ok(TwoClasses)
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> OneSegment {
        OneSegment
    }
    fn host(&self) -> ByDeadline {
        ByDeadline
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        let params = PortParams { queues: 2, marking: MarkingScope::None, ..PortParams::default() };
        MultiQueue::new(&params, port)
    }
}
