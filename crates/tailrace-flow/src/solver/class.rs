//! Priority classes of links, and who is a member of which.

use tailrace_core::Rank;

use super::{BundleId, LinkId, Solver, TOLERANCE};

/// A class's number.
pub(super) type ClassId = u32;

/// A directed link.
pub(super) struct Link {
    /// Bytes a second.
    pub(super) capacity: f64,
    /// Its classes with members, in order of rank.
    pub(super) classes: Vec<(Rank, ClassId)>,
}

impl Link {
    pub(super) fn new(capacity: f64) -> Self {
        Link { capacity, classes: Vec::new() }
    }

    /// A rate, unless it is the rounding of larger ones.
    pub(super) fn sensible(&self, rate: f64) -> f64 {
        if rate > TOLERANCE * self.capacity { rate } else { 0.0 }
    }
}

/// A bundle, at one hop of its path.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) bundle: BundleId,
    pub(super) hop: u8,
}

/// Those who share a link at one rank.
#[derive(Default)]
pub(super) struct Class {
    pub(super) link: LinkId,
    pub(super) rank: Rank,
    /// What higher classes leave of the link, in bytes a second.
    pub(super) free: f64,
    /// Members that have their bottleneck here.
    pub(super) own: Vec<Member>,
    /// Members that have it elsewhere.
    pub(super) others: Vec<Member>,
    /// Sum of the own members' weights.
    pub(super) own_weight: f64,
    /// Sum of the others' rates.
    pub(super) others_rate: f64,
    /// No other member has a higher level.
    pub(super) fastest: f64,
    /// What a member of weight 1 gets at most; infinite if the class does not fill.
    pub(super) level: f64,
    /// Whether it waits to be settled.
    pub(super) queued: bool,
}

impl Class {
    /// The level at which the own members take all that the others leave.
    pub(super) fn filling_level(&self) -> f64 {
        if self.own.is_empty() {
            f64::INFINITY
        } else {
            (self.free - self.others_rate).max(0.0) / self.own_weight
        }
    }

    /// What it leaves to the classes below.
    pub(super) fn left(&self) -> f64 {
        if self.own.is_empty() { self.free - self.others_rate } else { 0.0 }
    }

    /// Takes a member in; returns its place.
    pub(super) fn join(&mut self, member: Member, own: bool) -> u32 {
        let members = if own { &mut self.own } else { &mut self.others };
        members.push(member);
        members.len() as u32 - 1
    }
}

impl Solver {
    /// The class of a link at a rank, made if there is none.
    pub(super) fn class_for(&mut self, link: LinkId, rank: Rank) -> ClassId {
        let own = &self.links[link as usize];
        match own.classes.binary_search_by_key(&rank, |&(rank, _)| rank) {
            Ok(at) => own.classes[at].1,
            Err(at) => {
                // What was left to the class below is left to this one, until those above are settled.
                let free = match (own.classes.get(at), at.checked_sub(1)) {
                    (Some(&(_, below)), _) => self.classes[below as usize].free,
                    (None, Some(above)) => own.sensible(self.classes[own.classes[above].1 as usize].left()),
                    (None, None) => own.capacity,
                };
                let id = self.free_classes.pop().unwrap_or_else(|| {
                    self.classes.push(Class::default());
                    self.classes.len() as ClassId - 1
                });
                let class = &mut self.classes[id as usize];
                (class.link, class.rank, class.free, class.level) = (link, rank, free, f64::INFINITY);
                self.links[link as usize].classes.insert(at, (rank, id));
                id
            }
        }
    }

    /// Takes the member at `place` out of a class; the last member comes into its place.
    pub(super) fn leave(&mut self, class: ClassId, place: u32, own: bool) {
        let class = &mut self.classes[class as usize];
        let members = if own { &mut class.own } else { &mut class.others };
        members.swap_remove(place as usize);
        if let Some(moved) = members.get(place as usize) {
            self.bundles[moved.bundle as usize].hops[usize::from(moved.hop)].place = place;
        }
        // Sums start anew where they can, so that rounding does not add up.
        if class.own.is_empty() {
            class.own_weight = 0.0;
        }
        if class.others.is_empty() {
            (class.others_rate, class.fastest) = (0.0, 0.0);
        }
    }

    /// A class without members is no class: those below take over what it had.
    pub(super) fn drop_if_empty(&mut self, id: ClassId) {
        let class = &self.classes[id as usize];
        if !(class.own.is_empty() && class.others.is_empty()) {
            return;
        }
        let (rank, free) = (class.rank, class.free);
        let link = &mut self.links[class.link as usize];
        if let Ok(at) = link.classes.binary_search_by_key(&rank, |&(rank, _)| rank) {
            link.classes.remove(at);
            if let Some(&(_, below)) = link.classes.get(at) {
                self.classes[below as usize].free = free;
                self.enqueue(below);
            }
        }
        self.free_classes.push(id);
    }

    /// Tells the class below what this one leaves.
    pub(super) fn pass_on(&mut self, id: ClassId) {
        let class = &self.classes[id as usize];
        let link = &self.links[class.link as usize];
        let rank = class.rank;
        let below = link.classes.partition_point(|&(other, _)| other <= rank);
        if let Some(&(_, below)) = link.classes.get(below) {
            let left = link.sensible(class.left());
            let before = self.classes[below as usize].free;
            if (left - before).abs() > TOLERANCE * link.capacity || (left == 0.0) != (before == 0.0) {
                self.classes[below as usize].free = left;
                self.enqueue(below);
            }
        }
    }
}
