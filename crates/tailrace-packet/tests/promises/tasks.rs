//! Tasks in whole runs: their flows run like any others, and a task is complete with the last of them.

use std::ops::ControlFlow;

use tailrace_core::transport::TransportParams;
use tailrace_core::{FlowRecord, Scheme, TaskRecord};
use tailrace_packet::{Watch, World};
use tailrace_scenario::Scenario;
use tailrace_workload::feed::Feed;

use crate::setup::{Setup, WithScheme, preset};

/// Flows and tasks of a run of DCTCP with such a workload.
fn run(workload: &str) -> (Vec<FlowRecord>, Vec<TaskRecord>) {
    struct Of(Scenario);
    impl WithScheme for Of {
        type Output = (Vec<FlowRecord>, Vec<TaskRecord>);
        fn with<S: Scheme>(self, scheme: S) -> Self::Output {
            let feed = Feed::new(&self.0.workload, &self.0.base, self.0.setting(), self.0.seed)
                .unwrap_or_else(|error| panic!("{error}"));
            let (fabric, transport) = (self.0.fabric.build(), TransportParams::default());
            let mut world = World::new(scheme, &fabric, transport, feed, None, Watch::default(), 1);
            let _ = world.run(&mut |_| ControlFlow::Continue(()));
            let outcome = world.into_outcome();
            (outcome.flows.iter().collect(), outcome.tasks)
        }
    }
    let text = format!("[fabric]\npreset = \"tree5x4\"\n[scheme]\nname = \"dctcp\"\n[workload]\n{workload}");
    let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    Setup::new(preset("tree5x4"), Vec::new()).with_scheme("dctcp", "", Of(scenario))
}

#[test]
fn a_task_ends_with_its_last_flow() {
    let (flows, tasks) = run("[[workload.task]]
         workflow = { parallel = { servers = 3 } }
         sizes = { fixed = \"300KB\" }
         every = \"5ms\"
         count = 20");
    assert_eq!((flows.len(), tasks.len()), (60, 20));
    for task in &tasks {
        let own: Vec<&FlowRecord> = flows.iter().filter(|flow| flow.task == task.id).collect();
        assert_eq!(own.len() as u32, task.flows);
        assert_eq!(own.iter().map(|flow| flow.size.get()).sum::<u64>(), task.bytes.get());
        assert!(own.iter().all(|flow| flow.start == task.start));
        assert_eq!(own.iter().map(|flow| flow.end).max(), Some(task.end));
    }
}

#[test]
fn a_stage_starts_when_its_last_input_has_arrived() {
    let (flows, tasks) = run("[[workload.task]]
         workflow = { partition-aggregate = { stages = 2, selectivity = 0.5 } }
         sizes = { fixed = \"120KB\" }
         every = \"20ms\"
         count = 5");
    // The top is host 19: three workers in each of four other racks, and their aggregators.
    assert_eq!((flows.len(), tasks.len()), (5 * 16, 5));
    for flow in flows.iter().filter(|flow| flow.dst == 19) {
        let inputs = flows.iter().filter(|input| input.task == flow.task && input.dst == flow.src);
        let (bytes, last) = inputs
            .fold((0, None), |(bytes, last), input| (bytes + input.size.get(), last.max(Some(input.end))));
        assert_eq!(Some(flow.start), last);
        assert_eq!(flow.size.get(), (bytes as f64 * 0.5).round() as u64);
    }
    for task in &tasks {
        let own = flows.iter().filter(|flow| flow.task == task.id);
        assert_eq!(own.map(|flow| flow.end).max(), Some(task.end));
    }
}
