//! Whole networks: what a scheme does where many of its parts meet.

use std::ops::ControlFlow;

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, Ending, FlowRecord, HEADER_BYTES, HostId, Reveals, Scheme, Time};
use tailrace_fabric::{Buffer, Fabric, FabricParams, LoadBalancing};
use tailrace_packet::{Watch, World};
use tailrace_workload::FlowSpec;

use crate::{Verdict, ensure, setting};

const FABRICS: [&str; 2] = [
    "kind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"",
    "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\nhost_rate = \"10Gbps\"\nspine_rate = \"10Gbps\"",
];
/// Forty packets: an incast loses some.
const BUFFER: Buffer = Buffer::PerPort(Bytes::new(60_000));

/// On a star and on two racks, long flows, bursts to one host and flows with deadlines all end, none faster than its path
/// allows; every packet is accounted for; a second run is equal; and what flows do not reveal changes nothing.
pub fn end_balanced_and_repeat_themselves<S: Scheme>() -> Verdict {
    for fields in FABRICS {
        let mut fabric = fabric(fields)?;
        if S::ONE_PATH {
            fabric.load_balancing = LoadBalancing::Ecmp;
        }
        for reveals in [Reveals::Deadline, Reveals::Size, Reveals::Nothing] {
            let flows = |due_us| flows(reveals, due_us);
            let run = run::<S>(&fabric, flows(400))?;
            ensure!(
                run == self::run::<S>(&fabric, flows(400))?,
                "two equal runs differ ({reveals:?} revealed)"
            );
            let blind = !S::KNOWS.deadlines || reveals != Reveals::Deadline;
            ensure!(
                !blind || run.digest == self::run::<S>(&fabric, flows(40_000))?.digest,
                "deadlines that it may not know change what it does ({reveals:?} revealed)"
            );
        }
    }
    Ok(())
}

fn fabric(fields: &str) -> Result<Fabric, String> {
    let table = fields.parse().map_err(|error| format!("{fields}: {error}"))?;
    let params = FabricParams::from_table(&table).map_err(|error| error.to_string())?;
    Ok(Fabric { buffer: BUFFER, ..Fabric::clone(&params.build()) })
}

/// Two long flows, four bursts of five flows to host 0, and short ones between any two.
fn flows(reveals: Reveals, due_us: u64) -> Vec<FlowSpec> {
    let flow = |src, dst, size, start_us| FlowSpec {
        src,
        dst,
        size: Bytes::new(size),
        start: Time::from_us(start_us),
        reveals,
        deadline: Some(Time::from_us(start_us + due_us)),
        ..FlowSpec::default()
    };
    let long = [flow(1, 0, 2_000_000, 0), flow(2, 3, 1_000_000, 5)];
    let bursts = (0..20u64).map(|n| flow(1 + (n % 5) as HostId, 0, 30_000 + n, 50 + n / 5 * 300));
    let short =
        (0..30u64).map(|n| flow((n % 6) as HostId, ((n + 1 + n / 6) % 6) as HostId, 1 + 97 * n * n, 40 * n));
    let mut flows: Vec<_> = long.into_iter().chain(bursts).chain(short).filter(|f| f.src != f.dst).collect();
    flows.sort_by_key(|flow| flow.start);
    flows
}

/// What two equal runs have in common.
#[derive(PartialEq)]
struct Run {
    digest: u64,
    records: Vec<FlowRecord>,
}

fn run<S: Scheme>(fabric: &Fabric, flows: Vec<FlowSpec>) -> Result<Run, String> {
    let transport = TransportParams::default();
    let facts = tailrace_core::Facts {
        hosts: fabric.hosts,
        host_rate: fabric.host_rate(),
        base_rtt: fabric.farthest_rtt(transport.mss + HEADER_BYTES, transport.ack_bytes),
        longest_path: fabric.longest_path(),
        racks: fabric.edge_of.clone(),
        ..setting::facts()?
    };
    let scheme = S::new(S::Params::default(), &facts).map_err(|error| error.to_string())?;
    let count = flows.len();
    let mut world =
        World::new(scheme, fabric, transport, flows.into(), Some(Time::from_ms(60_000)), Watch::default(), 1);
    let ending = world.run(&mut |_| ControlFlow::Continue(()));
    let outcome = world.into_outcome();
    let ledger = outcome.ledger.ok_or("a run of packets has no ledger")?;
    ensure!(ledger.balances(), "packets are not accounted for: {ledger}");
    let records: Vec<FlowRecord> = outcome.flows.iter().collect();
    ensure!(ending == Ending::Finished && records.len() == count, "flows do not end: {ending:?}");
    for record in &records {
        let FlowRecord { id, src, dst, size, reveals, .. } = *record;
        let ideal = fabric.ideal_fct(src, dst, id, size, &transport, HEADER_BYTES);
        ensure!(
            record.stopped || record.fct().is_some_and(|fct| fct >= ideal),
            "faster than {ideal}: {record:?}"
        );
        let known = S::KNOWS.deadlines && reveals == Reveals::Deadline;
        ensure!(!record.stopped || known, "gives up a flow without a known deadline: {record:?}");
    }
    Ok(Run { digest: outcome.digest, records })
}
