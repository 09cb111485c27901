//! Links with room to spare, which need not hear of every rate.
//!
//! A bundle has a bound on its rate, which it renews when the rate passes it or has fallen far below. While the bounds on
//! a link add up to no more than its capacity it cannot be full, and its members' rates may change without a word: a flow
//! whose rate rises from a fortieth to all of a link tells those elsewhere on its path five times instead of forty.

use super::class::ClassId;
use super::{Bundle, BundleId, Solver};

/// A new bound is so many times the rate.
const HEADROOM: f64 = 2.0;
/// A bound that is more times the rate is renewed.
const TOO_HIGH: f64 = 4.0;
/// A link is slack again when bounds are below this part of it, so that few events take it to and fro.
const SLACK_AGAIN: f64 = 0.75;

impl Bundle {
    /// Notes whether the class at a hop is slack.
    pub(super) fn set_slack(&mut self, hop: u8, slack: bool) {
        self.slack = self.slack & !(1 << hop) | u8::from(slack) << hop;
    }
}

impl Solver {
    /// Renews a bundle's bound if its rate has passed it, or has fallen far below.
    pub(super) fn keep_bound(&mut self, id: BundleId) {
        let bundle = &self.bundles[id as usize];
        let (rate, bound) = (bundle.rate(), bundle.bound);
        if rate <= bound && bound <= TOO_HIGH * rate {
            return;
        }
        let Bundle { hops, length, .. } = *bundle;
        let hops = &hops[..usize::from(length)];
        let most =
            hops.iter().map(|hop| self.classes[hop.class as usize].free).fold(HEADROOM * rate, f64::min);
        let new = most.max(rate);
        self.bundles[id as usize].bound = new;
        for hop in hops {
            self.classes[hop.class as usize].bound += new - bound;
            self.check_slack(hop.class);
        }
    }

    /// Has a loose class hear of its members' rates, or no longer, as their bounds allow.
    pub(super) fn check_slack(&mut self, id: ClassId) {
        let class = &mut self.classes[id as usize];
        if !class.loose {
            return;
        }
        if !class.slack && class.bound <= SLACK_AGAIN * class.free {
            class.slack = true;
            for member in &class.others {
                self.bundles[member.bundle as usize].set_slack(member.hop, true);
            }
        } else if class.slack && class.bound > class.free * (1.0 + self.precision.sums) {
            self.tell(id);
            self.touch(id);
        }
    }

    /// Has a slack class hear of its members' rates.
    pub(super) fn tell(&mut self, id: ClassId) {
        let class = &mut self.classes[id as usize];
        if !class.slack {
            return;
        }
        (class.slack, class.others_rate, class.fastest) = (false, 0.0, 0.0);
        for place in 0..class.others.len() {
            let member = class.others[place];
            let bundle = &mut self.bundles[member.bundle as usize];
            bundle.set_slack(member.hop, false);
            class.count(bundle);
        }
    }
}
