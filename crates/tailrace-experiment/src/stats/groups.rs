//! Flows as statistics see them, and the groups that they fall into.

use tailrace_core::{FlowRecord, Time};
use tailrace_scenario::Measure;

/// One measured flow, reduced to what statistics need.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Payload bytes.
    pub size: u64,
    /// The workload's rule that made it, or the flow list's class.
    pub class: u8,
    /// Start in seconds.
    pub start: f64,
    /// Completion time in seconds, if it completed.
    pub fct: Option<f64>,
    /// Ideal completion time in seconds.
    pub ideal: f64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Payload bytes sent again.
    pub retransmitted: u64,
    /// Deadline in seconds after the start, if there is one.
    pub deadline: Option<f64>,
    /// Given up by its sender.
    pub stopped: bool,
}

impl Measured {
    /// A flow that has this record, and would take `ideal` alone.
    pub fn of(record: &FlowRecord, ideal: Time) -> Self {
        Measured {
            size: record.size.get(),
            class: record.class,
            start: record.start.as_secs_f64(),
            fct: record.fct().map(|t| t.as_secs_f64()),
            ideal: ideal.as_secs_f64(),
            timeouts: u32::from(record.timeouts),
            retransmitted: u64::from(record.retransmitted),
            deadline: (record.deadline != Time::MAX).then(|| (record.deadline - record.start).as_secs_f64()),
            stopped: record.stopped,
        }
    }

    /// Whether it had a deadline and met it.
    pub fn met(&self) -> bool {
        self.deadline.is_some_and(|deadline| self.fct.is_some_and(|fct| fct <= deadline))
    }
}

/// What groups tell flows apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Traffic class.
    pub class: u8,
    /// Whether it has a deadline.
    pub has_deadline: bool,
}

impl Kind {
    /// That of a flow.
    pub fn of(flow: &FlowRecord) -> Self {
        Kind { class: flow.class, has_deadline: flow.deadline != Time::MAX }
    }
}

/// Flows that are summarised together, beside their size classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// All.
    All,
    /// Those with a deadline.
    Deadline,
    /// Those without.
    NoDeadline,
    /// Those of a traffic class.
    Class(u8),
}

impl Group {
    /// The groups that flows of these kinds fall into: traffic classes where there are several, and those with and
    /// without deadlines where there are such.
    pub fn of(kinds: impl Iterator<Item = Kind>) -> Vec<Group> {
        let (mut due, mut others, mut classes) = (false, false, [false; 1 << u8::BITS]);
        for kind in kinds {
            due |= kind.has_deadline;
            others |= !kind.has_deadline;
            classes[usize::from(kind.class)] = true;
        }
        let mut groups = vec![Group::All];
        groups.extend(due.then_some(Group::Deadline));
        groups.extend((due && others).then_some(Group::NoDeadline));
        if classes[1..].contains(&true) {
            groups.extend((0..=u8::MAX).filter(|class| classes[usize::from(*class)]).map(Group::Class));
        }
        groups
    }

    /// Whether flows of a kind are of the group.
    pub fn has(self, kind: Kind) -> bool {
        match self {
            Group::All => true,
            Group::Deadline => kind.has_deadline,
            Group::NoDeadline => !kind.has_deadline,
            Group::Class(class) => kind.class == class,
        }
    }

    /// What stands behind the size class in a summary's class.
    pub fn suffix(self) -> String {
        match self {
            Group::All => String::new(),
            Group::Deadline => format!("@{DEADLINE}"),
            Group::NoDeadline => format!("@{NO_DEADLINE}"),
            Group::Class(class) => format!("@{class}"),
        }
    }

    /// Whether `text`, what follows the "@", names a group.
    pub fn is_named(text: &str) -> bool {
        [DEADLINE, NO_DEADLINE].contains(&text) || text.parse::<u8>().is_ok()
    }
}

const DEADLINE: &str = "deadline";
const NO_DEADLINE: &str = "no-deadline";

/// The size class of all sizes together.
pub const ALL_SIZES: &str = SIZE_CLASSES[0];

/// Size classes: of all flows, and of those that a scenario's `short` and `long` part.
pub const SIZE_CLASSES: [&str; 4] = ["all", "short", "medium", "long"];

/// The size class of a flow of so many bytes, by its place among the [`SIZE_CLASSES`].
pub fn size_class(bytes: u64, measure: &Measure) -> usize {
    match bytes {
        bytes if bytes <= measure.short.get() => 1,
        bytes if bytes <= measure.long.get() => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use tailrace_workload::FlowSpec;

    use super::*;

    #[test]
    fn groups_are_those_that_have_flows() {
        let flow = |class, deadline| FlowRecord { class, deadline, ..FlowSpec::default().record(0) };
        let (due, open) = (Time::from_us(1), Time::MAX);
        let of = |flows: &[FlowRecord]| Group::of(flows.iter().map(Kind::of));
        let (class, [all, with, without]) = (Group::Class, [Group::All, Group::Deadline, Group::NoDeadline]);
        assert_eq!(of(&[]), [all]);
        assert_eq!(of(&[flow(0, open)]), [all]);
        assert_eq!(of(&[flow(0, due)]), [all, with]);
        assert_eq!(of(&[flow(0, due), flow(0, open)]), [all, with, without]);
        assert_eq!(of(&[flow(255, open), flow(0, open)]), [all, class(0), class(255)]);
        let both = [flow(0, due), flow(1, open)];
        for (group, members) in [(all, 2), (with, 1), (without, 1), (class(1), 1), (class(2), 0)] {
            assert_eq!(both.iter().filter(|flow| group.has(Kind::of(flow))).count(), members, "{group:?}");
        }
    }
}
