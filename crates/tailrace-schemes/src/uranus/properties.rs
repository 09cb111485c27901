//! What always holds of weights: no part of a slice is lost, and no weight is zero, negative or no number.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use proptest::prelude::*;
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, FlowId, Objective, Slice, WeightUpdate};

use super::*;

const RACKS: u16 = 8;
const SLICES: usize = 5;

/// From a millionth of a millionth to a million millions.
fn any_scale() -> impl Strategy<Value = f64> {
    (-12.0..12.0f64).prop_map(|exponent| libm::pow(10.0, exponent))
}

fn any_flows() -> impl Strategy<Value = Vec<Demand>> {
    let flow = (0..SLICES as u32, 0..RACKS, 1..RACKS, any_scale(), any_scale());
    let flow = flow.prop_map(|(slice, from, step, metric, memory)| Demand {
        slice,
        from,
        to: (from + step) % RACKS,
        metric,
        memory,
    });
    prop::collection::vec(flow, 0..60)
}

fn any_slices() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(any_scale(), SLICES)
}

/// Checks Eq. 3: in each slice that has flows, the parts of its pairs of racks add up to its weight, and in each
/// direction of a pair flows have all of its part.
fn check_parts<'a>(
    slices: &[f64],
    given: impl Iterator<Item = (&'a Demand, f64)>,
) -> Result<(), TestCaseError> {
    let mut directions: BTreeMap<(u32, u16, u16, u16), f64> = BTreeMap::new();
    for (flow, weight) in given {
        prop_assert!(weight > 0.0 && weight.is_finite(), "{weight} for {flow:?}");
        let (low, high) = (flow.from.min(flow.to), flow.from.max(flow.to));
        *directions.entry((flow.slice, low, high, flow.from)).or_default() += weight;
    }
    let mut pairs: BTreeMap<(u32, u16, u16), f64> = BTreeMap::new();
    for ((slice, low, high, _), part) in directions {
        let known = *pairs.entry((slice, low, high)).or_insert(part);
        prop_assert!((known / part - 1.0).abs() < 1e-9, "{known} one way and {part} the other");
    }
    for (slice, weight) in slices.iter().enumerate() {
        let own = pairs.range((slice as u32, 0, 0)..(slice as u32 + 1, 0, 0));
        let sum = own.map(|(_, part)| part).sum::<f64>();
        prop_assert!(sum == 0.0 || (sum / weight - 1.0).abs() < 1e-9, "{sum} of {weight}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_parts_of_a_slice_add_up_to_its_weight(
        flows in any_flows(),
        slices in any_slices(),
        gone in any::<prop::sample::Index>(),
    ) {
        let mut allocator = Allocator::default();
        // With all flows, and after one of them has ended: no weight is lost with it, or with its rack.
        let mut rest = flows.clone();
        if !rest.is_empty() {
            rest.remove(gone.index(flows.len()));
        }
        for flows in [flows, rest] {
            let mut weights = Vec::new();
            allocator.allocate(&slices, &flows, Norm::Rackflow, &mut weights);
            check_parts(&slices, flows.iter().zip(weights))?;
        }
    }

    /// Racks that only receive have a part that nobody uses, so no more than the slice's weight is given.
    #[test]
    fn racks_share_out_what_is_theirs(flows in any_flows(), slices in any_slices()) {
        let mut weights = Vec::new();
        Allocator::default().allocate(&slices, &flows, Norm::Rack, &mut weights);
        for (slice, weight) in slices.iter().enumerate() {
            let own = || flows.iter().zip(&weights).filter(|(flow, _)| flow.slice as usize == slice);
            let metrics = |touches: &dyn Fn(&Demand) -> bool| {
                own().filter(|(flow, _)| touches(flow)).map(|(flow, _)| flow.metric).sum::<f64>()
            };
            let all = 2.0 * metrics(&|_| true);
            for rack in 0..RACKS {
                let sends: f64 = own().filter(|(flow, _)| flow.from == rack).map(|(_, weight)| weight).sum();
                let part = weight * metrics(&|flow| flow.from == rack || flow.to == rack) / all;
                prop_assert!(sends == 0.0 || (sends / part - 1.0).abs() < 1e-9, "{sends} of {part}");
            }
            prop_assert!(own().all(|(_, weight)| *weight > 0.0 && weight.is_finite()));
        }
    }

    #[test]
    fn the_order_of_flows_does_not_matter(
        flows in any_flows(),
        slices in any_slices(),
        by in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!flows.is_empty());
        let by = by.index(flows.len());
        let weights = |flows: &[Demand]| {
            let mut weights = Vec::new();
            Allocator::default().allocate(&slices, flows, Norm::Rackflow, &mut weights);
            weights
        };
        let straight = weights(&flows);
        let mut turned = weights(&[&flows[by..], &flows[..by]].concat());
        turned.rotate_right(by);
        for (a, b) in straight.iter().zip(&turned) {
            prop_assert!((a / b - 1.0).abs() < 1e-9);
        }
    }
}

