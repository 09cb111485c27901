//! Tasks under Baraat: who is served when, and what a port has left for whom.

use tailrace_core::Time;
use tailrace_scenario::FlowSpec;
use tailrace_scenario::fabric::Fabric;

use crate::setup::{Run, Setup, fabric, flow};

/// A rack of 1 Gbps whose base round trip is a millisecond (Baraat §5.1).
fn rack(hosts: u16) -> Fabric {
    fabric(&format!(
        r#"kind = "star"
        hosts = {hosts}
        host_rate = "1Gbps"
        host_delay = "243us""#
    ))
}

/// The flow as one of a task.
fn of_task(task: u32, flow: FlowSpec) -> FlowSpec {
    FlowSpec { task, ..flow }
}

/// When the last flow of each task was done, in ms, the first task first.
fn task_ends(run: &Run) -> Vec<f64> {
    let mut ends = vec![0.0f64; run.records.iter().map(|record| record.task as usize).max().unwrap_or(0)];
    for record in &run.records {
        let end = &mut ends[record.task as usize - 1];
        *end = end.max(record.end.as_secs_f64() * 1e3);
    }
    ends
}

/// Each has its link to itself while the other waits.
#[test]
fn the_later_of_two_tasks_is_done_after_the_earlier_one() {
    let flows = [2, 1].map(|task| of_task(task, flow(task as u16, 0, 1_000_000, Time::ZERO)));
    let ends = task_ends(&Setup::new(rack(3), flows.into()).run("baraat", ""));
    let alone = task_ends(&Setup::new(rack(3), flows[1..].into()).run("baraat", ""));
    assert!(ends[0] < 1.05 * alone[0] && ends[1] > 1.7 * alone[0], "{ends:?}, {alone:?} ms alone");
}
