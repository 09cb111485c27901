//! What always holds of weights: no part of a slice is lost, and no weight is zero, negative or no number.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tailrace_core::{Bytes, FlowId, HostId, Objective, Slice, WeightUpdate};

use super::*;

const RACKS: u32 = 8;
const SLICES: usize = 5;

/// From a millionth of a millionth to a million millions.
fn any_scale() -> impl Strategy<Value = f64> {
    (-12.0..12.0f64).prop_map(|exponent| libm::pow(10.0, exponent))
}

/// Flows of a slice, in order.
fn any_flows() -> impl Strategy<Value = Vec<Demand>> {
    let flow = (0..RACKS, 1..RACKS, any_scale(), any_scale());
    let flow = flow.prop_map(|(from, step, metric, memory)| Demand {
        aggregate: Aggregate::new(from, (from + step) % RACKS),
        metric,
        memory,
    });
    prop::collection::vec(flow, 1..60).prop_map(|mut flows| {
        flows.sort_by_key(|flow| flow.aggregate);
        flows
    })
}

fn any_slices() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(any_scale(), SLICES)
}

/// What each of a slice's flows has.
fn shared(weight: f64, flows: &[Demand], norm: Norm) -> Vec<(Aggregate, f64)> {
    let mut sharing = PsN::new(ShareParams { norm, ..ShareParams::default() }, &facts(Vec::new()));
    let (mut parts, mut weights, mut all) = (Vec::new(), Vec::new(), Vec::new());
    sharing.divide(weight, flows, &mut parts);
    for (members, &part) in aggregates(flows).zip(&parts) {
        sharing.share(part, members, &mut weights);
        all.extend(weights.iter().map(|weight| (members[0].aggregate, *weight)));
    }
    all
}

/// Checks Eq. 3 of a slice's flows: the parts of its pairs of racks add up to its weight, and in each direction of a
/// pair flows have all of its part.
fn check_parts(weight: f64, given: &[(Aggregate, f64)]) -> Result<(), TestCaseError> {
    let mut directions: BTreeMap<Aggregate, f64> = BTreeMap::new();
    for (aggregate, weight) in given {
        prop_assert!(*weight > 0.0 && weight.is_finite(), "{weight} in {aggregate:?}");
        *directions.entry(*aggregate).or_default() += weight;
    }
    let mut pairs: BTreeMap<[HostId; 2], f64> = BTreeMap::new();
    for (aggregate, part) in directions {
        let known = *pairs.entry(aggregate.pair()).or_insert(part);
        prop_assert!((known / part - 1.0).abs() < 1e-9, "{known} one way and {part} the other");
    }
    let sum = pairs.values().sum::<f64>();
    prop_assert!(given.is_empty() || (sum / weight - 1.0).abs() < 1e-9, "{sum} of {weight}");
    Ok(())
}

proptest! {
    #[test]
    fn the_parts_of_a_slice_add_up_to_its_weight(
        flows in any_flows(),
        weight in any_scale(),
        gone in any::<prop::sample::Index>(),
    ) {
        // With all flows, and after one of them has ended: no weight is lost with it, or with its rack.
        check_parts(weight, &shared(weight, &flows, Norm::Rackflow))?;
        let mut rest = flows;
        rest.remove(gone.index(rest.len()));
        check_parts(weight, &shared(weight, &rest, Norm::Rackflow))?;
    }

    /// Racks that only receive have a part that nobody uses, so no more than the slice's weight is given.
    #[test]
    fn racks_share_out_what_is_theirs(flows in any_flows(), weight in any_scale()) {
        let given = shared(weight, &flows, Norm::Rack);
        let metrics = |touches: &dyn Fn(&Aggregate) -> bool| {
            flows.iter().filter(|flow| touches(&flow.aggregate)).map(|flow| flow.metric).sum::<f64>()
        };
        let all = 2.0 * metrics(&|_| true);
        for rack in 0..RACKS {
            let sends: f64 = given.iter().filter(|(at, _)| at.from() == rack).map(|(_, weight)| weight).sum();
            let part = weight * metrics(&|at| at.pair().contains(&rack)) / all;
            prop_assert!(sends == 0.0 || (sends / part - 1.0).abs() < 1e-9, "{sends} of {part}");
        }
        prop_assert!(given.iter().all(|(_, weight)| *weight > 0.0 && weight.is_finite()));
    }
}

