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
    /// one changes nothing. Returns whether it is now the host's first, for which the host must be woken.
    #[inline]
    pub(crate) fn arm(&mut self, timer: Timer, at: Time, armed: &mut Time) -> bool {
        if at >= *armed {
            return false;
        }
        *armed = at;
        self.heap.push(Reverse((at, timer)));
        self.heap.peek().is_some_and(|Reverse((first, _))| *first == at)
    }

    /// The earliest armed time. `armed` tells for when a timer is armed: one that was armed anew for an earlier
    /// time, as those of paced flows are, is still here for the later one, and must wake nobody.
    #[inline]
    pub(crate) fn next(&mut self, armed: impl Fn(Timer) -> Time) -> Option<Time> {
        while let Some(&Reverse((at, timer))) = self.heap.peek() {
            if armed(timer) == at {
                return Some(at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes off the next timer that is armed for `now` or earlier.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Time, armed: impl Fn(Timer) -> Time) -> Option<Timer> {
        self.next(armed).filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse((_, timer))| timer)
    }
}
