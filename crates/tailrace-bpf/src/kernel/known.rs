//! What is known of flows, and the layouts in which the kernel is told of it: bpf/shared.h has the same ones, and each side checks
//! them as it is compiled.

use std::collections::BTreeMap;
use std::mem::offset_of;

use tailrace_core::{Bytes, Directive, Directives, HostLaw, HostLawKind, HostMcp, SliceId, Time, WindowShim};

use super::cgroups::Cgroup;
use crate::error::BpfError;

/// What is known of the flows of some sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Those in this cgroup and below, whose programs may say more themselves; of all if not given.
    pub cgroup: Option<Cgroup>,
    /// Those with this port at either end.
    pub port: Option<u16>,
    /// The flows' slice.
    pub slice: Option<SliceId>,
    /// Their size.
    pub size: Option<Bytes>,
    /// Their deadline, from their start.
    pub deadline: Option<Time>,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its size, if that is known.
    pub size: Option<Bytes>,
    /// Whether it has had a deadline.
    pub deadline: bool,
    /// Its slice.
    pub slice: SliceId,
    /// Which of all directives is its own, as far as its packets have shown.
    pub directive: usize,
}

/// A directive: `struct tr_table`.
#[repr(C)]
struct Table {
    limits: [u64; 7],
    acks: u32,
    weight: u32,
}

const EDGES: usize = 31;
const TABLES: usize = 512;
const BY_FLOW: u32 = u32::MAX;

/// How windows are kept: `struct tr_law`.
#[repr(C)]
struct Law {
    initial_alpha: u64,
    gain: u32,
    flags: u32,
    initial_window: u32,
    min_window: u32,
    max_window: u32,
    least_threshold: u32,
}

/// Of a law's flags, as bpf/shared.h has them.
const SETTLES: u32 = 1;
const GIVEN: u32 = 2;

/// All directives: `struct tr_policy`.
#[repr(C)]
struct Policy {
    edges: [u64; EDGES],
    pieces: u32,
    slices: u32,
    acks: u32,
    generation: u32,
    levels: u32,
    rules: u32,
    law: Law,
    tables: [Table; TABLES],
}

pub(super) const POLICY_BYTES: usize = size_of::<Policy>();

/// `struct tr_rule_key` and `struct tr_rule`.
pub(super) const RULE_KEY_BYTES: usize = 16;
pub(super) const RULE_BYTES: usize = 24;

/// Deeper cgroups cannot be named.
pub(super) const LEVELS: u32 = 8;
/// As many rules as there is room for, with one more for each cgroup.
const MAX_RULES: usize = 1_024;

const MAY_TELL: u32 = 1;
const HAS_SLICE: u32 = 2;
const TELL_ONLY: u32 = 4;

/// What is known of a flow: `struct tr_known`.
#[repr(C)]
struct Taken {
    size: u64,
    deadline_ns: u64,
    begun_ns: u64,
    generation: u32,
    place: u32,
    slice: u32,
    told: u32,
    had_deadline: u32,
    unused: u32,
}

/// Where it is said how often something was said of a flow.
pub(super) const TOLD_AT: usize = offset_of!(Taken, told);

const _: () = assert!(
    offset_of!(Taken, deadline_ns) == 8
        && TOLD_AT == 36
        && size_of::<Table>() == 64
        && offset_of!(Table, acks) == 56
        && size_of::<Law>() == 32
        && offset_of!(Law, gain) == 8
        && offset_of!(Law, max_window) == 24
        && offset_of!(Law, least_threshold) == 28
        && POLICY_BYTES == 304 + TABLES * 64
        && offset_of!(Policy, pieces) == 248
        && offset_of!(Policy, generation) == 260
        && offset_of!(Policy, law) == 272
        && offset_of!(Policy, tables) == 304
        && size_of::<Taken>() == 48
        && offset_of!(Taken, place) == 28
        && offset_of!(Taken, slice) == 32
        && offset_of!(Taken, had_deadline) == 40
);

/// All directives as the kernel has them.
pub(super) fn policy_bytes(
    directives: &Directives,
    rules: &[Rule],
    law: Option<(&WindowShim, bool)>,
    generation: u32,
) -> Result<Vec<u8>, BpfError> {
    let all = directives.all();
    if all.len() > TABLES || directives.edges().len() > EDGES {
        let message = format!(
            "the scheme directs {} kinds of flows (slices times sizes, with deadlines and without), but the kernel's \
             table has room for {TABLES}",
            all.len()
        );
        return Err(BpfError::Kernel(message));
    }
    let acks = match all.iter().all(|of| of.acks == all[0].acks) {
        true => u32::from(all[0].acks),
        false => BY_FLOW,
    };
    let levels =
        rules.iter().filter_map(|rule| rule.cgroup).map(|cgroup| cgroup.level + 1).max().unwrap_or(0);
    let edges = directives.edges().iter().map(|edge| edge.get());
    let edges = edges.chain(std::iter::repeat(u64::MAX)).take(EDGES).flat_map(u64::to_ne_bytes);
    let pieces = directives.edges().len() as u32 + 1;
    let numbers = [pieces, u32::from(directives.slices()), acks, generation, levels, rules.len() as u32];
    let mut bytes: Vec<u8> = edges.chain(numbers.into_iter().flat_map(u32::to_ne_bytes)).collect();
    bytes.extend(law_bytes(law));
    bytes.extend(all.iter().flat_map(table_bytes));
    bytes.resize(POLICY_BYTES, 0);
    Ok(bytes)
}

