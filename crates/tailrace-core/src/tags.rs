//! The tag table: bytes sent so far → priority. The policy *is* the table; simulator and Linux agent
//! differ only in who looks it up.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Commodity switches have eight queues a port.
pub const MAX_PRIORITIES: usize = 8;

/// Maps the number of bytes a flow has sent before a packet to that packet's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TagTable {
    limits: [u64; MAX_PRIORITIES - 1],
}

impl TagTable {
    /// Everything in the highest priority.
    pub const FLAT: TagTable = TagTable { limits: [u64::MAX; MAX_PRIORITIES - 1] };

    /// A packet has priority `i` if at least `limits[i-1]` and fewer than `limits[i]` bytes precede it.
    /// `limits` must ascend; at most seven are used.
    pub fn with_limits(limits: &[Bytes]) -> Self {
        let mut table = Self::FLAT;
        for (slot, limit) in table.limits.iter_mut().zip(limits) {
            *slot = limit.get();
        }
        table
    }

    /// Everything in one priority.
    pub fn flat(priority: u8) -> Self {
        Self::with_limits(&vec![Bytes::ZERO; usize::from(priority)])
    }

    /// The same table for a flow whose first `sent` bytes no longer count.
    pub fn restarted(mut self, sent: Bytes) -> Self {
        // Limits of 0 stand for priorities that the flow never has.
        for limit in self.limits.iter_mut().filter(|limit| **limit > 0) {
            *limit = limit.saturating_add(sent.get());
        }
        self
    }

    /// The bytes that precede packets of priority `i`: at least the first number, fewer than the second.
    pub fn range(&self, priority: usize) -> (u64, u64) {
        let limit = |i: usize| self.limits.get(i).copied().unwrap_or(u64::MAX);
        (priority.checked_sub(1).map_or(0, limit), limit(priority))
    }

    /// The priority of a packet that `before` bytes of its flow precede.
    #[inline]
    pub fn priority(&self, before: u64) -> u8 {
        self.limits.iter().map(|&limit| u8::from(before >= limit)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_exclusive() {
        let table = TagTable::with_limits(&[Bytes::new(10), Bytes::new(20)]);
        let tags: Vec<u8> = [0, 9, 10, 19, 20, u64::MAX - 1].map(|b| table.priority(b)).to_vec();
        assert_eq!(tags, [0, 0, 1, 1, 2, 2]);
        assert_eq!(TagTable::FLAT.priority(u64::MAX - 1), 0);
        assert_eq!([0, 1, 2].map(|i| table.range(i)), [(0, 10), (10, 20), (20, u64::MAX)]);
    }

    #[test]
    fn flat_and_restarted_tables() {
        assert_eq!([0, 5, 1 << 40].map(|b| TagTable::flat(3).priority(b)), [3, 3, 3]);
        let table = TagTable::with_limits(&[Bytes::ZERO, Bytes::new(10)]).restarted(Bytes::new(100));
        assert_eq!([100, 109, 110].map(|b| table.priority(b)), [1, 1, 2]);
    }
}
