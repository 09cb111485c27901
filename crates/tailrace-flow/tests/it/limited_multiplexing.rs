//! FIFO with limited multiplexing against a model of one link that knows nothing of solvers, classes or precision: in
//! order of tasks, the first has the link, and shares it with the next one for as long as it is heavy (Baraat §3.3).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, Ending, HostId, Knowledge, Prospect, Rank, RateRule, TaskId, Time};
use tailrace_fabric::{Fabric, FabricParams};
use tailrace_flow::{Setup, World};
use tailrace_workload::FlowSpec;

/// Bytes a second of each host's link.
const CAPACITY: f64 = 1.25e8;
/// Hosts that receive; each flow has a sender of its own, so that the receiver's link is its bottleneck.
const RECEIVERS: u32 = 3;

struct FifoLm(Bytes);
impl RateRule for FifoLm {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank::of_task(prospect.flow)
    }
    fn heavy(&self) -> Option<Bytes> {
        Some(self.0)
    }
}

#[derive(Clone, Debug)]
struct Flow {
    task: TaskId,
    receiver: HostId,
    size: u64,
    start_us: u64,
}

impl Flow {
    /// Bytes with headers.
    fn wire(&self) -> f64 {
        (self.size + self.size.div_ceil(1460) * 40) as f64
    }
}

/// Up to six tasks of up to five flows each, which come in any order; a task may be away for a while.
fn tasks() -> impl Strategy<Value = Vec<Flow>> {
    let flow = (0..RECEIVERS, 1_000..3_000_000_u64, prop_oneof![Just(0), 0..100_000_u64]);
    let task = (0..60_000_u64, prop::collection::vec(flow, 1..=5));
    prop::collection::vec(task, 1..=6).prop_map(|tasks| {
        let flows = tasks.into_iter().zip(1..).flat_map(|((start_us, flows), task)| {
            let flow =
                move |(receiver, size, later)| Flow { task, receiver, size, start_us: start_us + later };
            flows.into_iter().map(flow)
        });
        let mut flows: Vec<Flow> = flows.collect();
        flows.sort_by_key(|flow| flow.start_us);
        flows
    })
}

/// When the flows of one receiver's link end, in seconds.
fn ends_on_a_link(flows: &[&Flow], heavy: f64) -> Vec<f64> {
    let mut left: Vec<f64> = flows.iter().map(|flow| flow.wire()).collect();
    let mut ends = vec![f64::NAN; flows.len()];
    let start = |i: usize| flows[i].start_us as f64 * 1e-6;
    // What tasks have sent.
    let mut sent: BTreeMap<TaskId, f64> = BTreeMap::new();
    let mut now = 0.0;
    loop {
        let here: Vec<usize> =
            (0..flows.len()).filter(|&i| ends[i].is_nan() && start(i) <= now + 1e-12).collect();
        let waiting: BTreeMap<TaskId, f64> =
            here.iter().map(|&i| (flows[i].task, *sent.entry(flows[i].task).or_insert(0.0))).collect();
        let next_start = (0..flows.len()).map(start).filter(|&at| at > now + 1e-12).fold(f64::MAX, f64::min);
        if here.is_empty() {
            if next_start == f64::MAX {
                return ends;
            }
            now = next_start;
            continue;
        }
        // The first task, and each that comes after a heavy one.
        let heavy_ones = waiting.values().take_while(|&&bytes| bytes > heavy - 0.5).count();
        let served: Vec<TaskId> = waiting.keys().copied().take(heavy_ones + 1).collect();
        let members: Vec<usize> = here.into_iter().filter(|&i| served.contains(&flows[i].task)).collect();
        let rate = CAPACITY / members.len() as f64;
        let mut until = next_start - now;
        for &i in &members {
            until = until.min(left[i] / rate);
        }
        if let Some(last) = served.last() {
            let of_last = members.iter().filter(|&&i| flows[i].task == *last).count();
            let missing = heavy - sent[last];
            if missing > 0.5 {
                until = until.min(missing / (rate * of_last as f64));
            }
        }
        now += until;
        for &i in &members {
            left[i] -= rate * until;
            *sent.entry(flows[i].task).or_insert(0.0) += rate * until;
            if left[i] < 1e-3 {
                ends[i] = now;
            }
        }
    }
}

fn star(hosts: usize) -> Fabric {
    let text = format!("kind = \"star\"\nhosts = {hosts}\nhost_rate = \"1Gbps\"");
    let table = text.parse().unwrap_or_else(|error| panic!("{error}"));
    FabricParams::from_table(&table).unwrap_or_else(|error| panic!("{error}")).build().as_ref().clone()
}

/// When the flows end in a world, in seconds.
fn ends_in_a_world(flows: &[Flow], heavy: u64) -> Vec<f64> {
    let spec = |(i, flow): (usize, &Flow)| FlowSpec {
        src: RECEIVERS + i as u32,
        dst: flow.receiver,
        size: Bytes::new(flow.size),
        start: Time::from_us(flow.start_us),
        task: flow.task,
        ..FlowSpec::default()
    };
    let feed = flows.iter().enumerate().map(spec).collect::<Vec<_>>().into();
    let (fabric, setup) = (star(RECEIVERS as usize + flows.len()), Setup::Fixed(Time::ZERO));
    let knows = Knowledge { sizes: true, deadlines: true };
    let rule = Box::new(FifoLm(Bytes::new(heavy)));
    let mut world = World::new(rule, knows, &fabric, TransportParams::default(), feed, setup, None);
    assert_eq!(world.run(&mut |_| ControlFlow::Continue(())), Ending::Finished);
    world.into_outcome().flows.iter().map(|record| record.end.as_secs_f64()).collect()
}

proptest! {
    #![proptest_config(tailrace_cases::cases(400))]

    #[test]
    fn flows_end_when_a_model_of_their_link_says(flows in tasks(), heavy in 100_000..5_000_000_u64) {
        let found = ends_in_a_world(&flows, heavy);
        for receiver in 0..RECEIVERS {
            let here: Vec<usize> = (0..flows.len()).filter(|&i| flows[i].receiver == receiver).collect();
            let own: Vec<&Flow> = here.iter().map(|&i| &flows[i]).collect();
            for (&i, expected) in here.iter().zip(ends_on_a_link(&own, heavy as f64)) {
                // Rates are followed to 1e-5, and a task is heavy when a byte is missing.
                let tolerance = 2e-5 * expected + 1e-6;
                prop_assert!((found[i] - expected).abs() < tolerance, "flow {i}: {} is not {expected}", found[i]);
            }
        }
    }
}
