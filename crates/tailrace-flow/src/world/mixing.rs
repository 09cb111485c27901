//! Limited multiplexing: on each link, a rank that has become heavy and the one after it share (Baraat §3.3, §4.3.1).
//!
//! Who is heavy is looked for only where it matters: on links that may be full, and when one of them may have become so.
//! What ranks have sent over links is known of all links.

use std::collections::BTreeMap;

use tailrace_core::{Rank, Time};

use super::sent::Sent;
use super::{Occupant, World};
use crate::kinds::Kind;
use crate::solver::{BundleId, LinkId};

/// What is missing to be heavy counts for nothing below this, in bytes.
const HARDLY_ANY: f64 = 1.0;

/// See [`Sent::new`]: what ranks that are gone have sent over links is remembered of so many.
const MEMORY: usize = 1 << 20;

/// What ranks have sent, and who is heavy where.
pub(super) struct Mixing {
    /// Bytes on a link beyond which a rank is heavy there.
    heavy: f64,
    sent: Sent,
    /// The ranks on links that may be full and have been looked at.
    links: Vec<Option<Box<Lanes>>>,
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
    heavy: bool,
    /// Before that it cannot be heavy: no rank gets more than all of the link.
    light_until: Time,
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
        Mixing { heavy, sent: Sent::new(MEMORY), links: Vec::new() }
    }

    /// A bundle comes to its links.
    fn enter(&mut self, kind: &Kind, moves: &mut Vec<Move>) {
        self.sent.enter(kind.rank);
        for &link in kind.path.links() {
            if link as usize >= self.links.len() {
                self.links.resize_with(link as usize + 1, || None);
            }
            if let Some(lanes) = &mut self.links[link as usize] {
                lanes.enter(link, kind.rank, moves);
            }
        }
    }

    /// A bundle that has sent so much is gone.
    fn leave(&mut self, kind: &Kind, bundle: BundleId, sent: f64, moves: &mut Vec<Move>) {
        self.sent.leave(kind.rank, kind.path.links(), sent);
        for &link in kind.path.links() {
            let place = &mut self.links[link as usize];
            if let Some(lanes) = place {
                lanes.leave(link, kind.rank, bundle, moves);
                if lanes.by_rank.is_empty() {
                    *place = None;
                }
            }
        }
    }
}

impl Lanes {
    /// Those of a link where nobody shares with another rank yet.
    fn of(bundles: impl Iterator<Item = (Rank, BundleId)>) -> Self {
        let mut lanes = Lanes::default();
        for (rank, bundle) in bundles {
            lanes.by_rank.entry(rank).or_insert_with(|| Lane::new(rank)).bundles.push(bundle);
        }
        lanes
    }

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

    /// A bundle of this rank comes.
    fn enter(&mut self, link: LinkId, rank: Rank, moves: &mut Vec<Move>) {
        let ranks = self.by_rank.len();
        self.by_rank.entry(rank).or_insert_with(|| Lane::new(rank));
        if self.by_rank.len() > ranks && self.heavy > 0 {
            self.regroup(link, moves);
        }
    }

    /// A bundle is gone.
    fn leave(&mut self, link: LinkId, rank: Rank, bundle: BundleId, moves: &mut Vec<Move>) {
        let Some(lane) = self.by_rank.get_mut(&rank) else { return };
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

impl Lane {
    fn new(rank: Rank) -> Self {
        Lane { bundles: Vec::new(), heavy: false, light_until: Time::ZERO, class: rank }
    }
}

impl World<'_> {
    /// Gives a new bundle to the solver, on each link in the class where its rank belongs.
    pub(super) fn add_to_solver(&mut self, kind: &Kind, apart: bool) -> BundleId {
        let (links, rank) = (kind.path.links(), kind.rank);
        let Some(mixing) = &mut self.mixing else {
            return self.solver.add(links, rank, apart, |_| rank);
        };
        let mut moves = Vec::new();
        mixing.enter(kind, &mut moves);
        let lanes_of = |link: LinkId| mixing.links[link as usize].as_ref();
        let class_on = |link| lanes_of(link).map_or(rank, |lanes| lanes.by_rank[&rank].class);
        let id = self.solver.add(links, rank, apart, class_on);
        for &link in links {
            let lanes = mixing.links[link as usize].as_mut();
            if let Some(lane) = lanes.and_then(|lanes| lanes.by_rank.get_mut(&rank)) {
                lane.bundles.push(id);
                self.schedule.wake(Occupant::Link(link).entity(), self.now);
            }
        }
        self.make_moves(moves);
        id
    }

    /// Takes a bundle off its links.
    pub(super) fn leave_links(&mut self, bundle: BundleId, kind: &Kind) {
        let Some(mixing) = &mut self.mixing else { return };
        let sent = self.bundles[bundle as usize].sent(self.now, &self.clocks);
        let mut moves = Vec::new();
        mixing.leave(kind, bundle, sent, &mut moves);
        self.make_moves(moves);
    }

    fn make_moves(&mut self, moves: Vec<Move>) {
        for Move { bundle, link, class } in moves {
            self.solver.move_to(bundle, link, class);
            self.stale = true;
        }
    }

    /// Has a link looked at that may be full from now on, or forgets what was known of one that cannot.
    pub(super) fn watch(&mut self, link: LinkId) {
        let Some(mixing) = &mut self.mixing else { return };
        mixing.links[link as usize] = None;
        if self.solver.is_tight(link) {
            self.schedule.wake(Occupant::Link(link).entity(), self.now);
        }
    }

    /// Looks for ranks on a link that have become heavy while others wait there.
    pub(super) fn mix(&mut self, link: LinkId) {
        let Some(mixing) = self.mixing.as_mut().filter(|_| self.solver.is_tight(link)) else { return };
        let bundles = &self.bundles;
        let mut lanes = mixing.links[link as usize].take().unwrap_or_else(|| {
            let with_rank = |bundle: BundleId| (self.solver.rank(bundle), bundle);
            Box::new(Lanes::of(self.solver.members(link).map(with_rank)))
        });
        let others = lanes.by_rank.len() - 1;
        let (now, capacity) = (self.now, self.routes.capacities()[link as usize]);
        let (mut found, mut next) = (0, Time::MAX);
        for (rank, lane) in lanes.by_rank.iter_mut().take(others).filter(|(_, lane)| !lane.heavy) {
            if lane.light_until <= now {
                let before = mixing.sent.over(*rank, link);
                let sent: f64 =
                    lane.bundles.iter().map(|&b| bundles[b as usize].sent(now, &self.clocks)).sum();
                let missing = mixing.heavy - (before + sent);
                if missing < HARDLY_ANY {
                    lane.heavy = true;
                    found += 1;
                    continue;
                }
                let wait = Time::from_secs_f64(missing / capacity).max(Time::from_ns(1));
                lane.light_until = now.saturating_add(wait);
            }
            next = next.min(lane.light_until);
        }
        lanes.heavy += found;
        let mut moves = Vec::new();
        if found > 0 {
            lanes.regroup(link, &mut moves);
        }
        mixing.links[link as usize] = Some(lanes);
        self.make_moves(moves);
        self.wake(&Occupant::Link(link), next);
    }
}
