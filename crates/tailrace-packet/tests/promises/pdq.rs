//! PDQ in whole networks: no flow waits for ever, and the flows of one link go one by one, the shortest first.

use proptest::prelude::*;
use tailrace_core::{Ending, HEADER_BYTES, HostId, Reveals, Scheme, Time};
use tailrace_fabric::{Fabric, FabricParams, Failures, LoadBalancing, PortRules};
use tailrace_schemes::pdq::{Params, Pdq};
use tailrace_workload::FlowSpec;

use crate::rates::{dumbbell, with_deadline};
use crate::setup::{ENDLESS, Run, Setup, any_kind, fabric, flow};

const STAR: &str = "kind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"";

/// Runs flows that nothing is lost of for a time that is long for all of them.
fn run(fabric: Fabric, flows: Vec<FlowSpec>) -> Run {
    let fabric = Fabric { buffer: ENDLESS, load_balancing: LoadBalancing::Ecmp, ..fabric };
    let setup = Setup { horizon: Some(Time::from_ms(20_000)), ..Setup::new(fabric, flows) };
    let pdq = Pdq::new(Params::default(), &setup.facts()).unwrap_or_else(|error| panic!("{error}"));
    setup.run_scheme(pdq)
}

/// Every flow is finished, or was given up for its deadline.
fn all_end(run: &Run) -> Result<(), TestCaseError> {
    prop_assert_eq!(run.ledger.dropped().packets, 0);
    prop_assert_eq!(run.ending, Ending::Finished);
    for record in &run.records {
        let given_up = record.stopped && record.deadline < Time::MAX;
        prop_assert!(given_up || record.fct().is_some(), "{:?}", record);
    }
    Ok(())
}

/// The star and the flows on which two ports let go, in turns, the flow that the other one held back.
#[test]
fn no_two_ports_hold_back_each_others_flow() {
    let long = [flow(1, 0, 2_000_000, Time::ZERO), flow(2, 3, 1_000_000, Time::from_us(5))];
    let bursts = (0..20u32)
        .map(|n| flow(1 + n % 5, 0, 30_000 + u64::from(n), Time::from_us(50 + u64::from(n / 5) * 300)));
    let short = (0..30u32).map(|n| {
        let size = 1 + 97 * u64::from(n * n);
        flow(n % 6, (n + 1 + n / 6) % 6, size, Time::from_us(40 * u64::from(n)))
    });
    let flows = long.into_iter().chain(bursts).chain(short).filter(|flow| flow.src != flow.dst).collect();
    all_end(&run(fabric(STAR), flows)).unwrap_or_else(|error| panic!("{error}"));
}

/// Hosts by any numbers, size, whether it is known, start in µs, and deadline in µs after it.
type AnyFlow = (u32, u32, u64, bool, u64, Option<u64>);

fn any_flow() -> impl Strategy<Value = AnyFlow> {
    let size = prop_oneof![1u64..3_000, 30_000u64..30_100, 1u64..300_000, Just(300_000u64)];
    let start = prop_oneof![Just(0u64), 0u64..50, 0u64..2_000];
    let due = prop::option::weighted(0.3, 50u64..5_000);
    (any::<u32>(), any::<u32>(), size, any::<bool>(), start, due)
}

fn spec(hosts: HostId, (src, dst, size, known, start, due): AnyFlow) -> FlowSpec {
    let src = src % hosts;
    let flow = flow(src, (src + 1 + dst % (hosts - 1)) % hosts, size, Time::from_us(start));
    let flow = FlowSpec { reveals: if known { Reveals::Size } else { Reveals::Nothing }, ..flow };
    due.map_or(flow, |due| with_deadline(flow, Time::from_us(start + due)))
}

/// Flows between few hosts share both their ports; there they met.
fn any_fabric() -> impl Strategy<Value = Fabric> {
    let built = |kind| {
        let port_rules = PortRules::default();
        FabricParams {
            kind,
            load_balancing: LoadBalancing::Ecmp,
            ecmp_seed: 0,
            buffer: ENDLESS,
            port_rules,
            failures: Failures::default(),
        }
        .build()
        .as_ref()
        .clone()
    };
    prop_oneof![Just(fabric(STAR)), any_kind().prop_map(built)]
}

proptest! {
    #![proptest_config(tailrace_cases::cases(256))]

    #[test]
    fn every_flow_ends(fabric in any_fabric(), hosts in 2u32..7, flows in prop::collection::vec(any_flow(), 1..50)) {
        let hosts = hosts.min(fabric.hosts as u32);
        let flows = flows.into_iter().map(|flow| spec(hosts, flow)).collect();
        all_end(&run(fabric, flows))?;
    }

    /// Each is done when it and all shorter ones have passed: some round trips for the first, the wire time of each next
    /// one, and the round trips that it takes to go from one to the next. Most often these are few; but several may be let
    /// go while the link changes hands, and what they send is drained before anyone is let go again (LIMITATIONS.md).
    #[test]
    fn flows_of_one_link_end_as_under_shortest_job_first(sizes in prop::collection::vec(100_000u64..2_000_000, 1..9)) {
        let count = sizes.len() as u32;
        let fabric = dumbbell(count);
        let mut sizes = sizes;
        sizes.sort_unstable();
        let flows = (0..count).map(|i| flow(i, count + i, sizes[i as usize], Time::ZERO)).collect();
        let (rtt, run) = (fabric.base_rtt().as_secs_f64(), run(fabric, flows));
        all_end(&run)?;
        // Equals may end in any order.
        let mut ends: Vec<f64> =
            run.records.iter().map(|record| record.fct().unwrap_or(Time::MAX).as_secs_f64()).collect();
        ends.sort_unstable_by(f64::total_cmp);
        let mut passed = 0.0;
        for (place, (end, size)) in ends.into_iter().zip(&sizes).enumerate() {
            passed += *size as f64 * 8e-10 * (1.0 + f64::from(HEADER_BYTES) / 1460.0);
            let round_trips = (end - passed) / rtt;
            let most = 60.0 * (place + 1) as f64;
            prop_assert!((0.5..most).contains(&round_trips), "{round_trips} round trips over at {place}: {:?}", sizes);
        }
    }
}