/// Weights are told in parts of one 65,536th, and none as nothing.
const TOLD: f64 = 1.0 / 65_536.0;

/// Slices of flows that need the same between each two racks, however many flows that is.
fn any_like_slices() -> impl Strategy<Value = Vec<Vec<Demand>>> {
    let part = (0.01..100.0f64, any_scale());
    let splits = prop::collection::vec(prop::collection::vec(part, 1..5), SLICES);
    let between = (0..RACKS, 1..RACKS, 0.01..100.0f64, splits);
    (prop::collection::vec(between, 1..12), any_slices()).prop_map(|(all, units)| {
        let of_slice = |(slice, unit): (usize, f64)| {
            let mut flows = Vec::new();
            for (from, step, need, splits) in &all {
                let (split, aggregate) = (&splits[slice], Aggregate::new(*from, (from + step) % RACKS));
                let sum: f64 = split.iter().map(|(part, _)| part).sum();
                let metric = |part: f64| unit * need * part / sum;
                flows.extend(split.iter().map(|&(part, memory)| Demand {
                    aggregate,
                    metric: metric(part),
                    memory,
                }));
            }
            flows.sort_by_key(|flow| flow.aggregate);
            flows
        };
        units.into_iter().enumerate().map(of_slice).collect()
    })
}

proptest! {
    /// No flow is so light, nor are they so many, that its slice has more of a rack or of a pair of racks for it.
    #[test]
    fn slices_that_need_the_same_share_each_rack_by_weight(slices in any_like_slices(), weights in any_slices()) {
        let mut sums: BTreeMap<(u32, Option<Aggregate>), [f64; SLICES]> = BTreeMap::new();
        for (slice, (flows, weight)) in slices.iter().zip(&weights).enumerate() {
            for (at, given) in shared(*weight, flows, Norm::Rackflow) {
                let [a, b] = at.pair();
                for place in [(at.from(), Some(at)), (a, None), (b, None)] {
                    sums.entry(place).or_default()[slice] += given;
                }
            }
        }
        for (place, sums) in sums {
            let of_weight = |slice: usize| sums[slice] / weights[slice];
            for slice in 1..SLICES {
                let ratio = of_weight(slice) / of_weight(0);
                prop_assert!((ratio - 1.0).abs() < 1e-9, "slice {slice} at {place:?}: {ratio}");
            }
        }
    }
}

/// What happens to a controller.
#[derive(Clone, Debug)]
enum Happening {
    /// A flow starts: slice (0 and the last are none that it knows), racks, size, time until its deadline.
    Start { slice: u16, from: HostId, to: HostId, size: Option<u64>, due_ms: Option<u64> },
    /// One of those in progress ends.
    End(prop::sample::Index),
    /// Time passes and flows deliver, each so many bytes more.
    Pass { us: u64, bytes: u64 },
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let start = (0..=SLICES as u16 + 1, 0..RACKS, 0..RACKS, prop::option::of(1u64..1 << 40), any_due())
        .prop_map(|(slice, from, to, size, due_ms)| Happening::Start { slice, from, to, size, due_ms });
    prop_oneof![
        4 => start,
        2 => any::<prop::sample::Index>().prop_map(Happening::End),
        3 => (0u64..20_000, 0u64..1 << 30).prop_map(|(us, bytes)| Happening::Pass { us, bytes }),
    ]
}

fn any_due() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(0u64..200)
}

/// Racks of one host each, and these slices.
pub(super) fn facts(slices: Vec<Slice>) -> Facts {
    Facts {
        slices,
        racks: (0..RACKS as u16).collect(),
        ..Facts::new(RACKS as usize, Rate::from_gbps(10), Time::from_us(85), 4)
    }
}

/// Slices of these weights, every other with deadlines.
fn controller(params: ControlParams, share: ShareParams, weights: &[f64]) -> SliceController<PsN> {
    let objectives = [Objective::Deadline, Objective::Completion].into_iter().cycle();
    let slice = |(&weight, objective)| Slice { weight, objective };
    let facts = facts(weights.iter().zip(objectives).map(slice).collect());
    SliceController::new(params, PsN::new(share, &facts), &facts)
}

