//! The ledger: every packet that a host sent is delivered, dropped for a reason, queued or in flight.

use std::fmt;
use std::ops::{Add, AddAssign};

/// Packets and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet.
    #[inline]
    pub fn count(&mut self, bytes: u16) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}
impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        *self = *self + other;
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The port's buffer was full (tail drop).
    Buffer,
    /// A more urgent packet took its place.
    Evicted,
    /// Its link failed, or no way was left to where it was to go.
    Failure,
}

/// Where every packet went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Handed to the network by hosts.
    pub injected: Count,
    /// Handed to hosts by the network.
    pub delivered: Count,
    /// Dropped because a buffer was full.
    pub dropped_buffer: Count,
    /// Dropped to make room for a more urgent packet.
    pub dropped_evicted: Count,
    /// Lost with a link that failed, or for want of a way.
    pub dropped_failure: Count,
    /// Still in queues when the run ended.
    pub queued: Count,
    /// Still on links when the run ended.
    pub in_flight: Count,
}

impl Ledger {
    /// Counts a drop.
    pub fn drop(&mut self, bytes: u16, reason: Reason) {
        match reason {
            Reason::Buffer => self.dropped_buffer.count(bytes),
            Reason::Evicted => self.dropped_evicted.count(bytes),
            Reason::Failure => self.dropped_failure.count(bytes),
        }
    }

    /// All drops.
    pub fn dropped(&self) -> Count {
        self.dropped_buffer + self.dropped_evicted + self.dropped_failure
    }

    /// Whether injected = delivered + dropped + queued + in flight, in packets and in bytes.
    pub fn balances(&self) -> bool {
        self.injected == self.delivered + self.dropped() + self.queued + self.in_flight
    }
}

/// Of two parts of a network.
impl Add for Ledger {
    type Output = Ledger;
    fn add(self, other: Ledger) -> Ledger {
        Ledger {
            injected: self.injected + other.injected,
            delivered: self.delivered + other.delivered,
            dropped_buffer: self.dropped_buffer + other.dropped_buffer,
            dropped_evicted: self.dropped_evicted + other.dropped_evicted,
            dropped_failure: self.dropped_failure + other.dropped_failure,
            queued: self.queued + other.queued,
            in_flight: self.in_flight + other.in_flight,
        }
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "injected {} = delivered {} + dropped {} + queued {} + in flight {} packets",
            self.injected.packets,
            self.delivered.packets,
            self.dropped().packets,
            self.queued.packets,
            self.in_flight.packets
        )
    }
}