/// Weights are told in parts of one 65,536th, and none as nothing.
const TOLD: f64 = 1.0 / 65_536.0;

/// Slices of flows that need the same between each two racks, however many flows that is: weights of slices, what
/// flows need between two racks, and how each slice splits it.
fn any_like_slices() -> impl Strategy<Value = (Vec<f64>, Vec<Demand>)> {
    let part = (0.01..100.0f64, any_scale());
    let splits = prop::collection::vec(prop::collection::vec(part, 1..5), SLICES);
    let between = (0..RACKS, 1..RACKS, 0.01..100.0f64, splits);
    (any_slices(), prop::collection::vec(between, 1..12), any_slices()).prop_map(|(slices, all, units)| {
        let mut flows = Vec::new();
        for (from, step, need, splits) in all {
            for (slice, (split, unit)) in splits.iter().zip(&units).enumerate() {
                let sum: f64 = split.iter().map(|(part, _)| part).sum();
                flows.extend(split.iter().map(|&(part, memory)| Demand {
                    slice: slice as u32,
                    from,
                    to: (from + step) % RACKS,
                    metric: unit * need * part / sum,
                    memory,
                }));
            }
        }
        (slices, flows)
    })
}

/// Weights as PS-N gives them, and as it fits them.
fn given_and_fitted(slices: &[f64], flows: &[Demand]) -> (Vec<f64>, Vec<f64>) {
    let mut ps_n = PsN::new(ShareParams::default(), &facts(Vec::new()));
    let mut given = Vec::new();
    ps_n.share(slices, flows, &mut given);
    let mut fitted = given.clone();
    ps_n.fit(slices, flows, &mut fitted);
    (given, fitted)
}

