//! Rates that flows have: strict priority between classes, (weighted) max–min within a class, on every link.
//!
//! A class of a link has a *level*: what a member of weight 1 gets there at most. Every member's level is the least of
//! those on its path, and that class is its bottleneck; a class which fills is the bottleneck of some member (the
//! certificate of max–min fairness, Bertsekas and Gallager 1987, §6.5.2). Levels are the whole state, so an event is
//! followed only as far as levels move: classes that do not fill keep the sum of their members' rates and nothing
//! else, on a link that cannot be full one class has all who are there, and with room to spare it hears of no rates.
//! Whoever has nothing but such links beside its bottleneck is *tied* to the class there: it has that level, whatever it
//! is, so a new level is one number for all of them.
//! Classes are settled in order of rank and level, since neither a lower class nor a higher level can act back.

mod class;
#[cfg(test)]
mod naive_tests;
#[cfg(test)]
mod property_tests;
mod settle;
mod slack;
mod tied;
mod tight;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_core::Rank;

use self::class::{Class, Link, Member};
use crate::heap::Places;

/// A link's number.
pub type LinkId = u32;
/// A bundle's number.
pub type BundleId = u32;
/// A class's number.
pub type ClassId = u32;

/// Links on a path at most: up and down three tiers, and one of the flow's own.
pub const MAX_HOPS: usize = 7;

/// So many bundles ahead of the one whose rate changes, memory is asked for: they lie anywhere, and waits overlap.
pub(crate) const AHEAD: usize = 8;

/// How exactly rates are worked out.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    /// Sums that are closer than this part of themselves are the same: they carry the rounding of their parts.
    sums: f64,
    /// Levels that are closer than this are the same; the first stays. Less than what sums are judged by.
    levels: f64,
    /// A class that is settled more often in one solution goes round.
    rounds: u8,
}

impl Precision {
    /// As exact as numbers are.
    pub const EXACT: Precision = Precision { sums: 1e-11, levels: 1e-13, rounds: 100 };
    /// For classes that differ from link to link, whose levels may chase each other.
    pub const CLOSE: Precision = Precision { sums: 1e-4, levels: 1e-5, rounds: 4 };
}

/// The bottleneck of a bundle that has none yet.
const NOWHERE: u8 = u8::MAX;

/// A bundle's membership of a class.
#[derive(Clone, Copy, Default)]
struct Hop {
    class: ClassId,
    /// Its place among the class's own members, or the others.
    place: u32,
}

/// Flows alike: of one path and rank.
#[derive(Clone, Copy)]
struct Bundle {
    rank: Rank,
    hops: [Hop; MAX_HOPS],
    length: u8,
    /// Which hop is the bottleneck, or [`NOWHERE`] until it is placed.
    bottleneck: u8,
    /// Whether it is among those whose level has changed.
    changed: bool,
    /// Hops, a bit each, whose class is slack.
    slack: u8,
    /// Whether it is told of each level, and so never tied.
    apart: bool,
    /// Whether its level is that of the class where it has its bottleneck.
    tied: bool,
    /// Sum of its flows' weights; 0 if there is no such bundle.
    weight: f64,
    /// Bytes a second for each unit of weight, unless it is tied.
    level: f64,
    /// Bytes a second that it does not exceed unless its links are told of a new bound.
    bound: f64,
}

impl Bundle {
    /// Bytes a second of all its flows, unless it is tied.
    fn rate(&self) -> f64 {
        debug_assert!(!self.tied);
        self.weight * self.level
    }

    fn is_slack(&self, hop: usize) -> bool {
        self.slack & 1 << hop != 0
    }
}

/// What has changed, bytes a second for each unit of weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A bundle has a level of its own.
    Alone { bundle: BundleId, level: f64 },
    /// A bundle has the level of a class from now on.
    Tied { bundle: BundleId, class: ClassId, level: f64 },
    /// All who are tied to a class have another level.
    Class { class: ClassId, level: f64 },
}

impl Change {
    /// The bundle that it is of, if it is of one.
    pub fn bundle(&self) -> Option<BundleId> {
        match *self {
            Change::Alone { bundle, .. } | Change::Tied { bundle, .. } => Some(bundle),
            Change::Class { .. } => None,
        }
    }
}

