//! When nothing more will come of a run, although flows are under way.

use tailrace_core::transport::TransportParams;
use tailrace_core::{Scheme, Time};
use tailrace_fabric::Fabric;

use super::World;

/// What is seen of a run now and then, to tell whether its flows still get anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    /// Flows that have started, and those in progress.
    flows: (usize, usize),
    /// Payload bytes that senders of these know to have arrived.
    arrived: u64,
    /// Since when nothing has changed.
    since: Time,
    patience: Time,
    /// Before failures are over, nothing says that no more will come.
    last_change: Time,
}

impl Stall {
    /// Longer than anything that flows wait for: timers back off to a thousand times `min_rto`, and the slowest
    /// links take a good part of a round trip for a packet.
    pub(super) fn new(fabric: &Fabric, transport: &TransportParams) -> Self {
        let waits = transport.min_rto.as_secs_f64() * 4e3 + fabric.base_rtt().as_secs_f64() * 1e3;
        let patience = Time::from_secs_f64(60.0 + waits);
        Stall { flows: (0, 0), arrived: 0, since: Time::ZERO, patience, last_change: fabric.last_change() }
    }
}

impl<S: Scheme> World<S> {
    /// Whether the flows in progress have got nothing for longer than any of them has to wait.
    pub fn is_stalled(&mut self) -> bool {
        let (now, flows) = (self.network.now(), (self.flows.len(), self.flows.active()));
        if flows != self.stall.flows {
            self.stall = Stall { flows, since: now, ..self.stall };
            return false;
        }
        let arrived = |(_, slot): (_, usize)| self.senders[slot].view().delivered.get();
        let arrived = self.flows.in_progress().map(arrived).sum();
        if arrived != self.stall.arrived {
            self.stall = Stall { arrived, since: now, ..self.stall };
        }
        let since = self.stall.since.max(self.stall.last_change);
        flows.1 > 0 && now.saturating_sub(since) > self.stall.patience
    }
}
