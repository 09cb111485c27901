//! Flows that share what their host lets them send.

use std::ops::ControlFlow;

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, Cap, HostId, Knowledge, Prospect, Rank, Rate, RateRule, Time};
use tailrace_fabric::FabricParams;
use tailrace_flow::{Setup, World};
use tailrace_workload::FlowSpec;

/// A thousand full packets: 12 ms of a link.
const UNIT: u64 = 1_460_000;
const UNIT_MS: f64 = 12.0;

/// Flows to odd hosts share a quarter of a link, by host.
struct ToOddHosts;
impl RateRule for ToOddHosts {
    fn rank(&self, _: &Prospect<'_>) -> Rank {
        Rank::SAME
    }
    fn cap(&self, prospect: &Prospect<'_>) -> Option<Cap> {
        (prospect.flow.dst % 2 == 1).then_some(Cap { group: 2, rate: Rate::from_bps(250_000_000) })
    }
}

/// When flows of so many units end, in units: source, destination, size.
fn ends(flows: &[(HostId, HostId, u64)]) -> Vec<f64> {
    let table = "kind = \"star\"\nhosts = 6\nhost_rate = \"1Gbps\"".parse().unwrap_or_else(|e| panic!("{e}"));
    let fabric = FabricParams::from_table(&table).unwrap_or_else(|error| panic!("{error}")).build();
    let spec = |&(src, dst, units): &(HostId, HostId, u64)| FlowSpec {
        src,
        dst,
        size: Bytes::new(units * UNIT),
        ..FlowSpec::default()
    };
    let feed = flows.iter().map(spec).collect::<Vec<_>>().into();
    let (knows, setup) = (Knowledge { sizes: true, deadlines: true }, Setup::Fixed(Time::ZERO));
    let rule = Box::new(ToOddHosts);
    let mut world = World::new(rule, knows, &fabric, TransportParams::default(), feed, setup, None);
    let _ = world.run(&mut |_| ControlFlow::Continue(()));
    let outcome = world.into_outcome();
    let sent: u64 = outcome.ports[..6].iter().map(|port| port.sent.bytes).sum();
    assert_eq!(sent, outcome.flows.iter().map(|flow| flow.size.get() / 1460 * 1500).sum::<u64>());
    outcome.flows.iter().map(|flow| flow.end.as_secs_f64() * 1e3 / UNIT_MS).collect()
}

#[test]
fn a_group_shares_its_cap_and_leaves_the_rest_of_the_link() {
    let close = |flows: &[(HostId, HostId, u64)], expected: &[f64]| {
        let ends = ends(flows);
        let equal = ends.iter().zip(expected).all(|(end, expected)| (end - expected).abs() < 1e-6);
        assert!(equal && ends.len() == expected.len(), "{ends:?} instead of {expected:?}");
    };
    close(&[(0, 1, 1)], &[4.0]);
    // Two share a quarter: an eighth each; then the larger one has the quarter.
    close(&[(0, 1, 1), (0, 3, 2)], &[8.0, 12.0]);
    // Each host has a cap of its own.
    close(&[(0, 1, 1), (2, 3, 1)], &[4.0, 4.0]);
    // What the group leaves, others have: three quarters.
    close(&[(0, 1, 1), (0, 2, 3)], &[4.0, 4.0]);
    // A cap is no claim: five flows to one host have a fifth of its link each.
    close(&[(0, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1)], &[5.0; 5]);
}
