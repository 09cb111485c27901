//! Thresholds in packets, where the packets of a flow go, and what is refused.

use super::model::{Model, optimal};
use super::*;
use tailrace_core::{Directive, FlowView, HostPolicy, Rate, SizeDistribution, Time, Traffic};

const MSS: f64 = 1460.0;

/// Points in packets of 1460 bytes.
fn sizes(points: &[(f64, f64)]) -> SizeDistribution {
    SizeDistribution::new(points.iter().map(|&(packets, p)| (packets * MSS, p)).collect()).unwrap()
}

/// DCTCP, SIGCOMM 2010.
pub(crate) fn web_search() -> SizeDistribution {
    sizes(&[
        (6.0, 0.0),
        (6.0, 0.15),
        (13.0, 0.2),
        (19.0, 0.3),
        (33.0, 0.4),
        (53.0, 0.53),
        (133.0, 0.6),
        (667.0, 0.7),
        (1333.0, 0.8),
        (3333.0, 0.9),
        (6667.0, 0.97),
        (20000.0, 1.0),
    ])
}

/// VL2, SIGCOMM 2009.
pub(crate) fn data_mining() -> SizeDistribution {
    sizes(&[
        (1.0, 0.0),
        (1.0, 0.5),
        (2.0, 0.6),
        (3.0, 0.7),
        (7.0, 0.8),
        (267.0, 0.9),
        (2107.0, 0.95),
        (66667.0, 0.99),
        (666667.0, 1.0),
    ])
}

/// Packets up to the only threshold of two levels.
fn boundary(sizes: &SizeDistribution, load: f64) -> f64 {
    optimal(sizes, load, 2).thresholds[0].as_f64() / MSS
}

fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
}

#[test]
fn boundaries_lie_at_kinks_of_the_distribution() {
    assert_eq!(boundary(&web_search(), 0.5), 1333.0);
    assert_eq!(boundary(&web_search(), 0.8), 1333.0);
    assert_eq!(boundary(&web_search(), 0.9), 3333.0);
    assert_close(boundary(&data_mining(), 0.8), 66_647.0, 0.02);
}

#[test]
fn the_authors_thresholds_are_worse_by_this_model() {
    for (load, worse) in [(0.5, 0.12), (0.8, 0.28), (0.9, 0.44)] {
        let table = published("web-search", load).unwrap();
        let thresholds: Vec<f64> = table.iter().map(|t| t.as_f64()).collect();
        let theirs = Model::new(&web_search(), load).mean(&thresholds);
        let found = theirs / optimal(&web_search(), load, 8).mean - 1.0;
        assert!((found - worse).abs() < 0.01, "{found} at load {load}");
    }
}

fn scheme(thresholds: Thresholds, queues: u8, traffic: Option<Traffic>) -> Result<Pias, ParamError> {
    let facts = Facts { traffic, ..Facts::new(2, Rate::from_gbps(10), Time::from_us(85), 4) };
    let port = PortParams { queues, ..PortParams::default() };
    Pias::new(Params { thresholds, port, ..Params::default() }, &facts)
}

/// A flow of unknown size to host 1.
fn flow(src: HostId) -> FlowInfo {
    FlowInfo { id: 0, src, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 }
}

/// How many of the first `packets` of a flow go to each queue.
fn spread(scheme: &Pias, packets: u64) -> [u64; 8] {
    let tags = scheme.host().directive(&flow(0)).tags;
    let mut queues = [0; 8];
    (0..packets).for_each(|packet| queues[usize::from(tags.priority(packet * 1460))] += 1);
    queues
}