/// A law, and whether flows have weights of their own.
fn law_bytes(law: Option<(&WindowShim, bool)>) -> Vec<u8> {
    let Some((law, given)) = law else { return vec![0; size_of::<Law>()] };
    let parts = |value: f64, binary_places: i32| (value * 2f64.powi(binary_places)).round();
    let initial_alpha = parts(law.initial_alpha, 32) as u64;
    let numbers = [
        parts(law.gain, 16) as u32,
        u32::from(law.settle) * SETTLES + u32::from(given) * GIVEN,
        law.initial_window,
        law.min_window,
        // Windows are counted in parts of 2^-20 of a segment.
        law.max_window.min(1 << 20),
        law.least_threshold,
    ];
    initial_alpha.to_ne_bytes().into_iter().chain(numbers.into_iter().flat_map(u32::to_ne_bytes)).collect()
}

/// A host's law as the kernel has it: `struct tr_host_law`.
pub(super) fn host_law_bytes(law: &HostLaw) -> Vec<u8> {
    let (kind, [least, most], [from, to], mcp) = match law.kind {
        HostLawKind::Dctcp => (1, [0, 0], [0, 0], None),
        HostLawKind::D2tcp { urgency } => (2, urgency.map(parts), [0, 0], None),
        HostLawKind::L2dct { most, least, from, to } => {
            (3, [least, most].map(parts), [from, to].map(|bytes| bytes.get()), None)
        }
        HostLawKind::Karuna(mcp) => (4, [0, 0], [0, 0], Some(mcp)),
    };
    let mut bytes = law_bytes(Some((&law.window, false)));
    bytes.extend([from, to].into_iter().flat_map(u64::to_ne_bytes));
    bytes.extend([kind, least, most, 0].into_iter().flat_map(u32::to_ne_bytes));
    bytes.extend(mcp_bytes(mcp.as_ref()));
    bytes
}

/// In parts of 1/65536.
fn parts(value: f64) -> u32 {
    (value * 65_536.0).round() as u32
}

const SMOOTHED: u32 = 1;
const PACES: u32 = 2;
const KEEPS: u32 = 4;

/// MCP's parameters: `struct tr_mcp_law`.
fn mcp_bytes(mcp: Option<&HostMcp>) -> Vec<u8> {
    let Some(mcp) = mcp else { return vec![0; 48] };
    // Products with rates have 64 bits.
    let parts = |value: f64| parts(value.min(2_048.0));
    let flags =
        u32::from(mcp.smoothed) * SMOOTHED + u32::from(mcp.pacing) * PACES + u32::from(mcp.keep) * KEEPS;
    let numbers = [
        mcp.round_trip.as_ns().min(u64::from(u32::MAX)) as u32,
        flags,
        parts(mcp.residual_gain),
        parts(mcp.residual_bound),
        parts(mcp.queue_gain),
        parts(mcp.guard_rtts),
        parts(mcp.initial_window),
        parts(mcp.min_window),
        parts(mcp.max_bdps),
        0,
    ];
    let link = mcp.link as u64;
    link.to_ne_bytes().into_iter().chain(numbers.into_iter().flat_map(u32::to_ne_bytes)).collect()
}

fn table_bytes(directive: &Directive) -> impl Iterator<Item = u8> + use<> {
    let limits: [u64; 7] = std::array::from_fn(|priority| directive.tags.range(priority).1);
    let others = [u32::from(directive.acks), directive.weight.parts()];
    limits.into_iter().flat_map(u64::to_ne_bytes).chain(others.into_iter().flat_map(u32::to_ne_bytes))
}

/// Key and value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// Whether programs can have these rules. The error names the field of a file and what is wrong with it.
pub fn check_rules(rules: &[Rule]) -> Result<(), [String; 2]> {
    entries(rules).map(drop)
}

/// Rules as entries of the kernel's map. The error says which cannot be.
pub(super) fn rule_entries(rules: &[Rule]) -> Result<Vec<Entry>, BpfError> {
    entries(rules).map_err(|[field, message]| BpfError::Kernel(format!("{field}: {message}")))
}

