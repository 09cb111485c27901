//! Priority classes of links, and who is a member of which.

use tailrace_core::Rank;

use super::slack::SHARE;
use super::{Bundle, BundleId, ClassId, Hop, LinkId, NOWHERE, Precision, Solver};
use crate::heap::Heap;

/// A directed link.
///
/// As long as it cannot be full, ranks make no difference, and all who are there are in one class, however many they
/// are. It has a class for each rank while it is *tight*: while it may be full.
pub(super) struct Link {
    /// Bytes a second.
    pub(super) capacity: f64,
    /// Its classes with members, in order of rank.
    pub(super) classes: Vec<(Rank, ClassId)>,
    /// Members of its classes that have their bottleneck here.
    pub(super) held: u32,
}

impl Link {
    pub(super) fn new(capacity: f64) -> Self {
        Link { capacity, classes: Vec::new(), held: 0 }
    }

    /// A rate, unless it is the rounding of larger ones.
    pub(super) fn sensible(&self, rate: f64, precision: Precision) -> f64 {
        if rate > precision.sums * self.capacity { rate } else { 0.0 }
    }
}

/// A bundle, at one hop of its path.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) bundle: BundleId,
    pub(super) hop: u8,
}

/// Those who share a link at one rank, or at all ranks if the link is not tight. What a change of a member's rate
/// touches is in one line of the cache.
#[derive(Default)]
#[repr(C, align(64))]
pub(super) struct Class {
    pub(super) link: LinkId,
    /// Whether it waits to be settled.
    pub(super) queued: bool,
    /// Whether it is all of a link that is not tight.
    pub(super) loose: bool,
    /// Whether it is loose and does not hear of its members' rates, since their bounds fit: `others_rate` and `fastest` mean
    /// nothing.
    pub(super) slack: bool,
    /// Whether there are own members that do not have its level yet.
    pub(super) fresh: bool,
    /// Whether there may be members of other ranks than its own.
    pub(super) mixed: bool,
    /// Whether it is among those whose level has changed.
    pub(super) moved: bool,
    /// How often it was settled by the latest [`Solver::solve`] that did.
    pub(super) rounds: u8,
    /// What higher classes leave of the link, in bytes a second.
    pub(super) free: f64,
    /// Sum of the others' rates.
    pub(super) others_rate: f64,
    /// No other member has a higher level.
    pub(super) fastest: f64,
    /// Sum of all members' bounds.
    pub(super) bound: f64,
    /// What a member of weight 1 gets at most; infinite if the class does not fill.
    pub(super) level: f64,
    /// Sum of the weights of those whom it holds.
    pub(super) own_weight: f64,
    /// What it left to the classes below when they last heard of it; unknown if they never did.
    pub(super) passed_on: f64,
    /// The number of the solution that `rounds` is of.
    pub(super) solved: u64,
    /// Sum of the weights of those that have no bottleneck yet.
    pub(super) coming: f64,
    pub(super) rank: Rank,
    /// Members that have their bottleneck here, and a level of their own.
    pub(super) own: Vec<Member>,
    /// Members that have their bottleneck here and are tied to it, by the level up to which their bounds are good.
    pub(super) tied: Heap<u64>,
    /// Members that have it elsewhere, or none yet.
    pub(super) others: Vec<Member>,
}

impl Class {
    pub(super) fn is_empty(&self) -> bool {
        !self.holds() && self.others.is_empty()
    }

    /// Whether any member has its bottleneck here.
    pub(super) fn holds(&self) -> bool {
        !self.own.is_empty() || !self.tied.is_empty()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = BundleId> {
        self.own.iter().chain(&self.others).map(|member| member.bundle).chain(self.tied.entities())
    }

    /// What a member that goes at `rate` and has a bound may have as another one.
    pub(super) fn room(&self, rate: f64, bound: f64) -> f64 {
        let left = self.free - (self.bound - bound);
        if self.slack { (rate + SHARE * (left - rate)).min(self.free) } else { self.free }
    }

    /// The level at which those whom it holds take all that the others leave.
    pub(super) fn filling_level(&self) -> f64 {
        if self.holds() { (self.free - self.others_rate).max(0.0) / self.own_weight } else { f64::INFINITY }
    }

    /// Adds one of the others to what is known of them.
    pub(super) fn count(&mut self, other: &Bundle) {
        self.others_rate += other.rate();
        self.fastest = self.fastest.max(other.level);
    }

    /// What it leaves to the classes below.
    pub(super) fn left(&self) -> f64 {
        if self.holds() { 0.0 } else { self.free - self.others_rate }
    }

    /// Whether the others have no more than there is.
    pub(super) fn fits(&self, precision: Precision) -> bool {
        self.others_rate <= self.free * (1.0 + precision.sums)
    }

    /// Whether settling it would change nothing here, in the solution of this number.
    pub(super) fn is_settled(&self, solve: u64, precision: Precision) -> bool {
        if !self.holds() {
            let same = (self.left() - self.passed_on).abs() <= precision.sums * self.free;
            return self.fits(precision) && same;
        }
        let filling = self.filling_level();
        let (low, high) = (1.0 - precision.levels, 1.0 + precision.levels);
        let may_rise = !self.goes_round(solve, precision);
        !self.fresh
            && self.fastest * (1.0 - precision.sums) <= filling
            && filling >= self.level * low
            && (!may_rise || filling <= self.level * high)
    }

    /// Whether it was settled too often. Where bundles have the same order on all links, each class settles after few
    /// rounds. Where the classes of links differ (two share on one link, and one goes before the other on the next) what
    /// one gains may come back to it by way of the other, without end.
    pub(super) fn goes_round(&self, solve: u64, precision: Precision) -> bool {
        self.solved == solve && self.rounds > precision.rounds
    }
}

impl Solver {
    /// The class of a link at a rank, made if there is none.
    pub(super) fn class_for(&mut self, link: LinkId, rank: Rank) -> ClassId {
        let own = &self.links[link as usize];
        if let Some(&(_, first)) = own.classes.first()
            && self.classes[first as usize].loose
        {
            return first;
        }
        match own.classes.binary_search_by_key(&rank, |&(rank, _)| rank) {
            Ok(at) => own.classes[at].1,
            Err(at) => {
                // What was left to the class below is left to this one, until those above are settled.
                let free = match (own.classes.get(at), at.checked_sub(1)) {
                    (Some(&(_, below)), _) => self.classes[below as usize].free,
                    (None, Some(above)) => {
                        own.sensible(self.classes[own.classes[above].1 as usize].left(), self.precision)
                    }
                    (None, None) => own.capacity,
                };
                let loose = own.classes.is_empty();
                let id = self.new_class(link, rank, free);
                (self.classes[id as usize].loose, self.classes[id as usize].slack) = (loose, loose);
                self.links[link as usize].classes.insert(at, (rank, id));
                id
            }
        }
    }

