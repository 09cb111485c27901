//! Flows that go by the clock of a class, against the same flows that each keep an account of their own.

use std::ops::ControlFlow;

use proptest::prelude::*;
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, Ending, Knowledge, Prospect, Rank, RateRule, Time};
use tailrace_fabric::FabricParams;
use tailrace_flow::{Setup, World};
use tailrace_workload::FlowSpec;

/// A hundred full packets: 1.2 ms of the slower links.
const UNIT: u64 = 146_000;

/// Ranks by the flow's slice, and the same weight for all: one of 1 lets flows go by a clock, another one does not.
struct Alike {
    weight: f64,
    ranks: u16,
}

impl RateRule for Alike {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank(u64::from(prospect.flow.slice % self.ranks), 0)
    }
    fn weight(&self, _: &Prospect<'_>) -> f64 {
        self.weight
    }
}

/// Flows of few sizes that start on a coarse grid, so that ends and starts meet: from, to, size, start, rank.
fn flows() -> impl Strategy<Value = Vec<FlowSpec>> {
    let flow = (0..8_u32, 1..8_u32, 1..5_u64, 0..24_u64, 1..4_u16);
    let flow = flow.prop_map(|(src, other, units, start, slice)| FlowSpec {
        src,
        dst: (src + other) % 8,
        size: Bytes::new(units * UNIT),
        start: Time::from_us(start * 600),
        slice,
        ..FlowSpec::default()
    });
    prop::collection::vec(flow, 1..60).prop_map(|mut flows| {
        flows.sort_by_key(|flow| flow.start);
        flows
    })
}

/// When each flow ends, and what each port has sent.
fn run(flows: Vec<FlowSpec>, rule: Alike) -> (Vec<Time>, Vec<u64>) {
    let table = "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\nhost_rate = \"1Gbps\"\n\
                 spine_rate = \"2Gbps\"";
    let table = table.parse().unwrap_or_else(|error| panic!("{error}"));
    let fabric = FabricParams::from_table(&table).unwrap_or_else(|error| panic!("{error}")).build();
    let knows = Knowledge { sizes: true, deadlines: true };
    let (transport, setup) = (TransportParams::default(), Setup::Fixed(Time::ZERO));
    let mut world = World::new(Box::new(rule), knows, &fabric, transport, flows.into(), setup, None);
    assert_eq!(world.run(&mut |_| ControlFlow::Continue(())), Ending::Finished);
    let outcome = world.into_outcome();
    let ends = outcome.flows.iter().map(|flow| flow.end).collect();
    (ends, outcome.ports.iter().map(|port| port.sent.bytes).collect())
}

proptest! {
    #[test]
    fn who_goes_by_a_clock_ends_when_it_would_alone(mut flows in flows(), ranks in 1..4_u16) {
        // Ends are rounded up by a picosecond or two. Among ranks that may be too late: who comes just then goes first.
        if ranks > 1 {
            flows.iter_mut().zip(0..).for_each(|(flow, number)| flow.start += Time::from_ns(137 * number));
        }
        let (tied, sent) = run(flows.clone(), Alike { weight: 1.0, ranks });
        let (apart, expected) = run(flows, Alike { weight: 2.0, ranks });
        for (flow, (tied, apart)) in tied.iter().zip(&apart).enumerate() {
            let off = tied.as_ps().abs_diff(apart.as_ps());
            prop_assert!(off < 1_000, "flow {flow}: {tied} by the clock, {apart} alone");
        }
        prop_assert_eq!(sent, expected);
    }
}