fn entries(rules: &[Rule]) -> Result<Vec<Entry>, [String; 2]> {
    let mut entries = BTreeMap::new();
    for (number, rule) in rules.iter().enumerate() {
        let wrong = |message: String| Err([format!("rule[{number}]"), message]);
        if let Some(cgroup) = rule.cgroup.filter(|cgroup| cgroup.level > LEVELS) {
            return wrong(format!("its cgroup is {} levels deep, but {LEVELS} is the most", cgroup.level));
        }
        let cgroup = rule.cgroup.map_or(0, |cgroup| cgroup.id);
        let tells = if rule.cgroup.is_some() { MAY_TELL } else { 0 };
        let flags = tells | if rule.slice.is_some() { HAS_SLICE } else { 0 };
        // What a cgroup may do does not depend on ports.
        let only = (
            rule_bytes(&Rule { slice: None, size: None, deadline: None, ..*rule }, MAY_TELL | TELL_ONLY),
            None,
        );
        if rule.cgroup.is_some() && rule.port.is_some() {
            entries.entry((cgroup, 0)).or_insert(only);
        }
        let key = (cgroup, rule.port.unwrap_or(0));
        if let Some((_, Some(other))) = entries.insert(key, (rule_bytes(rule, flags), Some(number))) {
            return wrong(format!("is for the same sockets as rule[{other}]"));
        }
    }
    if entries.len() > MAX_RULES {
        let message = format!("there are {} rules, but {MAX_RULES} is the most", entries.len());
        return Err(["rule".to_owned(), message]);
    }
    Ok(entries.into_iter().map(|((cgroup, port), (value, _))| (key_bytes(cgroup, port), value)).collect())
}

fn key_bytes(cgroup: u64, port: u16) -> Vec<u8> {
    let mut bytes = cgroup.to_ne_bytes().to_vec();
    bytes.extend(port.to_ne_bytes());
    bytes.resize(RULE_KEY_BYTES, 0);
    bytes
}

fn rule_bytes(rule: &Rule, flags: u32) -> Vec<u8> {
    let size = rule.size.map_or(0, Bytes::get);
    let deadline_ns = rule.deadline.map_or(0, |deadline| deadline.as_ps() / 1_000);
    let mut bytes: Vec<u8> = [size, deadline_ns].into_iter().flat_map(u64::to_ne_bytes).collect();
    bytes.extend([u32::from(rule.slice.unwrap_or(0)), flags].into_iter().flat_map(u32::to_ne_bytes));
    bytes
}

impl Known {
    /// Reads what the kernel has taken down of a flow.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let u32_at = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let at = offset_of!(Taken, size);
        let size = u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?);
        Some(Known {
            size: (size > 0).then_some(Bytes::new(size)),
            deadline: u32_at(offset_of!(Taken, had_deadline))? != 0,
            slice: SliceId::try_from(u32_at(offset_of!(Taken, slice))?).unwrap_or(0),
            directive: u32_at(offset_of!(Taken, place))? as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(cgroup: Option<u64>, port: Option<u16>) -> Rule {
        let cgroup = cgroup.map(|id| Cgroup { id, level: 2 });
        Rule { cgroup, port, slice: Some(1), size: None, deadline: None }
    }

    fn keys(rules: &[Rule]) -> Vec<(u64, u16, u32)> {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
        let entries = rule_entries(rules).unwrap();
        let of = |(key, value): &Entry| {
            (number(&key[..8]), number(&key[8..10]) as u16, number(&value[20..]) as u32)
        };
        entries.iter().map(of).collect()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_cgroup_that_is_named_may_tell_whatever_its_ports() {
        assert_eq!(
            keys(&[rule(Some(7), Some(80)), rule(None, Some(443))]),
            [(0, 443, HAS_SLICE), (7, 0, MAY_TELL | TELL_ONLY), (7, 80, MAY_TELL | HAS_SLICE)]
        );
        // In either order a rule of its own stays.
        for rules in
            [[rule(Some(7), Some(80)), rule(Some(7), None)], [rule(Some(7), None), rule(Some(7), Some(80))]]
        {
            assert_eq!(keys(&rules)[0], (7, 0, MAY_TELL | HAS_SLICE));
        }
    }

    #[test]
    fn rules_that_cannot_be_are_named() {
        let said = |rules: &[Rule]| rule_entries(rules).unwrap_err().to_string();
        let twice = said(&[rule(Some(7), Some(80)), rule(None, Some(80)), rule(Some(7), Some(80))]);
        assert_eq!(twice, "rule[2]: is for the same sockets as rule[0]");
        let deep = Rule { cgroup: Some(Cgroup { id: 3, level: 9 }), ..rule(None, None) };
        assert!(said(&[deep]).contains("9 levels deep"));
        let many: Vec<_> = (1..=1_025).map(|port| rule(None, Some(port))).collect();
        assert!(said(&many).contains("1025 rules"));
    }
}
