//! Limited multiplexing: on each link, a rank that has become heavy and the one after it share (Baraat §3.3, §4.3.1).
//!
//! Who is heavy is looked for only where it matters: on links that may be full, and when one of them may have become so.

use std::collections::BTreeMap;

use tailrace_core::{Rank, Time};

use super::{Occupant, World};
use crate::bundle::Kind;
use crate::solver::{BundleId, LinkId};

/// What is missing to be heavy counts for nothing below this, in bytes.
const HARDLY_ANY: f64 = 1.0;

/// Who is on each link, and who is heavy there.
pub(super) struct Mixing {
    /// Bytes on a link beyond which a rank is heavy there.
    heavy: f64,
    links: BTreeMap<LinkId, Lanes>,
}

/// The ranks on a link.
#[derive(Default)]
struct Lanes {
    by_rank: BTreeMap<Rank, Lane>,
    /// How many are heavy.
    heavy: usize,
}

/// The flows of one rank on a link.
struct Lane {
    bundles: Vec<BundleId>,
    /// Bytes of bundles that are gone.
    before: f64,
    heavy: bool,
    /// The rank of the class that it belongs to: its own, or that of one before it.
    class: Rank,
}

/// A bundle that is to be of another class on a link.
struct Move {
    bundle: BundleId,
    link: LinkId,
    class: Rank,
}

impl Mixing {
    pub(super) fn new(heavy: f64) -> Self {
        Mixing { heavy, links: BTreeMap::new() }
    }
}

impl Lanes {
    /// Works out who shares with whom; bundles whose class changes are to be moved.
    fn regroup(&mut self, link: LinkId, moves: &mut Vec<Move>) {
        let (mut head, mut shares) = (Rank::SAME, false);
        for (&rank, lane) in &mut self.by_rank {
            head = if shares { head } else { rank };
            if lane.class != head {
                lane.class = head;
                moves.extend(lane.bundles.iter().map(|&bundle| Move { bundle, link, class: head }));
            }
            shares = lane.heavy;
        }
    }

    /// The rank's lane, made if there is none.
    fn enter(&mut self, link: LinkId, rank: Rank, moves: &mut Vec<Move>) -> &mut Lane {
        let ranks = self.by_rank.len();
        let fresh = || Lane { bundles: Vec::new(), before: 0.0, heavy: false, class: rank };
        self.by_rank.entry(rank).or_insert_with(fresh);
        if self.by_rank.len() > ranks && self.heavy > 0 {
            self.regroup(link, moves);
        }
        self.by_rank.entry(rank).or_insert_with(fresh)
    }

    /// A bundle that has sent so much is gone.
    fn leave(&mut self, link: LinkId, rank: Rank, bundle: BundleId, sent: f64, moves: &mut Vec<Move>) {
        let Some(lane) = self.by_rank.get_mut(&rank) else { return };
        lane.before += sent;
        lane.bundles.retain(|&other| other != bundle);
        if lane.bundles.is_empty() {
            let there_were = self.heavy > 0;
            self.heavy -= usize::from(lane.heavy);
            self.by_rank.remove(&rank);
            if there_were {
                self.regroup(link, moves);
            }
        }
    }
}

impl World<'_> {
    /// Gives a new bundle to the solver, on each link in the class where its rank belongs.
    pub(super) fn add_to_solver(&mut self, kind: &Kind) -> BundleId {
        let links = kind.path.links();
        let Some(mixing) = &mut self.mixing else {
            return self.solver.add(links, |_| kind.rank);
        };
        let mut moves = Vec::new();
        let mut classes = Vec::with_capacity(links.len());
        for &link in links {
            let lanes = mixing.links.entry(link).or_default();
            classes.push((link, lanes.enter(link, kind.rank, &mut moves).class));
        }
        let class_on = |link| classes.iter().find(|(other, _)| *other == link).map_or(kind.rank, |(_, c)| *c);
        let id = self.solver.add(links, class_on);
        for &link in links {
            let lanes = mixing.links.entry(link).or_default();
            lanes.enter(link, kind.rank, &mut moves).bundles.push(id);
        }
        self.make_moves(moves);
        for &link in links.iter().filter(|&&link| self.solver.is_tight(link)) {
            self.schedule.wake(Occupant::Link(link).entity(), self.now);
        }
        id
    }

    /// Takes a bundle off its links.
    pub(super) fn leave_links(&mut self, bundle: BundleId, kind: &Kind) {
        let Some(mixing) = &mut self.mixing else { return };
        let sent = self.bundles[bundle as usize].sent(self.now);
        let mut moves = Vec::new();
        for &link in kind.path.links() {
            if let Some(lanes) = mixing.links.get_mut(&link) {
                lanes.leave(link, kind.rank, bundle, sent, &mut moves);
                if lanes.by_rank.is_empty() {
                    mixing.links.remove(&link);
                }
            }
        }
        self.make_moves(moves);
    }

    fn make_moves(&mut self, moves: Vec<Move>) {
        for Move { bundle, link, class } in moves {
            self.solver.move_to(bundle, link, class);
            self.stale = true;
        }
    }

    /// Has links looked at that may be full from now on.
    pub(super) fn watch_tight_links(&mut self) {
        for link in self.solver.tightened() {
            if self.mixing.is_some() {
                self.schedule.wake(Occupant::Link(link).entity(), self.now);
            }
        }
    }

    /// Looks for ranks on a link that have become heavy while others wait there.
    pub(super) fn mix(&mut self, link: LinkId) {
        let Some(mixing) = &mut self.mixing else { return };
        let Some(lanes) = mixing.links.get_mut(&link).filter(|_| self.solver.is_tight(link)) else { return };
        let others = lanes.by_rank.len() - 1;
        let (mut found, mut least) = (0, f64::INFINITY);
        for lane in lanes.by_rank.values_mut().take(others).filter(|lane| !lane.heavy) {
            let bundles = &mut self.bundles;
            let sent: f64 = lane.bundles.iter().map(|&b| bundles[b as usize].sent(self.now)).sum();
            let missing = mixing.heavy - (lane.before + sent);
            if missing < HARDLY_ANY {
                lane.heavy = true;
                found += 1;
            } else {
                least = least.min(missing);
            }
        }
        lanes.heavy += found;
        let mut moves = Vec::new();
        if found > 0 {
            lanes.regroup(link, &mut moves);
        }
        self.make_moves(moves);
        if least.is_finite() {
            // No rank gets more than all of the link.
            let wait = Time::from_secs_f64(least / self.routes.capacities()[link as usize]);
            self.wake(&Occupant::Link(link), self.now.saturating_add(wait.max(Time::from_ns(1))));
        }
    }
}
