//! Flows by weight, and a controller that changes its mind.

use std::ops::ControlFlow;

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Controller, FlowId, FlowInfo, Knowledge, Prospect, Rank, RateRule, Time, Weight, WeightUpdate,
};
use tailrace_fabric::FabricParams;
use tailrace_flow::{Setup, World};
use tailrace_workload::FlowSpec;

/// A thousand full packets: 12 ms of a link.
const UNIT: u64 = 1_460_000;
const UNIT_MS: u64 = 12;

/// The second flow counts three times as much as the first.
struct OneToThree;
impl RateRule for OneToThree {
    fn rank(&self, _: &Prospect<'_>) -> Rank {
        Rank::SAME
    }
    fn weight(&self, prospect: &Prospect<'_>) -> f64 {
        if prospect.flow.id == 0 { 1.0 } else { 3.0 }
    }
}

/// Turns weights round, once.
struct TurnedRound {
    at: Time,
    delay: Time,
}
impl Controller for TurnedRound {
    fn delay(&self) -> Time {
        self.delay
    }
    fn on_flow_start(&mut self, _: Time, _: &FlowInfo) {}
    fn on_flow_end(&mut self, _: Time, _: FlowId) {}
    fn next_wake(&self) -> Time {
        self.at
    }
    fn on_wake(&mut self, _: Time, _: &dyn Fn(FlowId) -> Bytes, updates: &mut Vec<WeightUpdate>) {
        self.at = Time::MAX;
        let weights = [(0, 3.0), (1, 1.0)];
        updates.extend(weights.map(|(flow, weight)| WeightUpdate { flow, weight: Weight::nearest(weight) }));
    }
}

/// When two flows to one host end, of 2 and 3 units; the first has 1/4 of the link until a controller changes weights at
/// `turn`, and they arrive after the delay.
fn ends(turn: Option<(u64, u64)>) -> Vec<f64> {
    let table = "kind = \"star\"\nhosts = 3\nhost_rate = \"1Gbps\"".parse().unwrap_or_else(|e| panic!("{e}"));
    let fabric = FabricParams::from_table(&table).unwrap_or_else(|error| panic!("{error}")).build();
    let flow =
        |src, units: u64| FlowSpec { src, dst: 0, size: Bytes::new(units * UNIT), ..FlowSpec::default() };
    let knows = Knowledge { sizes: true, deadlines: true };
    let (feed, setup) = (vec![flow(1, 2), flow(2, 3)].into(), Setup::Fixed(Time::ZERO));
    let units = |units| Time::from_ms(units * UNIT_MS);
    let turned_round = |(at, delay)| TurnedRound { at: units(at), delay: units(delay) };
    let controller = turn.map(|turn| Box::new(turned_round(turn)) as Box<dyn Controller>);
    let world =
        World::new(Box::new(OneToThree), knows, &fabric, TransportParams::default(), feed, setup, None);
    let mut world = world.controlled(controller);
    let _ = world.run(&mut |_| ControlFlow::Continue(()));
    let outcome = world.into_outcome();
    let sent: u64 = outcome.ports[..3].iter().map(|port| port.sent.bytes).sum();
    assert_eq!(sent, outcome.flows.iter().map(|flow| flow.size.get() / 1460 * 1500).sum::<u64>());
    outcome.flows.iter().map(|flow| flow.end.as_secs_f64() * 1e3 / UNIT_MS as f64).collect()
}

#[test]
fn flows_share_by_weight_from_their_start() {
    // At 4 the second is done, and the first has one of two left.
    let ends = ends(None);
    assert!((ends[0] - 5.0).abs() < 1e-6 && (ends[1] - 4.0).abs() < 1e-6, "{ends:?}");
}

/// What all weights add up to stays, and so does the level: what a flow of weight 1 gets.
#[test]
fn a_flow_ends_when_it_should_though_only_its_weight_has_changed() {
    // At 2 they have sent 0.5 and 1.5. The first needs 1.5 at 3/4.
    for turn in [(2, 0), (1, 1), (0, 2)] {
        let ends = ends(Some(turn));
        assert!((ends[0] - 4.0).abs() < 1e-6 && (ends[1] - 5.0).abs() < 1e-6, "{turn:?}: {ends:?}");
    }
}