fn any_share() -> impl Strategy<Value = ShareParams> {
    any::<[bool; 2]>().prop_map(|[deadline_memory, completion_memory]| ShareParams {
        deadline_memory,
        completion_memory,
        ..ShareParams::default()
    })
}

/// A controller, and the flows in progress: and what each has delivered.
struct Play {
    controller: SliceController<PsN>,
    now: Time,
    flows: BTreeMap<FlowId, (FlowInfo, u64)>,
    started: FlowId,
    /// The weight that each flow in progress was told last.
    told: BTreeMap<FlowId, f64>,
}

/// Whether a flow's weight is the controller's concern.
fn concerns(flow: &FlowInfo) -> bool {
    flow.src != flow.dst && (1..=SLICES as u16).contains(&flow.slice)
}

impl Play {
    fn happen(&mut self, what: &Happening) {
        match *what {
            Happening::Start { slice, from, to, size, due_ms } => {
                let deadline = due_ms.map(|ms| self.now + Time::from_ms(ms));
                let size = size.map(Bytes::new);
                let flow = FlowInfo {
                    id: self.started,
                    src: from,
                    dst: to,
                    size,
                    start: self.now,
                    deadline,
                    slice,
                    task: 0,
                };
                self.controller.on_flow_start(self.now, &flow);
                self.flows.insert(flow.id, (flow, 0));
                self.started += 1;
            }
            Happening::End(which) if !self.flows.is_empty() => {
                let number = which.index(self.flows.len());
                let id = self.flows.keys().nth(number).copied().unwrap();
                self.flows.remove(&id);
                self.told.remove(&id);
                self.controller.on_flow_end(self.now, id);
            }
            Happening::End(_) => {}
            Happening::Pass { us, bytes } => {
                self.now += Time::from_us(us);
                self.flows.values_mut().for_each(|(_, delivered)| *delivered += bytes);
            }
        }
    }

    /// Wakes the controller if it wants to be, and checks what it says.
    fn wake(&mut self, weights: &[f64]) -> Result<(), TestCaseError> {
        if self.controller.next_wake() > self.now {
            return Ok(());
        }
        let mut updates: Vec<WeightUpdate> = Vec::new();
        let delivered = |id| Bytes::new(self.flows.get(&id).map_or(0, |(_, delivered)| *delivered));
        self.controller.on_wake(self.now, &delivered, &mut updates);
        for WeightUpdate { flow, weight } in updates {
            prop_assert!(self.flows.get(&flow).is_some_and(|(flow, _)| concerns(flow)), "{flow} has ended");
            self.told.insert(flow, weight.get());
        }
        let concerned = self.flows.values().filter(|(flow, _)| concerns(flow)).count();
        prop_assert_eq!(self.told.len(), concerned);
        let mut decided = BTreeMap::new();
        for (weight, slice) in weights.iter().zip(self.controller.slices()) {
            let given: Vec<_> = slice.given().map(|(aggregate, _, weight)| (aggregate, weight)).collect();
            check_parts(*weight, &given)?;
            decided.extend(slice.given().map(|(_, id, weight)| (id, weight)));
        }
        prop_assert_eq!(decided.len(), concerned);
        // What hosts have now, times one factor, is what was decided, to the last place that can be told.
        let scale = self.controller.scale().unwrap_or_default();
        for (decided, told) in decided.values().zip(self.told.values()) {
            prop_assert!((TOLD..=1.0).contains(told), "{told}");
            prop_assert!((told - decided / scale).abs() <= TOLD, "{told} for {decided} of {scale}");
        }
        prop_assert!(self.controller.next_wake() > self.now);
        Ok(())
    }
}

proptest! {
    #[test]
    fn no_weight_is_lost_while_flows_come_and_go(
        weights in any_slices(),
        at_once in any::<bool>(),
        share in any_share(),
        happenings in prop::collection::vec(any_happening(), 0..200),
    ) {
        let params = ControlParams { at_once, ..ControlParams::default() };
        let controller = controller(params, share, &weights);
        let mut play = Play { controller, now: Time::ZERO, flows: BTreeMap::new(), started: 0, told: BTreeMap::new() };
        for what in &happenings {
            play.happen(what);
            play.wake(&weights)?;
        }
    }
}