proptest! {
    /// Whatever slices and flows there are, fitting is one factor for all: parts stay what Eq. 3 says.
    #[test]
    fn fitted_weights_times_one_factor_are_the_allocation(flows in any_flows(), slices in any_slices()) {
        prop_assume!(!flows.is_empty());
        let (given, fitted) = given_and_fitted(&slices, &flows);
        let factor = given.iter().copied().fold(0.0, f64::max);
        for (given, fitted) in given.iter().zip(&fitted) {
            prop_assert!((fitted * factor / given - 1.0).abs() < 1e-12, "{fitted} for {given}");
        }
        let scaled: Vec<f64> = slices.iter().map(|weight| weight / factor).collect();
        check_parts(&scaled, flows.iter().zip(fitted))?;
    }

    /// No flow is so light, nor are they so many, that its slice has more of a rack or of a pair of racks for it.
    #[test]
    fn slices_that_need_the_same_share_each_rack_by_weight((slices, flows) in any_like_slices()) {
        let (_, fitted) = given_and_fitted(&slices, &flows);
        let mut sums: BTreeMap<(u16, Option<u16>), [f64; SLICES]> = BTreeMap::new();
        for (flow, weight) in flows.iter().zip(fitted) {
            for place in [(flow.from, Some(flow.to)), (flow.from, None), (flow.to, None)] {
                sums.entry(place).or_default()[flow.slice as usize] += weight;
            }
        }
        for (place, sums) in sums {
            let of_weight = |slice: usize| sums[slice] / slices[slice];
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
    Start { slice: u16, from: u16, to: u16, size: Option<u64>, due_ms: Option<u64> },
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

/// What flows asked for when a controller last decided, and the weights that they got, before fitting.
type Decided = Rc<RefCell<Vec<(Demand, f64)>>>;

/// PS-N, written down.
struct Recorded(PsN, Decided);

impl Sharing for Recorded {
    fn ends(&self, flow: &FlowInfo) -> Option<[u16; 2]> {
        self.0.ends(flow)
    }
    fn remembers(&self, objective: Objective) -> bool {
        self.0.remembers(objective)
    }
    fn share(&mut self, slices: &[f64], flows: &[Demand], weights: &mut Vec<f64>) {
        self.0.share(slices, flows, weights);
        *self.1.borrow_mut() = flows.iter().copied().zip(weights.iter().copied()).collect();
    }
    fn fit(&mut self, slices: &[f64], flows: &[Demand], weights: &mut [f64]) {
        self.0.fit(slices, flows, weights);
    }
}

/// Racks of one host each, and these slices.
pub(super) fn facts(slices: Vec<Slice>) -> Facts {
    Facts {
        hosts: RACKS.into(),
        host_rate: Rate::from_gbps(10),
        base_rtt: Time::from_us(85),
        transport: TransportParams::default(),
        traffic: None,
        published_sizes: |_| None,
        horizon: None,
        slices,
        racks: (0..RACKS).collect(),
    }
}

/// Slices of these weights, every other with deadlines.
fn controller(
    params: ControlParams,
    share: ShareParams,
    weights: &[f64],
) -> (SliceController<Recorded>, Decided) {
    let objectives = [Objective::Deadline, Objective::Completion].into_iter().cycle();
    let slice = |(&weight, objective)| Slice { weight, objective };
    let facts = facts(weights.iter().zip(objectives).map(slice).collect());
    let decided = Decided::default();
    (SliceController::new(params, Recorded(PsN::new(share, &facts), decided.clone()), &facts), decided)
}

fn any_share() -> impl Strategy<Value = ShareParams> {
    any::<[bool; 2]>().prop_map(|[deadline_memory, completion_memory]| ShareParams {
        deadline_memory,
        completion_memory,
        ..ShareParams::default()
    })
}

/// A controller, and the flows in progress: what each has delivered, and whether weights are its concern.
struct Play {
    controller: SliceController<Recorded>,
    decided: Decided,
    now: Time,
    flows: BTreeMap<FlowId, (u64, bool)>,
    started: FlowId,
    /// The weight that each flow in progress was told last.
    told: BTreeMap<FlowId, f64>,
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
                let concerns = from != to && (1..=SLICES as u16).contains(&slice);
                self.flows.insert(flow.id, (0, concerns));
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
                self.flows.values_mut().for_each(|(delivered, _)| *delivered += bytes);
            }
        }
    }

    /// Wakes the controller if it wants to be, and checks what it says.
    fn wake(&mut self, weights: &[f64]) -> Result<(), TestCaseError> {
        if self.controller.next_wake() > self.now {
            return Ok(());
        }
        let mut updates: Vec<WeightUpdate> = Vec::new();
        let delivered = |id| Bytes::new(self.flows.get(&id).map_or(0, |(delivered, _)| *delivered));
        self.controller.on_wake(self.now, &delivered, &mut updates);
        let concerned = self.flows.values().filter(|(_, concerns)| *concerns).count();
        let decided = self.decided.borrow();
        prop_assert_eq!(decided.len(), concerned);
        check_parts(weights, decided.iter().map(|(flow, weight)| (flow, *weight)))?;
        for WeightUpdate { flow, weight } in updates {
            prop_assert!(self.flows.get(&flow).is_some_and(|(_, concerns)| *concerns), "{flow} has ended");
            self.told.insert(flow, weight.get());
        }
        // What hosts have now, times one factor, is what was decided, to the last place that can be told.
        prop_assert_eq!(self.told.len(), concerned);
        let most = decided.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
        for ((_, decided), told) in decided.iter().zip(self.told.values()) {
            prop_assert!((TOLD..=1.0).contains(told), "{told}");
            prop_assert!((told - decided / most).abs() <= TOLD, "{told} for {decided} of {most}");
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
        let (controller, decided) = controller(params, share, &weights);
        let mut play = Play { controller, decided, now: Time::ZERO, flows: BTreeMap::new(), started: 0, told: BTreeMap::new() };
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
    let (mut controller, decided) = controller(ControlParams::default(), ShareParams::default(), &[1.0]);
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
    let given: Vec<f64> = decided.borrow().iter().map(|(_, weight)| *weight).collect();
    assert_eq!(given, [1.0]);
    assert_eq!(updates.len(), 1);
    assert_eq!((updates[0].flow, updates[0].weight.get()), (0, 1.0));
}
