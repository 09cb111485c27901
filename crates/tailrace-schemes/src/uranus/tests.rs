//! Weights by hand.

use super::*;
use tailrace_core::{HostId, HostPolicy, Objective, Slice};

fn flow(from: HostId, to: HostId, metric: f64) -> Demand {
    Demand { aggregate: Aggregate::new(from, to), metric, memory: 1.0 }
}

/// What flows of a slice have of its weight; they are in order.
fn weights(params: ShareParams, weight: f64, flows: &[Demand]) -> Vec<f64> {
    let mut sharing = PsN::new(params, &property_tests::facts(Vec::new()));
    let (mut parts, mut weights, mut all) = (Vec::new(), Vec::new(), Vec::new());
    sharing.divide(weight, flows, &mut parts);
    for (members, &part) in aggregates(flows).zip(&parts) {
        sharing.share(part, members, &mut weights);
        all.extend_from_slice(&weights);
    }
    all
}

#[test]
fn figure_3_by_hand() {
    // A asks for 0.1 and 0.9 of its weight over two pairs of racks, B for 0.5 and 0.5; what comes of these demands
    // alone is tested under `scc`. Under PS-N rack 0 has half of A's weight, racks 1 and 2 have 0.05 and 0.45: pairs
    // have 1/4 + 0.05 and 1/4 + 0.45, which is nearer to B's.
    let of = |to: [f64; 2]| weights(ShareParams::default(), 1.0, &[flow(0, 1, to[0]), flow(0, 2, to[1])]);
    for (weight, expected) in of([0.1, 0.9]).into_iter().chain(of([0.5, 0.5])).zip([0.3, 0.7, 0.5, 0.5]) {
        assert!((weight - expected).abs() < 1e-12, "{weight}, not {expected}");
    }
    // With equal demands at both links each slice has half of each.
    for weight in of([7.0, 7.0]) {
        assert!((weight - 0.5).abs() < 1e-12, "{weight}");
    }
}

#[test]
fn flows_of_a_pair_share_its_part_by_what_they_need() {
    let flows = [flow(0, 1, 1.0), flow(0, 1, 3.0), flow(1, 0, 5.0)];
    // One pair has all of the weight of 2, in each direction.
    assert_eq!(weights(ShareParams::default(), 2.0, &flows), [0.5, 1.5, 2.0]);
    let memory = [Demand { memory: 3.0, ..flows[0] }, flows[1], flows[2]];
    assert_eq!(weights(ShareParams::default(), 2.0, &memory), [1.0, 1.0, 2.0]);
}

#[test]
fn no_flow_has_less_than_a_64th_of_the_mean_of_its_pair() {
    // Of a mean of 1/2: 1/128 beside 1.
    let given = weights(ShareParams::default(), 1.0, &[flow(0, 1, 1e-9), flow(0, 1, 1.0)]);
    for (weight, expected) in given.into_iter().zip([1.0 / 129.0, 128.0 / 129.0]) {
        assert!((weight / expected - 1.0).abs() < 1e-8, "{weight}, not {expected}");
    }
}

#[test]
fn bounds_of_urgencies_are_checked() {
    let check = |most_urgent| ShareParams { most_urgent, ..ShareParams::default() }.check();
    assert!(check(1).is_ok() && check(65_536).is_ok());
    assert_eq!([0, 65_537].map(|value| check(value).unwrap_err().field), ["most_urgent"; 2]);
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
    let by_rack = ShareParams { norm: Norm::Rack, ..ShareParams::default() };
    let flows = [flow(0, 1, 1.0), flow(0, 2, 1.0), flow(1, 2, 2.0)];
    // Of the sum of 8, rack 0 has 2 and rack 1 has 3.
    assert_eq!(weights(by_rack, 1.0, &flows), [0.125, 0.125, 0.375]);
}

/// A controller of two slices of weight 1, whose flows all need as much, and what it says when they come and go.
struct TwoSlices {
    controller: SliceController<PsN>,
    now: Time,
}

impl TwoSlices {
    fn new() -> Self {
        let slice = Slice { weight: 1.0, objective: Objective::Deadline };
        let facts = property_tests::facts(vec![slice; 2]);
        let sharing = PsN::new(ShareParams::default(), &facts);
        let controller = SliceController::new(ControlParams::default(), sharing, &facts);
        TwoSlices { controller, now: Time::ZERO }
    }

    fn flow(id: u32, slice: u16, src: HostId, dst: HostId) -> FlowInfo {
        FlowInfo { id, src, dst, size: None, start: Time::ZERO, deadline: None, slice, task: 0 }
    }

