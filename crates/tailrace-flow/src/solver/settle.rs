//! Settling a class: who has its bottleneck here, at what level, and who must hear of it.

use std::cmp::Reverse;
use std::hint::black_box;

use super::class::Member;
use super::{AHEAD, Bundle, BundleId, ClassId, Hop, NOWHERE, Solver};

impl Solver {
    /// Has a class settled before rates are used.
    pub(super) fn enqueue(&mut self, id: ClassId) {
        let class = &mut self.classes[id as usize];
        if !class.queued {
            class.queued = true;
            // Numbers above zero are in the order of their bits.
            let level = class.filling_level().min(class.level).to_bits();
            self.queue.push(Reverse((class.rank, level, id)));
        }
    }

    /// The rates of others in a class have changed. It need not be settled if the link cannot be full.
    pub(super) fn touch(&mut self, id: ClassId) {
        let class = &self.classes[id as usize];
        if !class.loose {
            if !class.is_settled(self.solved, self.precision) {
                self.enqueue(id);
            }
        } else if !class.slack {
            if class.fits(self.precision) { self.check_slack(id) } else { self.tighten(class.link) }
        }
    }

    /// Gives a bottleneck to the bundles that have none yet.
    pub(super) fn place_newcomers(&mut self) {
        let mut newcomers = std::mem::take(&mut self.newcomers);
        // Some are gone, and their numbers may have come again.
        newcomers.retain(|&id| self.bundles[id as usize].weight > 0.0);
        for &id in &newcomers {
            if self.bundles[id as usize].bottleneck == NOWHERE {
                self.place(id);
            }
        }
        for id in newcomers.drain(..) {
            let Bundle { hops, bottleneck, .. } = self.bundles[id as usize];
            self.enqueue(hops[usize::from(bottleneck)].class);
        }
        self.newcomers = newcomers;
    }

    /// Makes that hop the bottleneck of a bundle where it will probably get least.
    fn place(&mut self, id: BundleId) {
        let Bundle { hops, length, weight, .. } = self.bundles[id as usize];
        let hop = self.narrowest(id);
        for (_, class) in (0..length).zip(hops.map(|hop| hop.class)).filter(|(other, _)| *other != hop) {
            self.classes[class as usize].coming -= weight;
        }
        let class = &self.classes[hops[usize::from(hop)].class as usize];
        if class.loose {
            self.tighten(class.link);
        }
        let class = self.bundles[id as usize].hops[usize::from(hop)].class;
        self.leave(Member { bundle: id, hop });
        self.bundles[id as usize].bottleneck = hop;
        self.join(class, Member { bundle: id, hop });
    }

    /// The hop where a bundle gets least if none of those who come with it stop elsewhere.
    fn narrowest(&self, id: BundleId) -> u8 {
        let bundle = &self.bundles[id as usize];
        let room = |hop: &u8| {
            let class = &self.classes[bundle.hops[usize::from(*hop)].class as usize];
            let others = if class.slack { 0.0 } else { class.others_rate };
            (class.free - others).max(0.0) / (class.own_weight + class.coming)
        };
        (0..bundle.length).min_by(|a, b| room(a).total_cmp(&room(b))).unwrap_or(0)
    }

    /// Makes a class right, given all others' levels.
    pub(super) fn settle(&mut self, id: ClassId) {
        let class = &mut self.classes[id as usize];
        class.queued = false;
        if class.loose || class.is_empty() {
            return;
        }
        // What it changes itself need not call it again.
        self.classes[id as usize].queued = true;
        self.capture(id);
        let class = &self.classes[id as usize];
        if !class.holds() || !class.is_settled(self.solved, self.precision) {
            self.count_round(id);
            let too_often = self.classes[id as usize].goes_round(self.solved, self.precision);
            let level = if too_often { self.kept_level(id) } else { self.release(id) };
            self.announce(id, level);
            self.pass_on(id);
        }
        self.classes[id as usize].queued = false;
    }

    /// Counts a round of a class.
    fn count_round(&mut self, id: ClassId) {
        let class = &mut self.classes[id as usize];
        class.rounds = if class.solved == self.solved { class.rounds.saturating_add(1) } else { 1 };
        class.solved = self.solved;
    }

    /// The level of a class that goes round: from now on it may only fall, which has an end.
    fn kept_level(&self, id: ClassId) -> f64 {
        let class = &self.classes[id as usize];
        class.filling_level().min(if class.holds() { class.level } else { f64::INFINITY })
    }

