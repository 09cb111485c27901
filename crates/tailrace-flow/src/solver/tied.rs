//! Bundles that have the level of a class, whatever it is, since no other link of their path hears of their rates.

use super::class::Member;
use super::{Bundle, BundleId, ClassId, NOWHERE, Solver};

impl Bundle {
    /// Whether no class but that of its bottleneck hears of its rate.
    pub(super) fn may_be_tied(&self) -> bool {
        let all = (1_u8 << self.length) - 1;
        !self.apart && !self.tied && self.bottleneck != NOWHERE && self.silent() & all == all
    }
}

impl Solver {
    /// Notes that a bundle has another level, or another way to know it.
    pub(super) fn flag(&mut self, id: BundleId) {
        if !std::mem::replace(&mut self.bundles[id as usize].changed, true) {
            self.changed.push(id);
        }
    }

    /// Ties a bundle to the class where it has its bottleneck, whose level it has.
    pub(super) fn tie(&mut self, id: BundleId) {
        let Bundle { hops, bottleneck, bound, weight, .. } = self.bundles[id as usize];
        let hop = hops[usize::from(bottleneck)];
        let class = &mut self.classes[hop.class as usize];
        class.own.swap_remove(hop.place as usize);
        if let Some(&Member { bundle, hop: its }) = class.own.get(hop.place as usize) {
            self.bundles[bundle as usize].hops[usize::from(its)].place = hop.place;
        }
        class.tied.push(&mut self.places, good_up_to(bound, weight), id);
        self.bundles[id as usize].tied = true;
        self.flag(id);
    }

    /// Gives a bundle that is tied a level of its own, which is that of its class.
    pub(super) fn untie(&mut self, id: BundleId) {
        let bundle = &mut self.bundles[id as usize];
        let Some(place) = self.places.of(id).filter(|_| bundle.tied) else { return };
        let hop = &mut bundle.hops[usize::from(bundle.bottleneck)];
        let class = &mut self.classes[hop.class as usize];
        class.tied.remove(&mut self.places, place);
        hop.place = class.own.len() as u32;
        class.own.push(Member { bundle: id, hop: bundle.bottleneck });
        (bundle.tied, bundle.level) = (false, class.level);
        self.flag(id);
    }

    /// Notes up to which level the bound of a bundle that is tied is good.
    pub(super) fn note_bound(&mut self, id: BundleId) {
        let Bundle { hops, bottleneck, tied, bound, weight, .. } = self.bundles[id as usize];
        if let Some(place) = self.places.of(id).filter(|_| tied) {
            let class = &mut self.classes[hops[usize::from(bottleneck)].class as usize];
            class.tied.change(&mut self.places, place, good_up_to(bound, weight));
        }
    }

    /// A class has another level: so have all who are tied to it, of whom some need other bounds. Those that have become too
    /// high are cut where there is no room for them.
    pub(super) fn tell_tied(&mut self, id: ClassId) {
        let class = &mut self.classes[id as usize];
        if class.tied.is_empty() {
            return;
        }
        if !std::mem::replace(&mut class.moved, true) {
            self.moved.push(id);
        }
        let mut short = std::mem::take(&mut self.short);
        while let Some((key, bundle)) = class.tied.first()
            && f64::from_bits(key) < class.level
        {
            class.tied.change(&mut self.places, 0, f64::INFINITY.to_bits());
            short.push(bundle);
        }
        for bundle in short.drain(..) {
            // It may have been untied by the bound of one before it; then `announce` looks at it.
            if self.bundles[bundle as usize].tied {
                let rate = self.rate(bundle);
                self.renew_bound(bundle, rate);
            }
        }
        self.short = short;
    }
}

/// The level up to which the rate of so much weight is not above a bound: the bits of a number above zero are in its order.
fn good_up_to(bound: f64, weight: f64) -> u64 {
    (bound / weight).next_down().max(0.0).to_bits()
}