    fn starts(&mut self, id: u32, slice: u16, src: HostId, dst: HostId) -> Vec<(u32, f64)> {
        self.controller.on_flow_start(self.now, &TwoSlices::flow(id, slice, src, dst));
        self.hear()
    }

    fn ends(&mut self, id: u32) -> Vec<(u32, f64)> {
        self.controller.on_flow_end(self.now, id);
        self.hear()
    }

    fn hear(&mut self) -> Vec<(u32, f64)> {
        self.now += Time::from_us(1);
        let mut updates = Vec::new();
        self.controller.on_wake(self.now, &|_| Bytes::ZERO, &mut updates);
        updates.iter().map(|update| (update.flow, update.weight.get())).collect()
    }
}

#[test]
fn a_flow_moves_those_of_its_rack_flow_and_one_of_its_own_those_of_its_slice() {
    let mut told = TwoSlices::new();
    assert_eq!(told.starts(0, 1, 0, 1), [(0, 1.0)]);
    assert_eq!(told.starts(1, 2, 0, 1), [(1, 1.0)]);
    // The other half of what the first has.
    assert_eq!(told.starts(2, 1, 0, 1), [(0, 0.5), (2, 0.5)]);
    // The slice now has two pairs of racks, of which one has two thirds of its weight, and each flow a third.
    assert_eq!(told.starts(3, 1, 2, 3).iter().map(|(flow, _)| *flow).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(told.ends(3), [(0, 0.5), (2, 0.5)]);
    assert_eq!(told.ends(0), [(2, 1.0)]);
    assert_eq!(told.ends(1), []);
}

#[test]
fn all_weights_have_one_scale_which_between_slots_only_grows() {
    let mut told = TwoSlices::new();
    for (id, slice) in [(0, 1), (1, 1), (2, 2), (3, 2), (4, 2), (5, 2)] {
        told.starts(id, slice, 0, 1);
    }
    told.now = Time::from_ms(10);
    told.hear();
    // Of slice 1 each flow has a half, of slice 2 a fourth. The half that is left has twice the largest so far: it is
    // told as before, and the others as half.
    assert_eq!(told.ends(0), [(2, 0.25), (3, 0.25), (4, 0.25), (5, 0.25)]);
    // The slice without flows sets no scale any more, but that of the others stays until the slot ends.
    assert_eq!(told.ends(1), []);
    told.now = Time::from_ms(20);
    assert_eq!(told.hear(), [(2, 1.0), (3, 1.0), (4, 1.0), (5, 1.0)]);
}

/// Eq. 1 beside Eq. 2: hosts 0 and 1 are a rack, 2 and 3 another.
#[test]
fn ends_are_racks_or_hosts() {
    let facts = Facts { racks: vec![0, 0, 1, 1], ..property_tests::facts(vec![]) };
    let flow = |src, dst| FlowInfo {
        id: 0,
        src,
        dst,
        size: None,
        start: Time::ZERO,
        deadline: None,
        slice: 1,
        task: 0,
    };
    let of = |ends, src, dst| {
        PsN::new(ShareParams { ends, ..ShareParams::default() }, &facts).aggregate(&flow(src, dst))
    };
    assert_eq!(of(Ends::Racks, 0, 1), None);
    assert_eq!(of(Ends::Racks, 0, 2), of(Ends::Racks, 1, 3));
    assert!(of(Ends::Hosts, 0, 1).is_some());
    assert_ne!(of(Ends::Hosts, 0, 2), of(Ends::Hosts, 1, 3));
    assert_eq!(of(Ends::Hosts, 0, 2).map(|aggregate| aggregate.pair()), Some([0, 2]));
}

#[test]
fn flows_sink_by_thresholds_inside_slices() {
    let (hundred_kb, queues) = (Bytes::new(100_000), PortParams { queues: 2, ..PortParams::one_queue() });
    let params = Params { thresholds: vec![hundred_kb], port: queues.clone(), ..Params::default() };
    let slices = vec![
        Slice { weight: 1.0, objective: Objective::Completion },
        Slice { weight: 4.0, objective: Objective::Completion },
    ];
    let facts = property_tests::facts(slices);
    let flow =
        FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 1, task: 0 };
    let directive = Uranus::new(params, &facts).unwrap().host().directive(&flow);
    assert_eq!([0, 99_999, 100_000].map(|before| directive.tags.priority(before)), [0, 0, 1]);
    assert_eq!(directive.weight.get(), 0.25);
    let unfit = Params { port: queues, ..Params::default() };
    assert_eq!(Uranus::new(unfit, &facts).err().map(|error| error.field).as_deref(), Some("thresholds"));
}