    /// Makes own members of those that would go faster than the class lets them.
    fn capture(&mut self, id: ClassId) {
        let class = &self.classes[id as usize];
        let slack = self.precision.sums * self.links[class.link as usize].capacity;
        let overrun = match class.holds() {
            true => class.filling_level() < class.fastest * (1.0 - self.precision.sums),
            false => class.others_rate > class.free + slack,
        };
        if !overrun {
            return;
        }
        let level = self.level_for_all(id);
        let (mut rate, mut fastest) = (0.0, 0.0_f64);
        let mut place = self.classes[id as usize].others.len();
        while place > 0 {
            place -= 1;
            let member = self.classes[id as usize].others[place];
            let bundle = &self.bundles[member.bundle as usize];
            if bundle.level > level {
                self.rebase(member);
            } else {
                rate += bundle.weight * bundle.level;
                fastest = fastest.max(bundle.level);
            }
        }
        let class = &mut self.classes[id as usize];
        (class.others_rate, class.fastest) = (rate, fastest);
    }

    /// The level at which members that go no faster and those that are held back together fill the class.
    fn level_for_all(&self, id: ClassId) -> f64 {
        let class = &self.classes[id as usize];
        let mut level = -1.0;
        let mut held_before = usize::MAX;
        loop {
            let (mut rest, mut weight, mut held) = (class.free, class.own_weight, 0);
            for member in &class.others {
                let bundle = &self.bundles[member.bundle as usize];
                if bundle.level > level {
                    weight += bundle.weight;
                    held += 1;
                } else {
                    rest -= bundle.weight * bundle.level;
                }
            }
            if held >= held_before || weight == 0.0 {
                return level;
            }
            (level, held_before) = (rest.max(0.0) / weight, held);
        }
    }

    /// Makes `member`'s hop the bottleneck of its bundle, at the level that it has.
    fn rebase(&mut self, member: Member) {
        let Bundle { hops, bottleneck, .. } = self.bundles[member.bundle as usize];
        let (old, new) = (Member { hop: bottleneck, ..member }, member);
        let class_at = |member: Member| hops[usize::from(member.hop)].class;
        self.leave(old);
        self.leave(new);
        self.bundles[member.bundle as usize].bottleneck = new.hop;
        self.join(class_at(old), old);
        self.join(class_at(new), new);
        self.enqueue(class_at(old));
        self.enqueue(class_at(new));
    }

    /// Lets own members go that get less elsewhere, which those that are tied cannot; returns the level of those that stay.
    fn release(&mut self, id: ClassId) -> f64 {
        loop {
            let level = self.classes[id as usize].filling_level();
            let mut released = false;
            let mut place = self.classes[id as usize].own.len();
            while place > 0 {
                place -= 1;
                let Member { bundle, hop } = self.classes[id as usize].own[place];
                let (other, elsewhere) = self.least_elsewhere(bundle, hop);
                if elsewhere < level * (1.0 - self.precision.sums) {
                    self.rebase(Member { bundle, hop: other });
                    self.set_level(bundle, elsewhere);
                    self.keep_bound(bundle);
                    released = true;
                }
            }
            if !released {
                return level;
            }
        }
    }

    /// The hop of a bundle, other than `hop`, where it gets least, and the level there.
    fn least_elsewhere(&self, bundle: BundleId, hop: u8) -> (u8, f64) {
        let bundle = &self.bundles[bundle as usize];
        let mut least = (hop, f64::INFINITY);
        for other in (0..bundle.length).filter(|&other| other != hop && !bundle.is_slack(usize::from(other)))
        {
            let level = self.classes[bundle.hops[usize::from(other)].class as usize].level;
            if level < least.1 {
                least = (other, level);
            }
        }
        least
    }

    /// Gives a class its level, and all whom it holds with it.
    fn announce(&mut self, id: ClassId, level: f64) {
        let class = &mut self.classes[id as usize];
        let same = (level - class.level).abs() <= self.precision.levels * level;
        let moves = level.is_infinite() || !same;
        if moves {
            class.level = level;
        }
        class.fresh = false;
        let level = class.level;
        if moves {
            self.tell_tied(id);
        }
        let mut place = self.classes[id as usize].own.len();
        while place > 0 {
            place -= 1;
            let own = &self.classes[id as usize].own;
            let bundle = own[place].bundle;
            if let Some(soon) = place.checked_sub(AHEAD) {
                black_box(self.bundles[own[soon].bundle as usize].level);
            }
            self.set_level(bundle, level);
            // Even at the same level: it may have been tied when that was new.
            self.keep_bound(bundle);
            if self.bundles[bundle as usize].may_be_tied() {
                self.tie(bundle);
            }
        }
    }

    /// Gives a bundle its level, and tells the classes where it is one of the others.
    fn set_level(&mut self, id: BundleId, level: f64) {
        let bundle = &mut self.bundles[id as usize];
        if bundle.level == level {
            return;
        }
        let by = bundle.weight * (level - bundle.level);
        bundle.level = level;
        let Bundle { hops, length, .. } = *bundle;
        let silent = bundle.silent();
        self.flag(id);
        for (hop, &Hop { class, .. }) in hops[..usize::from(length)].iter().enumerate() {
            if silent & 1 << hop == 0 {
                let this = &mut self.classes[class as usize];
                this.others_rate += by;
                this.fastest = this.fastest.max(level);
                self.touch(class);
            }
        }
    }
}
