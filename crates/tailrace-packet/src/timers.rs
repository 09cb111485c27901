//! Timers of one host. Retransmission timers are moved with almost every acknowledgement and hardly ever
//! expire, so a timer is armed once and looked at when it was first due: if it has moved on, it is armed
//! anew. That costs one heap operation per timeout period instead of one per packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_core::Time;

/// Whose timer: a flow's slot and which of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// The armed timers of one host.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
}

impl Timers {
    /// Arms a timer; `armed` remembers for when, [`Time::MAX`] for not at all. A later time than the armed
    /// one changes nothing. Returns whether the host must be woken earlier than before.
    #[inline]
    pub(crate) fn arm(&mut self, timer: Timer, at: Time, armed: &mut Time) -> bool {
        if at >= *armed {
            return false;
        }
        *armed = at;
        self.heap.push(Reverse((at, timer)));
        true
    }

    /// The earliest armed time.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes off the next timer that was armed for `now` or earlier, with the time it was armed for.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Time, Timer)> {
        let due = self.heap.peek().is_some_and(|Reverse((at, _))| *at <= now);
        due.then(|| self.heap.pop()).flatten().map(|Reverse(entry)| entry)
    }
}
