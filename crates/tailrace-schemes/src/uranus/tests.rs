//! Weights by hand.

use super::*;
use tailrace_core::{HostPolicy, Objective, Slice};

fn flow(slice: u32, from: u16, to: u16, metric: f64) -> Demand {
    Demand { slice, from, to, metric, memory: 1.0 }
}

fn weights(slices: &[f64], flows: &[Demand]) -> Vec<f64> {
    let mut weights = Vec::new();
    Allocator::default().allocate(slices, flows, Norm::Rackflow, &mut weights);
    weights
}

#[test]
fn figure_3_by_hand() {
    // A asks for 0.1 and 0.9 of its weight over two pairs of racks, B for 0.5 and 0.5; what comes of these demands
    // alone is tested under `scc`. Under PS-N rack 0 has half of A's weight, racks 1 and 2 have 0.05 and 0.45: pairs
    // have 1/4 + 0.05 and 1/4 + 0.45, which is nearer to B's.
    let of = |a: [f64; 2]| {
        weights(
            &[1.0, 1.0],
            &[flow(0, 0, 1, a[0]), flow(0, 0, 2, a[1]), flow(1, 0, 1, 0.5), flow(1, 0, 2, 0.5)],
        )
    };
    for (weight, expected) in of([0.1, 0.9]).into_iter().zip([0.3, 0.7, 0.5, 0.5]) {
        assert!((weight - expected).abs() < 1e-12, "{weight}, not {expected}");
    }
    // With equal demands at both links each slice has half of each.
    for weight in of([7.0, 7.0]) {
        assert!((weight - 0.5).abs() < 1e-12, "{weight}");
    }
}

#[test]
fn flows_of_a_pair_share_its_part_by_what_they_need() {
    let flows = [flow(0, 0, 1, 1.0), flow(0, 0, 1, 3.0), flow(0, 1, 0, 5.0)];
    // One pair has all of the weight of 2, in each direction.
    assert_eq!(weights(&[2.0], &flows), [0.5, 1.5, 2.0]);
    let memory = [Demand { memory: 3.0, ..flows[0] }, flows[1], flows[2]];
    assert_eq!(weights(&[2.0], &memory), [1.0, 1.0, 2.0]);
}

#[test]
fn no_flow_has_less_than_a_64th_of_the_mean_of_its_pair() {
    // Of a mean of 1/2: 1/128 beside 1, whatever the other slice has.
    let flows = [flow(0, 0, 1, 1e-9), flow(0, 0, 1, 1.0), flow(1, 0, 1, 1.0)];
    for (weight, expected) in weights(&[1.0, 1e6], &flows).into_iter().zip([1.0 / 129.0, 128.0 / 129.0, 1e6])
    {
        assert!((weight / expected - 1.0).abs() < 1e-8, "{weight}, not {expected}");
    }
}

#[test]
fn times_are_checked() {
    let field = |params: ControlParams| params.check(None).unwrap_err().field;
    assert_eq!(field(ControlParams { slot: Time::from_ns(9_999), ..ControlParams::default() }), "slot");
    assert_eq!(field(ControlParams { slot: Time::MAX, ..ControlParams::default() }), "slot");
    assert_eq!(field(ControlParams { delay: Time::MAX, ..ControlParams::default() }), "delay");
    assert_eq!(ControlParams { slot: SHORTEST, ..ControlParams::default() }.check(None), Ok(()));
}

#[test]
fn an_update_must_arrive_before_the_run_ends() {
    let params = ControlParams::default();
    let against = |params: ControlParams, ms| params.check_against(Some(Time::from_ms(ms)));
    assert_eq!(params.check_against(None), Ok(()));
    assert_eq!(against(params, 1), Ok(()), "at once, when a flow comes");
    let late = ControlParams { delay: Time::from_ms(20), ..params };
    assert_eq!(
        against(late, 20).unwrap_err().to_string(),
        "delay: is 20ms, but the run ends after 20ms (measure.horizon): no update would arrive"
    );
    assert_eq!(against(late, 21), Ok(()));
    let slow = ControlParams { at_once: false, ..params };
    assert_eq!(
        against(slow, 10).unwrap_err().to_string(),
        "slot: is 10ms, and an update takes 500us more, but the run ends after 10ms (measure.horizon): no update \
         would arrive"
    );
    assert_eq!(against(slow, 11), Ok(()));
}

#[test]
fn by_rack_a_rack_shares_its_part_over_all_that_it_sends() {
    let mut given = Vec::new();
    let flows = [flow(0, 0, 1, 1.0), flow(0, 0, 2, 1.0), flow(0, 1, 2, 2.0)];
    Allocator::default().allocate(&[1.0], &flows, Norm::Rack, &mut given);
    // Of the sum of 8, rack 0 has 2 and rack 1 has 3.
    assert_eq!(given, [0.125, 0.125, 0.375]);
}

#[test]
fn flows_sink_by_thresholds_inside_slices() {
    let (hundred_kb, queues) = (Bytes::new(100_000), PortParams { queues: 2, ..PortParams::one_queue() });
    let params = Params { thresholds: vec![hundred_kb], port: queues.clone(), ..Params::default() };
    let slices = vec![
        Slice { weight: 1.0, objective: Objective::Completion },
        Slice { weight: 4.0, objective: Objective::Completion },
    ];
    let facts = properties::facts(slices);
    let flow =
        FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 1, task: 0 };
    let directive = Uranus::new(params, &facts).unwrap().host().directive(&flow);
    assert_eq!([0, 99_999, 100_000].map(|before| directive.tags.priority(before)), [0, 0, 1]);
    assert_eq!(directive.weight.get(), 0.25);
    let unfit = Params { port: queues, ..Params::default() };
    assert_eq!(Uranus::new(unfit, &facts).err().map(|error| error.field).as_deref(), Some("thresholds"));
}