    fn new_class(&mut self, link: LinkId, rank: Rank, free: f64) -> ClassId {
        let id = self.free_classes.pop().unwrap_or_else(|| {
            self.classes.push(Class::default());
            self.classes.len() as ClassId - 1
        });
        let class = &mut self.classes[id as usize];
        (class.link, class.rank, class.free, class.level) = (link, rank, free, f64::INFINITY);
        (class.others_rate, class.fastest, class.coming, class.bound) = (0.0, 0.0, 0.0, 0.0);
        (class.loose, class.slack, class.mixed, class.fresh) = (false, false, false, false);
        class.passed_on = f64::NAN;
        id
    }

    /// Takes a bundle into a class at one of its hops.
    pub(super) fn join(&mut self, id: ClassId, member: Member) {
        let class = &mut self.classes[id as usize];
        let bundle = &mut self.bundles[member.bundle as usize];
        class.mixed |= bundle.rank != class.rank;
        bundle.set_slack(member.hop, class.slack);
        class.bound += bundle.bound;
        let members = if member.hop == bundle.bottleneck {
            class.own_weight += bundle.weight;
            self.links[class.link as usize].held += 1;
            class.fresh = true;
            &mut class.own
        } else if bundle.bottleneck == NOWHERE {
            class.coming += bundle.weight;
            &mut class.others
        } else {
            class.count(bundle);
            &mut class.others
        };
        bundle.hops[usize::from(member.hop)] = Hop { class: id, place: members.len() as u32 };
        members.push(member);
    }

    /// Takes a bundle out of its class at one of its hops; the class's last member comes into its place.
    pub(super) fn leave(&mut self, member: Member) {
        self.untie(member.bundle);
        let bundle = &self.bundles[member.bundle as usize];
        let Bundle { hops, bottleneck, weight, .. } = *bundle;
        let Hop { class, place } = hops[usize::from(member.hop)];
        let class = &mut self.classes[class as usize];
        class.bound -= bundle.bound;
        let members = if member.hop == bottleneck {
            class.own_weight -= weight;
            self.links[class.link as usize].held -= 1;
            &mut class.own
        } else if bottleneck == NOWHERE {
            class.coming -= weight;
            &mut class.others
        } else {
            class.others_rate -= bundle.rate();
            &mut class.others
        };
        members.swap_remove(place as usize);
        if let Some(moved) = members.get(place as usize) {
            self.bundles[moved.bundle as usize].hops[usize::from(moved.hop)].place = place;
        }
        // Sums start anew where they can, so that rounding does not add up.
        if !class.holds() {
            class.own_weight = 0.0;
        }
        if class.others.is_empty() {
            (class.others_rate, class.fastest, class.coming) = (0.0, 0.0, 0.0);
        }
    }

    /// A class without members is no class: those below take over what it had.
    pub(super) fn drop_if_empty(&mut self, id: ClassId) {
        let class = &self.classes[id as usize];
        if !class.is_empty() {
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

    /// Tells the classes below what this one leaves, as far as it matters to them.
    pub(super) fn pass_on(&mut self, id: ClassId) {
        let Class { link: number, rank, .. } = self.classes[id as usize];
        let link = &self.links[number as usize];
        if link.held == 0 {
            self.idle.push(number);
        }
        let mut left = self.classes[id as usize].left();
        self.classes[id as usize].passed_on = left;
        let below = link.classes.partition_point(|&(other, _)| other <= rank);
        for place in below..link.classes.len() {
            let link = &self.links[number as usize];
            let (_, below) = link.classes[place];
            let class = &mut self.classes[below as usize];
            left = link.sensible(left, self.precision);
            let moved = (left - class.free).abs() > self.precision.sums * link.capacity;
            if !moved && (left == 0.0) == (class.free == 0.0) {
                return;
            }
            class.free = left;
            if !class.holds() && class.others_rate <= left {
                left -= class.others_rate;
                class.passed_on = left;
            } else {
                return self.enqueue(below);
            }
        }
    }
}
