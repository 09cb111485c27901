//! Packet memory: how much a port may hold, in the fabric's unit.

use tailrace_core::{Bytes, QueueUnit, Time};
use tailrace_fabric::{Buffer, Fabric, Node, PortId};

/// What takes up packet memory: a driver's ports.
pub trait Holders {
    /// Lets departures of a port that are due by `now` happen.
    fn catch_up(&mut self, port: PortId, now: Time);
    /// What a port holds, as `unit` counts.
    fn held(&self, port: PortId, unit: QueueUnit) -> Bytes;
}

/// The packet memory of all switches and network cards.
pub(crate) enum Memory {
    /// Each port may hold so much.
    PerPort(Bytes),
    /// The ports of a switch share its memory. In a box, for the reason that a [`Balancer`](crate::switch::balance::Balancer) has.
    Shared(Box<Shared>),
}

/// Shared memory with dynamic thresholds (Choudhury and Hahne 1998): a port may hold α times what is free.
pub(crate) struct Shared {
    total: u64,
    alpha_percent: u64,
    unit: QueueUnit,
    /// The ports that share with each port: a range of port numbers.
    sharers: Vec<std::ops::Range<PortId>>,
}

impl Memory {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        match fabric.buffer {
            Buffer::PerPort(bytes) => Memory::PerPort(bytes),
            Buffer::Shared { total, alpha_percent } => Memory::Shared(Box::new(Shared {
                total: total.get(),
                alpha_percent: u64::from(alpha_percent),
                unit: fabric.port_rules.queue_unit,
                sharers: sharers(fabric),
            })),
        }
    }
}

impl Shared {
    /// What `port` may hold at `now`. All ports that share its memory catch up first, so that what they
    /// have sent by now counts as free. That walk makes shared memory slower than private memory.
    pub(crate) fn room(&self, now: Time, port: PortId, mut ports: impl Holders) -> Bytes {
        let range = self.sharers[port as usize].clone();
        if range.is_empty() {
            return Bytes::new(self.total);
        }
        let mut used = 0;
        for other in range {
            if ports.held(other, self.unit) > Bytes::ZERO {
                ports.catch_up(other, now);
                used += ports.held(other, self.unit).get();
            }
        }
        let free = self.total.saturating_sub(used);
        // The policy compares room with what the port holds in all, and memory must suffice as well.
        let held = ports.held(port, self.unit).get();
        Bytes::new((free * self.alpha_percent / 100).min(held + free))
    }
}

/// The ports of a switch are numbered consecutively; a network card shares with nobody: an empty range.
fn sharers(fabric: &Fabric) -> Vec<std::ops::Range<PortId>> {
    let mut ranges = Vec::with_capacity(fabric.ports.len());
    for spec in &fabric.ports {
        let range = match spec.from {
            Node::Host(_) => 0..0,
            Node::Switch(_) => {
                let first = fabric.ports.iter().position(|other| other.from == spec.from).unwrap_or(0);
                let count = fabric.ports.iter().filter(|other| other.from == spec.from).count();
                first as PortId..(first + count) as PortId
            }
        };
        ranges.push(range);
    }
    ranges
}
