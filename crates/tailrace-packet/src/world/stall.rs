//! When nothing more will come of a run, although flows are under way.

use tailrace_core::transport::TransportParams;
use tailrace_core::{Scheme, Time};
use tailrace_engine::Entity;
use tailrace_fabric::Fabric;

use super::{SPECIAL, World};

/// What is seen of a run now and then, to tell whether its flows still get anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    /// When this was seen.
    at: Time,
    /// Flows that have started, and those in progress.
    flows: (usize, usize),
    /// These before, and the payload bytes that senders of flows in progress knew to have arrived.
    before: (usize, usize, u64),
    /// Since when nothing has changed.
    since: Time,
    patience: Time,
    /// Before failures are over, nothing says that no more will come.
    last_change: Time,
    certain: bool,
}

impl Stall {
    /// Longer than anything that flows wait for: timers back off to a thousand times `min_rto`, and the slowest
    /// links take a good part of a round trip for a packet.
    pub(super) fn new(fabric: &Fabric, transport: &TransportParams) -> Self {
        let waits = transport.min_rto.as_secs_f64() * 4e3 + fabric.base_rtt().as_secs_f64() * 1e3;
        Stall {
            at: Time::ZERO,
            flows: (0, 0),
            before: (0, 0, 0),
            since: Time::ZERO,
            patience: Time::from_secs_f64(60.0 + waits),
            last_change: fabric.last_change(),
            certain: false,
        }
    }

    /// How often it is looked.
    pub(super) fn every(&self) -> Time {
        Time::from_ps(self.patience.as_ps() / 4)
    }

    /// Whether nothing more will come.
    pub(super) fn is_certain(&self) -> bool {
        self.certain
    }
}

impl<S: Scheme> World<S> {
    /// Whether the flows in progress have got nothing for longer than any of them has to wait.
    pub fn is_stalled(&self) -> bool {
        self.stall.is_certain()
    }

    /// The place of this among those that are woken, last.
    pub(super) fn stall_entity(&self) -> Entity {
        (self.hosts.len() + SPECIAL + self.watched_port.len() + 3) as Entity
    }

    /// Looks what has become of flows, as far as it is seen here.
    pub(super) fn look_for_a_stall(&mut self) {
        let now = self.network.now();
        (self.stall.at, self.stall.flows) = (now, (self.flows.len(), self.flows.active()));
        let arrived = |(_, slot): (_, usize)| self.senders[slot].view().delivered.get();
        let arrived = self.flows.in_progress().map(arrived).sum();
        self.announce_arrived(arrived);
        self.network.wake(self.stall_entity(), now + self.stall.every());
    }

    /// Judges by what all senders together have known at the last look.
    pub(super) fn judge(&mut self, arrived: u64) {
        let stall = &mut self.stall;
        let seen = (stall.flows.0, stall.flows.1, arrived);
        if seen != stall.before {
            (stall.before, stall.since) = (seen, stall.at);
        }
        let since = stall.since.max(stall.last_change);
        stall.certain = stall.flows.1 > 0 && stall.at.saturating_sub(since) > stall.patience;
    }
}
