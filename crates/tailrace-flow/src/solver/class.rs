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
    /// Sum of all rates.
    pub(super) rate: f64,
    /// Members of its classes that have their bottleneck here.
    pub(super) held: u32,
    /// Whether it may be full. Otherwise what higher classes leave to lower ones is of no interest and not kept.
    pub(super) tight: bool,
}

impl Link {
    pub(super) fn new(capacity: f64) -> Self {
        Link { capacity, classes: Vec::new(), rate: 0.0, held: 0, tight: false }
    }

    /// Whether all rates fit.
    pub(super) fn fits(&self) -> bool {
        self.rate <= self.capacity * (1.0 + TOLERANCE)
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
    /// How often it was settled by the latest [`Solver::solve`] that did, and the number of that.
    pub(super) rounds: (u32, u64),
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

    /// Sum of its members' rates.
    pub(super) fn rate(&self) -> f64 {
        let own =
            if self.own.is_empty() || self.level.is_infinite() { 0.0 } else { self.own_weight * self.level };
        own + self.others_rate
    }

    /// What it leaves to the classes below.
    pub(super) fn left(&self) -> f64 {
        if self.own.is_empty() { self.free - self.others_rate } else { 0.0 }
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
                    _ if !own.tight => own.capacity,
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

    /// Takes a member into a class; returns its place.
    pub(super) fn join(&mut self, class: ClassId, member: Member, own: bool) -> u32 {
        let class = &mut self.classes[class as usize];
        self.links[class.link as usize].held += u32::from(own);
        let members = if own { &mut class.own } else { &mut class.others };
        members.push(member);
        members.len() as u32 - 1
    }

    /// Takes the member at `place` out of a class; the last member comes into its place.
    pub(super) fn leave(&mut self, class: ClassId, place: u32, own: bool) {
        let class = &mut self.classes[class as usize];
        self.links[class.link as usize].held -= u32::from(own);
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
            if link.classes.is_empty() {
                (link.rate, link.tight) = (0.0, false);
            } else if let Some(&(_, below)) = link.classes.get(at).filter(|_| link.tight) {
                self.classes[below as usize].free = free;
                self.enqueue(below);
            }
        }
        self.free_classes.push(id);
    }

    /// Tells the classes below what this one leaves, as far as it matters to them.
    pub(super) fn pass_on(&mut self, id: ClassId) {
        let (link, rank) = (self.classes[id as usize].link, self.classes[id as usize].rank);
        let link = &mut self.links[link as usize];
        if link.held == 0 && link.fits() {
            link.tight = false;
            return;
        }
        let mut left = self.classes[id as usize].left();
        let below = link.classes.partition_point(|&(other, _)| other <= rank);
        for place in below..self.links[self.classes[id as usize].link as usize].classes.len() {
            let link = &self.links[self.classes[id as usize].link as usize];
            let (_, below) = link.classes[place];
            let class = &mut self.classes[below as usize];
            left = link.sensible(left);
            let moved = (left - class.free).abs() > TOLERANCE * link.capacity;
            if !moved && (left == 0.0) == (class.free == 0.0) {
                return;
            }
            class.free = left;
            if class.own.is_empty() && class.others_rate <= left {
                left -= class.others_rate;
            } else {
                return self.enqueue(below);
            }
        }
    }

    /// Takes up what the classes of a link leave to each other, now that it may be full.
    pub(super) fn tighten(&mut self, link: LinkId) {
        self.tightened.push(link);
        let this = &mut self.links[link as usize];
        this.tight = true;
        let (mut left, mut rate) = (this.capacity, 0.0);
        for place in 0..this.classes.len() {
            let (_, id) = self.links[link as usize].classes[place];
            let class = &mut self.classes[id as usize];
            class.free = self.links[link as usize].sensible(left);
            left = class.left();
            rate += class.rate();
            if !class.own.is_empty() || class.others_rate > class.free {
                self.enqueue(id);
            }
        }
        self.links[link as usize].rate = rate;
    }
}
