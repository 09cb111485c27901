//! A controller's updates, among them those that come too late for their flows.

use proptest::prelude::*;
use tailrace_core::{Objective, Slice, Time};
use tailrace_packet::Watch;
use tailrace_workload::FlowSpec;

use crate::setup::{Run, Setup, fabric, flow};

/// Three hosts on each side of a link, and two slices.
fn setup(flows: Vec<FlowSpec>, weights: [f64; 2]) -> Setup {
    let fabric = fabric(
        "kind = \"dumbbell\"\nleft = 3\nright = 3\nhost_rate = \"10Gbps\"\nbottleneck_rate = \"10Gbps\"\n\
         delay = \"10us\"\nbuffer = \"300KB\"",
    );
    let objectives = [Objective::Deadline, Objective::Completion];
    let slices = weights.into_iter().zip(objectives);
    let slices = slices.map(|(weight, objective)| Slice { weight, objective }).collect();
    let watch = Watch { slices, ..Watch::default() };
    Setup { watch, ..Setup::new(fabric, flows) }
}

fn under(setup: &Setup, slot_us: u64, delay_us: u64, at_once: bool) -> Run {
    let control = format!("{{ slot = \"{slot_us}us\", delay = \"{delay_us}us\", at_once = {at_once} }}");
    setup.run("uranus", &format!("control = {control}"))
}

#[test]
fn updates_for_flows_that_have_ended_change_nothing() {
    // Every millisecond three flows meet at the link, two of which share what their slice has.
    let flows = (0..30u32).map(|number| {
        let (start, place) = (Time::from_ms(1) * u64::from(number / 3), number % 3);
        let size = 200_000 + 100_000 * u64::from(place);
        FlowSpec { slice: 1 + u16::from(place > 0), ..flow(place, 3 + place, size, start) }
    });
    let setup = setup(flows.collect(), [1.0, 5.0]);
    // Each is done before its first update arrives, when others are in progress.
    let (late, never) = (under(&setup, 100, 5_000, true), under(&setup, 100, 90_000_000, true));
    assert!(late.records.iter().all(|record| record.fct().is_some_and(|fct| fct < Time::from_ms(5))));
    assert!(late.records == never.records);
    assert!(under(&setup, 100, 10, true).records != never.records, "updates in time do change something");
}

fn any_flow() -> impl Strategy<Value = FlowSpec> {
    (0u32..6, 1u32..6, 1u64..300_000, 0u64..3_000, 0u16..4, prop::option::of(100u64..5_000)).prop_map(
        |(src, step, size, start_us, slice, due_us)| {
            let start = Time::from_us(start_us);
            let deadline = due_us.map(|due| start + Time::from_us(due));
            FlowSpec { slice, deadline, ..flow(src, (src + step) % 6, size, start) }
        },
    )
}

proptest! {
    #![proptest_config(tailrace_cases::cases(60))]

    #[test]
    fn whatever_a_controller_says_and_when_all_flows_end(
        flows in prop::collection::vec(any_flow(), 1..30),
        exponents in [-12.0..12.0f64, -12.0..12.0f64],
        slot_us in 20u64..3_000,
        delay_us in 0u64..3_000,
        at_once in any::<bool>(),
    ) {
        let setup = setup(flows, exponents.map(f64::exp2));
        let run = under(&setup, slot_us, delay_us, at_once);
        prop_assert!(run.records.iter().all(|record| record.fct().is_some()));
        prop_assert_eq!(under(&setup, slot_us, delay_us, at_once).digest, run.digest);
    }
}
