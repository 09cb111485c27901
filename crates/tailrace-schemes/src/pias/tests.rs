//! The multi-level model against numbers found independently, and where the packets of a flow go.

use super::model::{Model, optimal};
use super::*;
use proptest::prelude::*;
use tailrace_core::{HostPolicy, Rate, SizeDistribution, Time, Traffic};

const MSS: f64 = 1460.0;

/// Points in packets of 1460 bytes.
fn sizes(points: &[(f64, f64)]) -> SizeDistribution {
    SizeDistribution::new(points.iter().map(|&(packets, p)| (packets * MSS, p)).collect()).unwrap()
}

fn web_search() -> SizeDistribution {
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

fn data_mining() -> SizeDistribution {
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

/// Mean completion time with so many levels, in packet times.
fn best(sizes: &SizeDistribution, load: f64, levels: usize) -> f64 {
    optimal(sizes, load, levels).mean / MSS
}

/// Packets up to the only threshold of two levels.
fn boundary(sizes: &SizeDistribution, load: f64) -> f64 {
    optimal(sizes, load, 2).thresholds[0].as_f64() / MSS
}

fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
}

/// Found by differential evolution over quantiles, in an implementation of its own.
#[test]
fn the_model_gives_known_numbers() {
    for (sizes, load, one, two, eight) in [
        (web_search(), 0.5, 4_775.0, 2_361.0, 2_071.0),
        (web_search(), 0.8, 15_678.0, 5_887.0, 4_463.0),
        (web_search(), 0.9, 33_850.0, 11_270.0, 7_964.0),
        (data_mining(), 0.5, 171_802.0, 13_589.0, 8_465.0),
        (data_mining(), 0.8, 671_858.0, 29_121.0, 17_445.0),
    ] {
        assert_close(Model::new(&sizes, load).mean(&[]) / MSS, one, 1e-3);
        assert_close(best(&sizes, load, 1), one, 1e-3);
        assert_close(best(&sizes, load, 2), two, 1e-3);
        assert_close(best(&sizes, load, 8), eight, 2e-3);
    }
}

#[test]
fn boundaries_lie_at_kinks_of_the_distribution() {
    assert_eq!(boundary(&web_search(), 0.5), 1333.0);
    assert_eq!(boundary(&web_search(), 0.8), 1333.0);
    assert_eq!(boundary(&web_search(), 0.9), 3333.0);
    assert_close(boundary(&data_mining(), 0.8), 66_647.0, 0.02);
}

#[test]
fn the_plan_costs_what_the_model_says_of_its_thresholds() {
    let plan = optimal(&web_search(), 0.7, 8);
    let thresholds: Vec<f64> = plan.thresholds.iter().map(|t| t.as_f64()).collect();
    assert_close(Model::new(&web_search(), 0.7).mean(&thresholds), plan.mean, 1e-6);
}

#[test]
fn where_sizes_tell_nothing_one_level_is_best() {
    // Uniform from 1 KB to 10 MB: the longer a flow has sent, the sooner it ends.
    let long_flow = SizeDistribution::new(vec![(1e3, 0.0), (1e7, 1.0)]).unwrap();
    let plan = optimal(&long_flow, 0.8, 8);
    assert_close(plan.mean / MSS, 12_557.0, 1e-3);
    assert_eq!(plan.thresholds, [Bytes::new(10_000_000); 7]);
}

#[test]
fn the_authors_thresholds_are_worse_by_this_model() {
    for (load, theirs) in [(0.5, 2_329.0), (0.8, 5_724.0), (0.9, 11_490.0)] {
        let table = published("web-search", load).unwrap();
        let thresholds: Vec<f64> = table.iter().map(|t| t.as_f64()).collect();
        assert_close(Model::new(&web_search(), load).mean(&thresholds) / MSS, theirs, 2e-3);
    }
}

proptest! {
    #[test]
    fn no_thresholds_beat_the_plan(load in 0.05f64..0.95, mut cuts in prop::array::uniform3(0.0f64..1.0)) {
        cuts.sort_unstable_by(f64::total_cmp);
        let sizes = web_search();
        let thresholds = cuts.map(|u| sizes.quantile(u));
        let model = Model::new(&sizes, load);
        // The grid is 0.17 % of quantiles apart.
        prop_assert!(optimal(&sizes, load, 4).mean <= model.mean(&thresholds) * 1.001);
    }
}

fn scheme(thresholds: Thresholds, queues: u8, traffic: Option<Traffic>) -> Result<Pias, ParamError> {
    let facts = Facts {
        hosts: 2,
        host_rate: Rate::from_gbps(10),
        base_rtt: Time::from_us(85),
        transport: TransportParams::default(),
        traffic,
    };
    let port = PortParams { queues, ..PortParams::default() };
    Pias::new(Params { thresholds, port, ..Params::default() }, &facts)
}

/// How many of the first `packets` of a flow go to each queue.
fn spread(scheme: &Pias, packets: u64) -> [u64; 8] {
    let tags = scheme.host().directive(&FlowInfo { id: 0, size: None, deadline: None }).tags;
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
    let traffic = |load| Some(Traffic { sizes: web_search(), workload: None, load });
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
