//! Marks that say what has been answered already.

use tailrace_core::{Bytes, FlowView};

/// The window after a cut.
///
/// Its packets meet the queue before the cuts of all others have reached it. A flow that cuts by less than what all
/// together have added in a round trip finds the queue still above the threshold if it happens to be the first to
/// cut, and one that cuts by more does not. Were these marks counted, flows of low weight would cut twice more often
/// and have a larger α than others, and get up to 29 % less than their share.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settling {
    /// What was sent when the flow cut: the end of the window that the cut answers.
    from: Bytes,
    to: Bytes,
}

impl Settling {
    /// Whether what is acknowledged now is of such a window; `cut_end` is the end of the last cut's own.
    pub(super) fn holds(&mut self, cut_end: Option<Bytes>, flow: &FlowView) -> bool {
        let Some(end) = cut_end else { return false };
        if end != self.from && flow.acked > end {
            *self = Settling { from: end, to: flow.sent };
        }
        flow.acked > self.from && flow.acked <= self.to
    }
}