#[test]
fn a_packet_that_exactly_a_threshold_precedes_stays() {
    let scheme = scheme(Thresholds::Given(vec![Bytes::new(14_600)]), 2, None).unwrap();
    assert_eq!(spread(&scheme, 20), [11, 9, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn thresholds_follow_the_traffic_that_is_planned() {
    let traffic = |load| Some(Traffic { sizes: web_search(), workload: None, load, classes: vec![] });
    let optimal = || Thresholds::Named(Optimal::Optimal);
    let first = |load| spread(&scheme(optimal(), 2, traffic(load)).unwrap(), 10_000)[0];
    assert_eq!((first(0.8), first(0.9)), (1334, 3334));
    let published = Thresholds::Published { published: "web-search".into(), load: None };
    assert_eq!(spread(&scheme(published, 8, traffic(0.78)).unwrap(), 1000)[0], 910);
}

#[test]
fn what_is_missing_is_said() {
    let error = |thresholds| scheme(thresholds, 8, None).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        error(Thresholds::Named(Optimal::Optimal)),
        "thresholds: \"optimal\" needs a workload with sizes and a load; give a list"
    );
    let published = |name: &str, load| Thresholds::Published { published: name.into(), load };
    assert!(error(published("web-search", None)).starts_with("thresholds: a published table needs"));
    assert_eq!(
        error(published("cache", Some(0.5))),
        "thresholds.published: no table for \"cache\"; there are web-search, data-mining"
    );
}

fn fitted(fitted: &str, load: f64) -> Thresholds {
    Thresholds::Fitted { fitted: fitted.into(), load }
}

#[test]
fn thresholds_may_be_fitted_to_other_traffic_than_the_scenario_plans() {
    let traffic = Traffic { sizes: data_mining(), workload: None, load: 0.5, classes: vec![] };
    let facts = Facts {
        traffic: Some(traffic),
        published_sizes: |name| (name == "web-search").then(web_search),
        ..Facts::new(2, Rate::from_gbps(10), Time::from_us(85), 4)
    };
    let resolve = |thresholds: Thresholds| thresholds.resolve("thresholds", 2, &facts);
    assert_eq!(resolve(fitted("web-search", 0.9)), Ok(vec![Bytes::new(3333 * 1460)]));
    let error = |thresholds| resolve(thresholds).unwrap_err().to_string();
    assert_eq!(
        error(fitted("mining", 0.9)),
        "thresholds.fitted: there is no workload \"mining\"; tailrace workloads lists them"
    );
    assert_eq!(
        error(fitted("web-search", 0.0)),
        "thresholds.load: 0 must lie between 0 and 1, both excluded"
    );
}

#[test]
fn ageing_starts_again_after_three_timeouts() {
    let params = Params {
        thresholds: Thresholds::Given(vec![Bytes::new(1_000), Bytes::new(2_000)]),
        ageing_timeouts: 3,
        liars: vec![9],
        port: PortParams { queues: 3, ..PortParams::default() },
        ..Params::default()
    };
    let facts = Facts::new(10, Rate::from_gbps(10), Time::from_us(85), 4);
    let host = Pias::new(params.clone(), &facts).unwrap().host();
    let acked =
        |bytes| FlowView { sent: Bytes::new(bytes), acked: Bytes::new(bytes), delivered: Bytes::new(bytes) };
    let priorities =
        |directive: &Directive| [0, 8_000, 9_000, 9_001, 10_001].map(|b| directive.tags.priority(b));
    let before = host.directive(&flow(0));
    assert_eq!(priorities(&before), [0, 2, 2, 2, 2]);
    assert_eq!(host.on_timeout(&flow(0), &acked(8_000), 2, &before), None);
    let aged = host.on_timeout(&flow(0), &acked(8_000), 3, &before).unwrap();
    assert_eq!(priorities(&aged), [0, 0, 0, 1, 2]);
    // What it has sent since counts; until then there is nothing to gain.
    assert_eq!(host.on_timeout(&flow(0), &acked(8_500), 6, &aged), None);
    let twice = host.on_timeout(&flow(0), &acked(9_500), 6, &aged).unwrap();
    assert_eq!(twice.tags.priority(10_500), 0);
    let never = Pias::new(Params { ageing_timeouts: 0, ..params }, &facts).unwrap().host();
    assert_eq!(never.on_timeout(&flow(0), &acked(8_000), 3, &before), None);
    // A host that lies is in the first queue for good.
    assert_eq!(priorities(&host.directive(&flow(9))), [0; 5]);
    assert_eq!(host.on_timeout(&flow(9), &acked(8_000), 3, &host.directive(&flow(9))), None);
}

/// What experiments/awafs/shifting.toml shows, by theory: thresholds for a mixture of web search, data mining and a
/// burst of mostly equal flows, against the optimum of each part, at a load of 0.8.
#[test]
fn eight_queues_serve_all_parts_of_a_mixture_and_three_do_not() {
    let burst = sizes(&[(14.0, 0.0), (14.0, 0.9), (1000.0, 0.9), (3000.0, 1.0)]);
    let parts = [(web_search(), 2.75), (data_mining(), 1.5), (burst, 0.75)];
    // Each lasts so many seconds at the same load: flows by the inverse of their mean size.
    let flows = |(sizes, seconds): &(SizeDistribution, f64)| seconds / sizes.mean();
    let all: f64 = parts.iter().map(flows).sum();
    const ATOMS: usize = 400;
    let mut atoms: Vec<(f64, f64)> = Vec::new();
    for part in &parts {
        let share = flows(part) / all / ATOMS as f64;
        atoms.extend((0..ATOMS).map(|i| (part.0.quantile((i as f64 + 0.5) / ATOMS as f64), share)));
    }
    atoms.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut points, mut below) = (Vec::new(), 0.0);
    for (size, share) in atoms {
        points.push((size, below));
        below = f64::min(below + share, 1.0);
        points.push((size, below));
    }
    let mixture = SizeDistribution::new(points).unwrap();
    let cost = |queues| -> Vec<f64> {
        let thresholds: Vec<f64> =
            optimal(&mixture, 0.8, queues).thresholds.iter().map(|threshold| threshold.as_f64()).collect();
        let over = |sizes| Model::new(sizes, 0.8).mean(&thresholds) / optimal(sizes, 0.8, queues).mean - 1.0;
        parts.iter().map(|(sizes, _)| over(sizes)).collect()
    };
    let eight = cost(8);
    assert!(eight.iter().all(|cost| (-0.01..0.1).contains(cost)), "{eight:?}");
    let three = cost(3);
    assert!(three[0] > 0.2 && three[2] > 2.0, "{three:?}");
}