/// The rates of all flows.
pub struct Solver {
    links: Vec<Link>,
    classes: Vec<Class>,
    free_classes: Vec<ClassId>,
    bundles: Vec<Bundle>,
    free_bundles: Vec<BundleId>,
    /// Classes to be settled, by rank and level.
    queue: BinaryHeap<Reverse<(Rank, u64, ClassId)>>,
    changed: Vec<BundleId>,
    /// Classes whose level has changed, and those who are tied to them.
    moved: Vec<ClassId>,
    /// Where bundles are among those who are tied to their class.
    places: Places,
    /// Bundles whose bounds are no longer good, while they are gone through; kept for its memory.
    short: Vec<BundleId>,
    /// Bundles that have no bottleneck yet, and maybe some that are gone.
    newcomers: Vec<BundleId>,
    /// Links where nobody had a bottleneck when a class was settled.
    idle: Vec<LinkId>,
    /// Links that have become tight, or are no longer, since this was last asked.
    turned: Vec<LinkId>,
    /// How often rates were worked out.
    solved: u64,
    precision: Precision,
}

impl Solver {
    /// Links without flows, by their capacities in bytes a second.
    pub fn new(capacities: impl IntoIterator<Item = f64>, precision: Precision) -> Self {
        Solver {
            links: capacities.into_iter().map(Link::new).collect(),
            classes: Vec::new(),
            free_classes: Vec::new(),
            bundles: Vec::new(),
            free_bundles: Vec::new(),
            queue: BinaryHeap::new(),
            changed: Vec::new(),
            moved: Vec::new(),
            places: Places::default(),
            short: Vec::new(),
            newcomers: Vec::new(),
            idle: Vec::new(),
            turned: Vec::new(),
            solved: 0,
            precision,
        }
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Adds a link of so many bytes a second.
    pub fn add_link(&mut self, capacity: f64) {
        self.links.push(Link::new(capacity));
    }

    /// A link's bytes a second.
    pub fn capacity(&self, link: LinkId) -> f64 {
        self.links[link as usize].capacity
    }

    /// Adds a bundle that has no weight yet; `path` has 1 to [`MAX_HOPS`] links, none twice. On links that are tight
    /// it is in the class of a rank that `class` tells, elsewhere that is its own. One that is `apart` is never tied.
    pub fn add(
        &mut self,
        path: &[LinkId],
        rank: Rank,
        apart: bool,
        class: impl Fn(LinkId) -> Rank,
    ) -> BundleId {
        let bundle = Bundle {
            rank,
            hops: [Hop::default(); MAX_HOPS],
            length: path.len() as u8,
            bottleneck: NOWHERE,
            changed: false,
            slack: 0,
            apart,
            tied: false,
            weight: 0.0,
            level: 0.0,
            bound: 0.0,
        };
        let id = self.free_bundles.pop().unwrap_or(self.bundles.len() as BundleId);
        match self.bundles.get_mut(id as usize) {
            Some(free) => *free = bundle,
            None => self.bundles.push(bundle),
        }
        for (hop, &link) in path.iter().enumerate() {
            let class = self.class_for(link, class(link));
            self.join(class, Member { bundle: id, hop: hop as u8 });
        }
        self.newcomers.push(id);
        id
    }

    /// Has a bundle in the class of another rank on one of its links, if that is tight.
    pub fn move_to(&mut self, id: BundleId, link: LinkId, rank: Rank) {
        let hops = 0..usize::from(self.bundles[id as usize].length);
        let class_of = |hop: &usize| &self.classes[self.bundles[id as usize].hops[*hop].class as usize];
        if let Some(hop) = hops.clone().find(|hop| class_of(hop).link == link) {
            self.change_class(id, hop, rank);
        }
    }

    /// A bundle's rank.
    pub fn rank(&self, id: BundleId) -> Rank {
        self.bundles[id as usize].rank
    }

    /// Gives a bundle another rank.
    pub fn set_rank(&mut self, id: BundleId, rank: Rank) {
        self.bundles[id as usize].rank = rank;
        for hop in 0..usize::from(self.bundles[id as usize].length) {
            self.change_class(id, hop, rank);
        }
    }

    fn change_class(&mut self, id: BundleId, hop: usize, rank: Rank) {
        let before = self.bundles[id as usize].hops[hop].class;
        let class = &mut self.classes[before as usize];
        if class.loose {
            class.mixed |= class.rank != rank;
            return;
        }
        let link = class.link;
        let after = self.class_for(link, rank);
        let member = Member { bundle: id, hop: hop as u8 };
        self.leave(member);
        self.join(after, member);
        self.enqueue(before);
        self.enqueue(after);
        self.drop_if_empty(before);
    }

    /// The bundles on a link that get anything.
    pub fn served(&self, link: LinkId) -> impl Iterator<Item = BundleId> {
        let classes =
            self.links[link as usize].classes.iter().map(|&(_, class)| &self.classes[class as usize]);
        let members = classes.take_while(|class| class.free > 0.0).flat_map(Class::members);
        members.filter(|&bundle| self.level(bundle) > 0.0)
    }

    /// Changes a bundle's weight; at 0 the bundle is gone, and its number free for others.
    pub fn set_weight(&mut self, id: BundleId, weight: f64) {
        let bundle = self.bundles[id as usize];
        let Bundle { hops, length, bottleneck, level, weight: before, .. } = bundle;
        self.bundles[id as usize].weight = weight;
        for (hop, &Hop { class: number, .. }) in hops[..usize::from(length)].iter().enumerate() {
            let class = &mut self.classes[number as usize];
            if bottleneck == NOWHERE {
                class.coming += weight - before;
            } else if hop == usize::from(bottleneck) {
                class.own_weight += weight - before;
                self.enqueue(number);
            } else if !bundle.is_slack(hop) {
                class.others_rate += (weight - before) * level;
                self.touch(number);
            }
        }
        if weight == 0.0 {
            self.remove(id);
        } else {
            self.keep_bound(id);
            self.note_bound(id);
        }
    }

    fn remove(&mut self, id: BundleId) {
        for hop in 0..self.bundles[id as usize].length {
            let class = self.bundles[id as usize].hops[usize::from(hop)].class;
            self.leave(Member { bundle: id, hop });
            self.check_slack(class);
            self.drop_if_empty(class);
        }
        self.free_bundles.push(id);
    }

    /// A bundle's bytes a second for each unit of its weight.
    fn level(&self, bundle: BundleId) -> f64 {
        let Bundle { hops, bottleneck, tied, level, .. } = self.bundles[bundle as usize];
        if tied { self.classes[hops[usize::from(bottleneck)].class as usize].level } else { level }
    }

    /// Works out all rates; `changed` is told who has another level than before.
    pub fn solve(&mut self, mut changed: impl FnMut(Change)) {
        self.solved += 1;
        self.place_newcomers();
        while let Some(Reverse((_, _, class))) = self.queue.pop() {
            self.settle(class);
        }
        for id in self.changed.drain(..) {
            let bundle = &mut self.bundles[id as usize];
            if std::mem::take(&mut bundle.changed) && bundle.weight > 0.0 {
                let class = bundle.hops[usize::from(bundle.bottleneck)].class;
                changed(match bundle.tied {
                    true => Change::Tied { bundle: id, class, level: self.classes[class as usize].level },
                    false => Change::Alone { bundle: id, level: bundle.level },
                });
            }
        }
        for id in self.moved.drain(..) {
            let class = &mut self.classes[id as usize];
            if std::mem::take(&mut class.moved) && !class.tied.is_empty() {
                changed(Change::Class { class: id, level: class.level });
            }
        }
    }

    /// Links that have become tight, or are no longer, since this was last asked.
    pub fn turned(&mut self) -> Vec<LinkId> {
        std::mem::take(&mut self.turned)
    }

    /// The bundles on a link.
    pub fn members(&self, link: LinkId) -> impl Iterator<Item = BundleId> {
        let classes =
            self.links[link as usize].classes.iter().map(|&(_, class)| &self.classes[class as usize]);
        classes.flat_map(Class::members)
    }
}
