//! Rates that flows of a host share (`Directive::cap`): who may send next, and when.

use std::collections::VecDeque;

use tailrace_core::{Cap, FlowId, Time};
use tailrace_transport::Pacer;

/// The caps of one host.
#[derive(Default)]
pub(crate) struct Caps {
    groups: Vec<Group>,
}

/// Flows that share a rate.
#[derive(Default)]
struct Group {
    pacer: Pacer,
    /// Those that have asked to send, in turn.
    waiting: VecDeque<FlowId>,
}

impl Caps {
    /// The rate of a group from now on.
    pub(crate) fn set(&mut self, cap: Cap) {
        let group = usize::from(cap.group);
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, Group::default);
        }
        self.groups[group].pacer.set(Some(cap.rate), 0);
    }

    /// A flow asks to send under `cap`.
    pub(crate) fn ask(&mut self, cap: Cap, flow: FlowId) {
        self.set(cap);
        self.groups[usize::from(cap.group)].waiting.push_back(flow);
    }

    /// Whose turn it is at `now`: a group, and the flow that has waited longest.
    pub(crate) fn turn(&self, now: Time) -> Option<(u8, FlowId)> {
        let mut groups = (0..).zip(&self.groups);
        groups.find_map(|(number, group)| {
            let flow = group.waiting.front().filter(|_| group.pacer.next().is_none_or(|next| next <= now));
            flow.map(|&flow| (number, flow))
        })
    }

    /// The flow whose turn it was sends so many bytes and waits for its next turn.
    pub(crate) fn sent(&mut self, group: u8, now: Time, bytes: u16) {
        let group = &mut self.groups[usize::from(group)];
        group.pacer.leave(now, bytes);
        group.waiting.rotate_left(1);
    }

    /// The flow whose turn it was has nothing to send under this cap now.
    pub(crate) fn passed(&mut self, group: u8) {
        self.groups[usize::from(group)].waiting.pop_front();
    }

    /// When the next flow that waits may send; [`Time::MAX`] if none does.
    pub(crate) fn next_turn(&self) -> Time {
        let waited_for = self.groups.iter().filter(|group| !group.waiting.is_empty());
        waited_for.filter_map(|group| group.pacer.next()).min().unwrap_or(Time::MAX)
    }
}
