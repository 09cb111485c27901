//! Where flows stand as they progress: their rank, how long they keep it, and how fast they need to be.

use tailrace_core::{Bytes, Cap, FlowId, Prospect, Rank, Time};

use super::World;
use crate::routes::Path;
use crate::solver::{BundleId, LinkId};

/// A flow that is to end at a time is meant to be done this long before: ends are rounded up to picoseconds.
const MARGIN: Time = Time::from_ns(1);

/// What a scheme's rule says of a flow.
pub(super) struct Standing {
    pub(super) rank: Rank,
    /// Payload bytes sent, up to which it keeps the rank.
    pub(super) until: Bytes,
    /// When it is to end.
    pub(super) due: Option<Time>,
    /// What its host lets it send.
    pub(super) cap: Option<Cap>,
    pub(super) weight: f64,
}

impl Standing {
    /// Whether the flow can be in no bundle with others.
    pub(super) fn is_its_own(&self) -> bool {
        self.until < Bytes::MAX || self.due.is_some() || self.weight != 1.0
    }
}

impl World<'_> {
    /// What the rule says of a flow that has sent so much.
    pub(super) fn standing(&self, id: FlowId, task_size: Bytes, sent: Bytes) -> Standing {
        let size = self.records.of(id).size;
        let info = self.info(id);
        let task_size = if info.task == 0 { size } else { task_size };
        let (left, task_size) = (info.size.map(|_| size.saturating_sub(sent)), info.size.map(|_| task_size));
        let prospect = Prospect { flow: &info, sent, task_size, left };
        Standing {
            rank: self.rule.rank(&prospect),
            until: self.rule.stays_until(&prospect),
            due: self.rule.due(&prospect),
            cap: self.rule.cap(&prospect),
            weight: self.rule.weight(&prospect),
        }
    }

    /// The flow of a bundle that has but one, and the payload that it has sent.
    fn only_flow(&mut self, bundle: BundleId) -> Option<(FlowId, Bytes)> {
        let (flow, left) = self.bundles[bundle as usize].only(self.now, &self.clocks)?;
        let size = self.records.of(flow.flow).size;
        let part_left = left / self.wire_bytes(size) as f64;
        let left = Bytes::new((part_left * size.as_f64()).round() as u64);
        Some((flow.flow, size.saturating_sub(left)))
    }

    /// Ranks the flows anew that are being served on a path, as far as order makes a difference there: on tight links.
    pub(super) fn rank_served_again(&mut self, path: Path) {
        if !self.rule.follows_progress() {
            return;
        }
        let tight = path.links().iter().filter(|&&link| self.solver.is_tight(link));
        let mut served: Vec<BundleId> = tight.flat_map(|&link| self.solver.served(link)).collect();
        served.sort_unstable();
        served.dedup();
        served.into_iter().for_each(|bundle| self.rank_again(bundle));
    }

    /// Ranks all flows of a link anew that has become tight: until now they were served whatever their ranks.
    pub(super) fn rank_turned_again(&mut self, link: LinkId) {
        if self.rule.follows_progress() && self.solver.is_tight(link) {
            let members: Vec<BundleId> = self.solver.members(link).collect();
            members.into_iter().for_each(|bundle| self.rank_again(bundle));
        }
    }

    /// Ranks the only flow of a bundle anew.
    pub(super) fn rank_again(&mut self, bundle: BundleId) {
        let Some((flow, sent)) = self.only_flow(bundle) else { return };
        let standing = self.standing(flow, Bytes::ZERO, sent);
        if standing.rank != self.solver.rank(bundle) {
            self.solver.set_rank(bundle, standing.rank);
            self.stale = true;
        }
        self.turn(bundle, flow, sent, standing.until);
    }

    /// Has a bundle looked at when its only flow has sent more than `until`.
    pub(super) fn turn(&mut self, bundle: BundleId, flow: FlowId, sent: Bytes, until: Bytes) {
        let size = self.records.of(flow).size;
        let wire = self.wire_bytes(size) as f64 / size.as_f64().max(1.0);
        let bytes = if until < size { until.saturating_sub(sent).as_f64() * wire } else { f64::INFINITY };
        self.bundles[bundle as usize].turn_after(self.now, &self.clocks, bytes);
    }

    /// Keeps a flow that is to end at a time from being faster than it needs to be. Once it was slower, it needs more.
    pub(super) fn pace(&mut self, bundle: BundleId) {
        let Some(own_link) = self.bundles[bundle as usize].path.own_link() else { return };
        let Some((flow, left)) = self.bundles[bundle as usize].only(self.now, &self.clocks) else { return };
        let fastest = self.routes.capacities()[own_link as usize];
        let due = self.standing(flow.flow, Bytes::ZERO, Bytes::ZERO).due.unwrap_or(Time::ZERO);
        let time = due.saturating_sub(MARGIN).saturating_sub(self.now);
        let needed = (left / time.as_secs_f64()).min(fastest);
        self.widen(own_link, needed);
    }

    /// Gives a link another capacity, in bytes a second.
    pub(super) fn widen(&mut self, link: LinkId, capacity: f64) {
        let now = self.solver.capacity(link);
        if (capacity - now).abs() > 1e-9 * now {
            self.solver.set_capacity(link, capacity);
            self.stale = true;
        }
    }
}