/// An old weight is a factor every slot, so that of a flow that others leave behind goes to nothing; when they have
/// ended, all that is theirs to share is still shared.
#[test]
fn a_flow_that_fell_behind_for_long_is_not_forgotten() {
    let mut controller = controller(ControlParams::default(), ShareParams::default(), &[1.0]);
    let flow = |id, due_ms| FlowInfo {
        id,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(1 << 40)),
        start: Time::ZERO,
        deadline: Some(Time::from_ms(due_ms)),
        slice: 1,
        task: 0,
    };
    controller.on_flow_start(Time::ZERO, &flow(0, 1_000_000_000));
    controller.on_flow_start(Time::ZERO, &flow(1, 10));
    let mut updates = Vec::new();
    // The second flow is urgent, the first can wait: for 500 slots its old weight shrinks to a 256th in each.
    for slot in 1..=500u64 {
        let delivered = |id| Bytes::new(if id == 0 { slot * 12_000_000 } else { 0 });
        controller.on_wake(Time::from_ms(10) * slot, &delivered, &mut updates);
    }
    controller.on_flow_end(Time::from_ms(5_000), 1);
    updates.clear();
    controller.on_wake(Time::from_ms(5_000), &|_| Bytes::ZERO, &mut updates);
    let given: Vec<f64> = controller.slices()[0].given().map(|(.., weight)| weight).collect();
    assert_eq!(given, [1.0]);
    assert_eq!(updates.len(), 1);
    assert_eq!((updates[0].flow, updates[0].weight.get()), (0, 1.0));
}

/// Two flows of one rack-flow. The first can be in time; the second is past its deadline, or has 2 ms left for what takes
/// more with all of the link.
#[test]
fn who_cannot_be_in_time_any_more_gives_way_if_told_to() {
    let size = Bytes::new(125_000_000 / 8); // 125 ms of 1 Gbps
    let weights = |give_up, due_ms| {
        let share = ShareParams { give_up, deadline_memory: false, ..ShareParams::default() };
        let mut controller = controller(ControlParams::default(), share, &[1.0]);
        controller.on_flow_start(Time::ZERO, &due(0, size, 1_000));
        controller.on_flow_start(Time::ZERO, &due(1, size, due_ms));
        // Neither has got anything.
        controller.on_wake(Time::from_ms(10), &|_| Bytes::ZERO, &mut Vec::new());
        controller.slices()[0].given().map(|(.., weight)| weight).collect::<Vec<f64>>()
    };
    for due_ms in [5, 12] {
        let [first, late] = weights(true, due_ms)[..] else { panic!("two flows") };
        assert!(late * 10.0 < first, "{first} {late}");
        let [first, late] = weights(false, due_ms)[..] else { panic!("two flows") };
        assert!(late >= first, "{first} {late}");
    }
}

/// Two flows of one rack-flow, of which one needs about a hundred times the rate of the other.
#[test]
fn urgencies_lie_between_their_bounds() {
    let parts = |most_urgent| {
        let share = ShareParams { most_urgent, deadline_memory: false, ..ShareParams::default() };
        let mut controller = controller(ControlParams::default(), share, &[1.0]);
        for (id, due_ms) in [(0, 100_000), (1, 1_000)] {
            controller.on_flow_start(Time::ZERO, &due(id, Bytes::new(125_000_000), due_ms));
        }
        controller.on_wake(Time::from_ms(10), &|_| Bytes::new(1_250_000), &mut Vec::new());
        let given: Vec<f64> = controller.slices()[0].given().map(|(.., weight)| weight).collect();
        given[1] / given[0]
    };
    // Both got the rate of the link for 10 ms, have as much left, and 99.99 s and 0.99 s for it.
    assert!((parts(1) - 1.0).abs() < 1e-9, "{}", parts(1));
    assert!((parts(16) - 16.0).abs() < 1e-9, "{}", parts(16));
    assert!((parts(1000) - 99.99 / 0.99).abs() < 1e-6, "{}", parts(1000));
}

fn due(id: u32, size: Bytes, due_ms: u64) -> FlowInfo {
    let deadline = Some(Time::from_ms(due_ms));
    FlowInfo { id, src: 0, dst: 1, size: Some(size), start: Time::ZERO, deadline, slice: 1, task: 0 }
}
