//! What listed flows must be to run.

use std::collections::{BTreeMap, BTreeSet};

use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, TaskId, Time};

use super::nanoseconds::nanoseconds;
use crate::{FlowSpec, Setting, check_slice};

/// Checks listed flows, and puts them in order of start (those at equal times keep their order).
pub fn in_order(mut flows: Vec<FlowSpec>, setting: &Setting) -> Result<Vec<FlowSpec>, ScenarioError> {
    for (index, flow) in flows.iter().enumerate() {
        check(flow, setting).map_err(|message| ScenarioError::new(format!("flow[{index}]"), message))?;
    }
    check_all_slices(&flows, setting.slices)?;
    flows.sort_by_key(|flow| flow.start);
    tell_task_sizes(&mut flows);
    Ok(flows)
}

/// Checks that a flow can run there.
pub(super) fn check(flow: &FlowSpec, setting: &Setting) -> Result<(), String> {
    let Setting { hosts, slices, mss, .. } = *setting;
    if let Some(host) = [flow.src, flow.dst].into_iter().find(|&host| host >= hosts) {
        return Err(format!("host {host} does not exist; the fabric has {hosts} hosts, counted from 0"));
    }
    if flow.src == flow.dst {
        return Err(format!("src and dst are both host {}", flow.src));
    }
    if flow.size == Bytes::ZERO {
        return Err("size_bytes is 0, but must be at least 1".to_owned());
    }
    check_slice(flow.slice, slices).map_err(|message| format!("slice {message}"))?;
    // Segment numbers have 32 bits.
    let largest = u64::from(mss) * u64::from(u32::MAX);
    if flow.size.get() > largest {
        return Err(format!("size_bytes is {}, but must be at most {largest}", flow.size.get()));
    }
    if flow.start > Time::LONGEST || flow.deadline.is_some_and(|deadline| deadline > Time::LONGEST) {
        let longest = Time::LONGEST.as_ns();
        return Err(format!("start_ns, or the deadline after it, is above {longest} ({})", Time::LONGEST));
    }
    let host_rate = setting.rate_between(flow.src, flow.dst);
    let alone = host_rate.time_for(flow.size);
    match flow.deadline.map(|deadline| deadline.saturating_sub(flow.start)) {
        Some(Time::ZERO) => {
            Err("deadline_ns is 0: it counts from the start, so the flow cannot meet it".to_owned())
        }
        Some(time) if time < alone => Err(format!(
            "deadline_ns is {}, but {} alone take {} ns on a host's link of {host_rate}",
            nanoseconds(time),
            flow.size,
            nanoseconds(alone)
        )),
        _ => Ok(()),
    }
}

/// No slice is without flows.
fn check_all_slices(flows: &[FlowSpec], slices: usize) -> Result<(), ScenarioError> {
    let named: BTreeSet<usize> = flows.iter().map(|flow| usize::from(flow.slice)).collect();
    let Some(idle) = (1..=slices).find(|slice| !named.contains(slice)) else { return Ok(()) };
    let message = format!(
        "no flow is of slice {idle}: give the list a column slice with the numbers of slices, counted from 1, or \
         leave slice[{}] out",
        idle - 1
    );
    Err(ScenarioError::new("", message))
}

/// A list's flows of one number are a task.
fn tell_task_sizes(flows: &mut [FlowSpec]) {
    let mut sizes: BTreeMap<TaskId, Bytes> = BTreeMap::new();
    for flow in flows.iter().filter(|flow| flow.task > 0) {
        let size = sizes.entry(flow.task).or_default();
        *size = Bytes::new(size.get().saturating_add(flow.size.get()));
    }
    for flow in flows.iter_mut() {
        flow.task_size = sizes.get(&flow.task).copied().unwrap_or_default();
    }
}
