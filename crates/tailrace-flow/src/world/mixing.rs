//! Limited multiplexing: on each link, a rank that has become heavy and the one after it share (Baraat §3.3, §4.3.1).

use std::collections::BTreeMap;

use tailrace_core::{Rank, Time};

use super::{Occupant, World};
use crate::bundle::Kind;
use crate::solver::{BundleId, LinkId};

/// Who is on each link, and who is heavy there.
pub(super) struct Mixing {
    /// Bytes on a link beyond which a rank is heavy there.
    heavy: f64,
    links: BTreeMap<LinkId, BTreeMap<Rank, Lane>>,
}

/// The flows of one rank on a link.
#[derive(Default)]
struct Lane {
    bundles: Vec<BundleId>,
    /// Bytes of bundles that are gone.
    before: f64,
    heavy: bool,
    /// The rank of the class that it belongs to: its own, or that of one before it.
    class: Rank,
}

impl Mixing {
    pub(super) fn new(heavy: f64) -> Self {
        Mixing { heavy, links: BTreeMap::new() }
    }

    /// Works out who shares with whom on a link; tells which bundles change their class.
    fn regroup(&mut self, link: LinkId) -> Vec<(BundleId, Rank)> {
        let mut moves = Vec::new();
        let (mut head, mut shares) = (Rank::SAME, false);
        for (&rank, lane) in self.links.get_mut(&link).into_iter().flatten() {
            head = if shares { head } else { rank };
            if lane.class != head {
                lane.class = head;
                moves.extend(lane.bundles.iter().map(|&bundle| (bundle, head)));
            }
            shares = lane.heavy;
        }
        moves
    }
}

impl World<'_> {
    /// Gives a new bundle to the solver, on each link in the class where its rank belongs.
    pub(super) fn add_to_solver(&mut self, kind: &Kind) -> BundleId {
        let links = kind.path.links();
        let Some(mixing) = &mut self.mixing else {
            return self.solver.add(links, |_| kind.rank);
        };
        let mut crowded = Vec::new();
        for &link in links {
            let lanes = mixing.links.entry(link).or_default();
            if !lanes.contains_key(&kind.rank) {
                lanes.insert(kind.rank, Lane { class: kind.rank, ..Lane::default() });
                if lanes.len() > 1 {
                    crowded.push(link);
                }
            }
        }
        let moves: Vec<_> = crowded
            .iter()
            .flat_map(|&link| mixing.regroup(link).into_iter().map(move |m| (link, m)))
            .collect();
        let mixing = &self.mixing;
        let class =
            |link: LinkId| mixing.as_ref().map_or(kind.rank, |mixing| mixing.links[&link][&kind.rank].class);
        let id = self.solver.add(links, class);
        for link in links {
            if let Some(lanes) = self.mixing.as_mut().and_then(|mixing| mixing.links.get_mut(link))
                && let Some(lane) = lanes.get_mut(&kind.rank)
            {
                lane.bundles.push(id);
            }
        }
        self.move_classes(moves);
        crowded.into_iter().for_each(|link| self.wake(&Occupant::Link(link), self.now));
        id
    }

    /// Takes a bundle off its links.
    pub(super) fn leave_links(&mut self, bundle: BundleId, kind: &Kind) {
        let Some(mixing) = &mut self.mixing else { return };
        let sent = self.bundles[bundle as usize].sent(self.now);
        let mut moves = Vec::new();
        for &link in kind.path.links() {
            let Some(lanes) = mixing.links.get_mut(&link) else { continue };
            let Some(lane) = lanes.get_mut(&kind.rank) else { continue };
            lane.before += sent;
            lane.bundles.retain(|&other| other != bundle);
            if lane.bundles.is_empty() {
                lanes.remove(&kind.rank);
                if lanes.is_empty() {
                    mixing.links.remove(&link);
                } else {
                    moves.extend(mixing.regroup(link).into_iter().map(|m| (link, m)));
                }
            }
        }
        self.move_classes(moves);
    }

    fn move_classes(&mut self, moves: Vec<(LinkId, (BundleId, Rank))>) {
        for (link, (bundle, class)) in moves {
            self.solver.move_to(bundle, link, class);
            self.stale = true;
        }
    }

    /// Looks for ranks on a link that have become heavy while others wait there.
    pub(super) fn mix(&mut self, link: LinkId) {
        let Some(mixing) = &mut self.mixing else { return };
        let Some(lanes) = mixing.links.get_mut(&link) else { return };
        let capacity = self.routes.capacities()[link as usize];
        let last = lanes.len() - 1;
        let (mut found, mut least) = (false, f64::INFINITY);
        for lane in lanes.values_mut().take(last).filter(|lane| !lane.heavy) {
            let bundles = &mut self.bundles;
            let sent: f64 = lane.bundles.iter().map(|&b| bundles[b as usize].sent(self.now)).sum();
            let missing = mixing.heavy - (lane.before + sent);
            lane.heavy = missing < HARDLY_ANY;
            found |= lane.heavy;
            least = least.min(if lane.heavy { f64::INFINITY } else { missing });
        }
        if found {
            let moves = mixing.regroup(link).into_iter().map(|m| (link, m)).collect();
            self.move_classes(moves);
        }
        // No rank gets more than all of the link.
        let wait = Time::from_secs_f64((least / capacity).min(1e6)).max(Time::from_ns(1));
        if least.is_finite() {
            self.wake(&Occupant::Link(link), self.now + wait);
        }
    }
}

/// Bytes.
const HARDLY_ANY: f64 = 1.0;
