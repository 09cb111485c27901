//! Which segments have arrived, and which count as lost.

use tailrace_core::{CongestionLaw, Header, Loss, Time};

use super::Sender;

/// Segments acknowledged above a hole before it counts as lost (RFC 6675, DupThresh).
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

impl<L: CongestionLaw<H>, H: Header> Sender<L, H> {
    /// All below `seq` has arrived. Returns how many segments that is news of.
    #[inline]
    pub(super) fn acknowledge_front(&mut self, seq: u32) -> u32 {
        let waiting = self.waiting(self.una, seq);
        let known = self.sacked.remove_front(self.una, seq);
        let newly = seq - self.una - known;
        self.in_flight -= newly - waiting;
        self.una = seq;
        self.repair_next = self.repair_next.max(seq);
        self.repair_end = self.repair_end.max(seq);
        newly
    }

    /// The block `start..end` has arrived, beyond a hole.
    pub(super) fn acknowledge_block(&mut self, start: u32, end: u32) -> u32 {
        let waiting = self.waiting(start, end);
        let newly = self.sacked.insert_range(self.una, start, end);
        self.in_flight -= newly - waiting;
        self.sacked_end = self.sacked_end.max(end);
        newly
    }

    /// How many segments of `start..end` count as lost and wait to be sent again.
    #[inline]
    fn waiting(&self, start: u32, end: u32) -> u32 {
        let (start, end) = (start.max(self.repair_next), end.min(self.repair_end));
        if start < end { end - start - self.sacked.count(self.una, start, end) } else { 0 }
    }

    /// Declares lost what has three or more acknowledged segments above it (forward acknowledgement:
    /// all below the highest block but the last three).
    #[cold]
    pub(super) fn find_losses(&mut self, now: Time) {
        let end = self.sacked_end - DUPLICATE_THRESHOLD;
        let start = self.repair_end;
        if end <= start {
            return;
        }
        let lost = end - start - self.sacked.count(self.una, start, end);
        if lost == 0 {
            return;
        }
        if self.una >= self.recovery_end {
            let view = self.view();
            self.law.on_loss(now, Loss::Fast, &view);
            self.allow();
            self.recovery_end = self.next;
        }
        self.in_flight -= lost;
        self.repair_end = end;
    }
}
