//! Rules of an agent's file: what is known of which flows.

use std::path::PathBuf;

use serde::Deserialize;
use tailrace_config::{ScenarioError, table};
use tailrace_core::{Bytes, SliceId, Time};
use tailrace_workload::check_slice;
use toml::{Table, Value};

/// What is known of the flows of some sockets. Programs of a cgroup that is named may say more themselves.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRule {
    /// Sockets in this cgroup and below; in any if not given.
    pub cgroup: Option<PathBuf>,
    /// Sockets with this port at either end.
    pub port: Option<u16>,
    /// The slice of their flows.
    pub slice: Option<SliceId>,
    /// The flows' payload bytes.
    pub size: Option<Bytes>,
    /// Time from a flow's start to its deadline.
    pub deadline: Option<Time>,
}

/// The kernel counts in nanoseconds.
const SHORTEST: Time = Time::from_us(1);
const LONGEST: Time = Time::from_ms(24 * 3_600 * 1_000);

/// Takes the rules out of a file with so many slices.
pub(super) fn take(given: &mut Table, slices: usize) -> Result<Vec<FlowRule>, ScenarioError> {
    let tables = match given.remove("rule") {
        None => return Ok(Vec::new()),
        Some(Value::Array(tables)) => tables,
        Some(_) => return Err(ScenarioError::new("rule", "must be a list of tables: [[rule]]")),
    };
    let rule = |(number, value)| {
        let read = || match value {
            Value::Table(fields) => table::read(fields).and_then(|rule| check(rule, slices)),
            _ => Err(ScenarioError::new("", "must be a table: [[rule]]")),
        };
        read().map_err(|error: ScenarioError| error.within(&format!("rule[{number}]")))
    };
    tables.into_iter().enumerate().map(rule).collect()
}

fn check(rule: FlowRule, slices: usize) -> Result<FlowRule, ScenarioError> {
    let wrong = |field: &str, message: &str| Err(ScenarioError::new(field, message));
    if rule.cgroup.is_none() && rule.port.is_none() {
        return wrong("", "names no sockets: give cgroup, port or both");
    }
    if rule.cgroup.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
        return wrong("cgroup", "is empty, but must be a path, such as \"/system.slice/nginx.service\"");
    }
    if rule.port == Some(0) {
        return wrong("port", "is 0, but must be 1 to 65535");
    }
    if rule.slice.is_some_and(|slice| slice > 0) && slices == 0 {
        return wrong("slice", "names a slice, but the file has none: add [[slice]] with a weight");
    }
    if let Some(slice) = rule.slice {
        check_slice(slice, slices).map_err(|message| ScenarioError::new("slice", message))?;
    }
    if rule.size == Some(Bytes::ZERO) {
        return wrong("size", "is 0, but must be at least a byte; leave it out if it is not known");
    }
    if rule.deadline.is_some_and(|deadline| !(SHORTEST..=LONGEST).contains(&deadline)) {
        return wrong("deadline", "must be from 1us to 86400s: it counts from a flow's start");
    }
    if rule.deadline.is_some() && rule.size.is_none() {
        return wrong("deadline", "needs a size beside it: without one nobody can tell how urgent it is");
    }
    if rule.cgroup.is_none() && rule.slice.is_none() && rule.size.is_none() {
        return wrong("", "says nothing of these flows: give slice or size");
    }
    Ok(rule)
}
