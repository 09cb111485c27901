//! Policies and rules, handed to programs whole.

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object};
use tailrace_core::{Directives, WindowShim};

use super::known::{POLICY_BYTES, RULE_BYTES, RULE_KEY_BYTES, Rule, policy_bytes, rule_entries};
use super::{flows, load};
use crate::error::BpfError;

/// Two of each, made once, for that takes rights which an agent gives up: those that packets find, and the next ones.
pub(super) struct Handover {
    policies: [MapHandle; 2],
    rules: [MapHandle; 2],
    next: usize,
    generation: u32,
}

impl Handover {
    pub(super) fn new() -> Result<Self, BpfError> {
        let policy = || map(MapType::Array, "policy", (4, POLICY_BYTES), 1);
        let rules = || map(MapType::Hash, "rules", (RULE_KEY_BYTES, RULE_BYTES), 1_024);
        Ok(Handover {
            policies: [policy()?, policy()?],
            rules: [rules()?, rules()?],
            next: 0,
            // What is known of flows may be pinned, with the generation of an agent before this one.
            generation: flows::random()? as u32,
        })
    }

    /// From now on programs find this policy and these rules: each packet the old ones or these.
    pub(super) fn hand_over(
        &mut self,
        object: &Object,
        directives: &Directives,
        rules: &[Rule],
        law: Option<(&WindowShim, bool)>,
    ) -> Result<(), BpfError> {
        let what = || load::refused("handing the kernel a policy");
        let generation = self.generation.wrapping_add(1);
        let (policy, entries) = (policy_bytes(directives, rules, law, generation)?, rule_entries(rules)?);
        // Nobody reads these any more: the kernel waited for those who did when the others took their place.
        let (table, set) = (&self.policies[self.next], &self.rules[self.next]);
        for key in set.keys().collect::<Vec<_>>() {
            set.delete(&key).map_err(what())?;
        }
        for (key, value) in entries {
            set.update(&key, &value, MapFlags::ANY).map_err(what())?;
        }
        table.update(&0u32.to_ne_bytes(), &policy, MapFlags::ANY).map_err(what())?;
        // Rules first: what is taken down of a flow between the two is looked up again, as its generation says.
        replace(object, "rules", set)?;
        replace(object, "policies", table)?;
        (self.next, self.generation) = (1 - self.next, generation);
        Ok(())
    }
}

fn map(kind: MapType, name: &str, (key, value): (usize, usize), entries: u32) -> Result<MapHandle, BpfError> {
    let options = bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as _, ..Default::default() };
    MapHandle::create(kind, Some(name), key as u32, value as u32, entries, &options)
        .map_err(load::refused("making room for a policy"))
}

fn replace(object: &Object, name: &str, inner: &MapHandle) -> Result<(), BpfError> {
    load::map(object, name)?
        .update(&0u32.to_ne_bytes(), &inner.as_fd().as_raw_fd().to_ne_bytes(), MapFlags::ANY)
        .map_err(load::refused("handing the kernel a policy"))
}
