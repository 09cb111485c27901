//! ECN marking: a step at a threshold on the instantaneous queue (DCTCP, SIGCOMM 2010, §3.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{MarkingAt, QueueLength};

/// Which queue is compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkingScope {
    /// All queues of the port together (PIAS §IV-A; used in all AWAFS experiments).
    #[default]
    Port,
    /// The packet's own queue.
    Queue,
    /// All queues together, but for packets of the first queue that queue alone: deadline flows must not slow
    /// down for others' backlog (Karuna, which keeps the first queue to them).
    PortExceptFirst,
    /// No marking.
    None,
}

/// A marking rule ready to use: everything above the threshold is marked. Lengths are in the port's
/// [`QueueUnit`](tailrace_core::QueueUnit), the packet included.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// The threshold for packets that arrive, out of reach where they are not marked; and the same for those that
    /// leave.
    arriving: u64,
    leaving: u64,
    /// A bit for each queue whose own length counts; for the others the port's does.
    own: u8,
}

impl Marking {
    /// Marks when the queue in `scope` is longer than `threshold`; never if the port does not mark.
    pub fn new(threshold: QueueLength, scope: MarkingScope, at: Option<MarkingAt>) -> Self {
        let own = match scope {
            MarkingScope::None => return Self::none(),
            MarkingScope::Port => 0,
            MarkingScope::Queue => u8::MAX,
            MarkingScope::PortExceptFirst => 1,
        };
        let threshold = threshold.bytes().get();
        match at {
            None => Self::none(),
            Some(MarkingAt::Enqueue) => Marking { arriving: threshold, own, ..Self::none() },
            Some(MarkingAt::Dequeue) => Marking { leaving: threshold, own, ..Self::none() },
        }
    }

    /// No marking.
    pub fn none() -> Self {
        Marking { arriving: u64::MAX, leaving: u64::MAX, own: 0 }
    }

    /// Whether a packet is marked as it arrives, which makes the port `port` and its own queue, number `queue`,
    /// `own` long.
    #[inline]
    pub fn arriving(&self, queue: usize, port: u64, own: u64) -> bool {
        self.length(queue, port, own) > self.arriving
    }

    /// Whether the length of a packet's own queue ever counts.
    #[inline]
    pub fn asks_for_queues(&self) -> bool {
        self.own != 0
    }

    /// Whether packets may be marked as they leave: [`Self::leaving`] need not be asked where not.
    #[inline]
    pub fn at_dequeue(&self) -> bool {
        self.leaving != u64::MAX
    }

    /// Whether a packet is marked as it leaves, with the port `port` and its own queue, number `queue`, `own`
    /// long before.
    pub fn leaving(&self, queue: usize, port: u64, own: u64) -> bool {
        self.length(queue, port, own) > self.leaving
    }

    /// How long a packet may be that arrives at an empty port and leaves at once, without being marked: whichever
    /// queue counts, and whenever it is looked at, it holds this packet alone.
    pub fn passes(&self) -> u64 {
        self.arriving.min(self.leaving)
    }

    #[inline]
    fn length(&self, queue: usize, port: u64, own: u64) -> u64 {
        if self.own & (1 << queue) != 0 { own } else { port }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_chooses_the_queue() {
        let k = QueueLength::Packets(2);
        for queue in 0..8 {
            let applies = |scope, port, own| {
                Marking::new(k, scope, Some(MarkingAt::Enqueue)).arriving(queue, port, own)
            };
            assert!(applies(MarkingScope::Port, 3_001, 0));
            assert!(!applies(MarkingScope::Port, 3_000, 3_000));
            assert!(!applies(MarkingScope::Queue, 9_000, 3_000));
            assert!(applies(MarkingScope::Queue, 9_000, 3_001));
            assert_eq!(applies(MarkingScope::PortExceptFirst, 9_000, 3_000), queue > 0);
            assert!(applies(MarkingScope::PortExceptFirst, 9_000, 3_001));
            assert!(!applies(MarkingScope::None, u64::MAX - 1, u64::MAX - 1));
        }
    }

    #[test]
    fn a_packet_is_marked_where_it_is_looked_at_and_nowhere_else() {
        let marking = |at| Marking::new(QueueLength::Packets(2), MarkingScope::Port, at);
        for (at, arriving, leaving) in [
            (Some(MarkingAt::Enqueue), true, false),
            (Some(MarkingAt::Dequeue), false, true),
            (None, false, false),
        ] {
            let marking = marking(at);
            assert_eq!(marking.arriving(0, 3_001, 0), arriving, "{at:?}");
            assert_eq!(marking.leaving(0, 3_001, 0), leaving, "{at:?}");
            assert_eq!(marking.at_dequeue(), leaving, "{at:?}");
            assert_eq!(marking.passes() < 3_001, arriving || leaving, "{at:?}");
            assert!(!marking.leaving(0, 3_000, 9_000) && marking.passes() >= 3_000, "{at:?}");
        }
    }
}
