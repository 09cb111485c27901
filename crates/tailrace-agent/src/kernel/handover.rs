//! Policies and rules, handed to programs whole.

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object};
use tailrace_core::{Directives, WindowShim};

use super::known::{POLICY_BYTES, RULE_BYTES, RULE_KEY_BYTES, Rule, policy_bytes, rule_entries};
use super::load;
use crate::error::AgentError;

/// From now on programs find this policy and these rules: each packet the old ones or these.
pub(super) fn hand_over(
    object: &Object,
    directives: &Directives,
    rules: &[Rule],
    law: Option<&WindowShim>,
    generation: u32,
) -> Result<(), AgentError> {
    let what = || load::refused("handing the kernel a policy");
    let (policy, entries) = (policy_bytes(directives, rules, law, generation)?, rule_entries(rules)?);
    let set = map(MapType::Hash, "rules", (RULE_KEY_BYTES, RULE_BYTES), 1_024)?;
    for (key, value) in entries {
        set.update(&key, &value, MapFlags::ANY).map_err(what())?;
    }
    let table = map(MapType::Array, "policy", (4, POLICY_BYTES), 1)?;
    table.update(&0u32.to_ne_bytes(), &policy, MapFlags::ANY).map_err(what())?;
    // Rules first: what is taken down of a flow between the two is looked up again, as its generation says.
    replace(object, "rules", &set)?;
    replace(object, "policies", &table)
}

fn map(
    kind: MapType,
    name: &str,
    (key, value): (usize, usize),
    entries: u32,
) -> Result<MapHandle, AgentError> {
    let options = bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as _, ..Default::default() };
    MapHandle::create(kind, Some(name), key as u32, value as u32, entries, &options)
        .map_err(load::refused("handing the kernel a policy"))
}

fn replace(object: &Object, name: &str, inner: &MapHandle) -> Result<(), AgentError> {
    let outer = object.maps().find(|map| map.name() == name);
    let outer =
        outer.ok_or_else(|| AgentError::Kernel(format!("the programs for the kernel have no {name}")))?;
    // The kernel waits for those who still read the old one before it goes.
    outer
        .update(&0u32.to_ne_bytes(), &inner.as_fd().as_raw_fd().to_ne_bytes(), MapFlags::ANY)
        .map_err(load::refused("handing the kernel a policy"))
}
