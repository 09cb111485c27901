//! Links with room to spare, which need not hear of every rate.
//!
//! A bundle has a bound on its rate, which it renews when the rate passes it or has fallen far below. While the bounds on
//! a link add up to no more than its capacity it cannot be full, and its members' rates may change without a word: a flow
//! whose rate rises from a fortieth to all of a link tells those elsewhere on its path a few times instead of forty.
//! The busier a link, the closer are the bounds.

use super::{Bundle, BundleId, ClassId, Solver};

/// A new bound is so many times the rate, where there is room for it.
const HEADROOM: f64 = 2.0;
/// A bound that is more times the rate is renewed.
const TOO_HIGH: f64 = 4.0;
/// Of the room that the others' bounds leave on a link a new one takes this part: more will ask.
pub(super) const SHARE: f64 = 0.5;
/// Where bounds do not fit a link any more, they are cut so that they add up to this part of it ...
const SPREAD: f64 = 0.97;
/// ... unless rates add up to more than that: then it hears of all of them ...
const BUSY: f64 = 0.92;
/// ... until they add up to less than this.
const CALM: f64 = 0.85;

impl Bundle {
    /// Notes whether the class at a hop is slack.
    pub(super) fn set_slack(&mut self, hop: u8, slack: bool) {
        self.slack = self.slack & !(1 << hop) | u8::from(slack) << hop;
    }

    /// Hops, a bit each, where its rate makes no difference, or is not one of the others'.
    pub(super) fn silent(&self) -> u8 {
        self.slack | 1 << self.bottleneck
    }
}

impl Solver {
    /// Renews a bundle's bound if its rate has passed it, or has fallen far below.
    pub(super) fn keep_bound(&mut self, id: BundleId) {
        let rate = self.rate(id);
        let bound = self.bundles[id as usize].bound;
        if rate > bound || bound > TOO_HIGH * rate {
            self.renew_bound(id, rate);
        }
    }

    /// A bundle's bytes a second.
    pub(super) fn rate(&self, id: BundleId) -> f64 {
        self.bundles[id as usize].weight * self.level(id)
    }

    /// Gives a bundle of this rate another bound.
    pub(super) fn renew_bound(&mut self, id: BundleId, rate: f64) {
        let Bundle { hops, length, bound, .. } = self.bundles[id as usize];
        let hops = &hops[..usize::from(length)];
        let rooms = hops.iter().map(|hop| self.classes[hop.class as usize].room(rate, bound));
        let most = rooms.fold(HEADROOM * rate, f64::min);
        self.set_bound(id, most.max(rate));
        hops.iter().for_each(|hop| self.check_slack(hop.class));
    }

    fn set_bound(&mut self, id: BundleId, new: f64) {
        let Bundle { hops, length, bound, .. } = self.bundles[id as usize];
        self.bundles[id as usize].bound = new;
        self.note_bound(id);
        for hop in &hops[..usize::from(length)] {
            self.classes[hop.class as usize].bound += new - bound;
        }
    }

    /// Has a loose class hear of its members' rates, or no longer, as these and their bounds allow.
    pub(super) fn check_slack(&mut self, id: ClassId) {
        let class = &self.classes[id as usize];
        if !class.loose {
            return;
        }
        if class.slack {
            if class.bound > class.free * (1.0 + self.precision.sums) && !self.cut_bounds(id) {
                self.tell(id);
                self.touch(id);
            }
        } else if class.others_rate <= CALM * class.free && self.cut_bounds(id) {
            let class = &mut self.classes[id as usize];
            class.slack = true;
            for member in &class.others {
                self.bundles[member.bundle as usize].set_slack(member.hop, true);
            }
        }
    }

    /// Cuts the members' bounds to what fits the link, each by its rate. Returns whether there is room for it.
    fn cut_bounds(&mut self, id: ClassId) -> bool {
        let class = &self.classes[id as usize];
        let rate: f64 = class.others.iter().map(|member| self.rate(member.bundle)).sum();
        if rate > BUSY * class.free {
            return false;
        }
        let headroom = (SPREAD * class.free / rate).min(HEADROOM);
        for place in 0..self.classes[id as usize].others.len() {
            let bundle = self.classes[id as usize].others[place].bundle;
            let most = self.rate(bundle) * headroom;
            if self.bundles[bundle as usize].bound > most {
                self.set_bound(bundle, most);
            }
        }
        true
    }

    /// Has a slack class hear of its members' rates.
    pub(super) fn tell(&mut self, id: ClassId) {
        let class = &mut self.classes[id as usize];
        if !class.slack {
            return;
        }
        (class.slack, class.others_rate, class.fastest) = (false, 0.0, 0.0);
        for place in 0..self.classes[id as usize].others.len() {
            let member = self.classes[id as usize].others[place];
            self.untie(member.bundle);
            let bundle = &mut self.bundles[member.bundle as usize];
            bundle.set_slack(member.hop, false);
            self.classes[id as usize].count(bundle);
        }
    }
}
