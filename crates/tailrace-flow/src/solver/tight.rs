//! Links that may be full, and those that cannot.

use super::{ClassId, LinkId, Solver};

impl Solver {
    /// Whether a link may be full.
    pub fn is_tight(&self, link: LinkId) -> bool {
        let first = self.links[link as usize].classes.first();
        first.is_some_and(|&(_, class)| !self.classes[class as usize].loose)
    }

    /// Gives each rank a class of its own, now that the link may be full.
    pub(super) fn tighten(&mut self, link: LinkId) {
        let Some(&(_, joint)) = self.links[link as usize].classes.first() else { return };
        self.turned.push(link);
        self.tell(joint);
        self.classes[joint as usize].loose = false;
        if self.classes[joint as usize].mixed {
            self.split(joint);
        }
        self.hand_down(link);
    }

    /// Gives a link so many bytes a second.
    pub fn set_capacity(&mut self, link: LinkId, capacity: f64) {
        self.links[link as usize].capacity = capacity;
        match self.links[link as usize].classes.first() {
            Some(&(_, joint)) if self.classes[joint as usize].loose => {
                self.classes[joint as usize].free = capacity;
                self.check_slack(joint);
                self.touch(joint);
            }
            _ => self.hand_down(link),
        }
    }

    /// Works out what the classes of a link have, each what those above it leave.
    fn hand_down(&mut self, link: LinkId) {
        let mut left = self.links[link as usize].capacity;
        for place in 0..self.links[link as usize].classes.len() {
            let (_, id) = self.links[link as usize].classes[place];
            let class = &mut self.classes[id as usize];
            class.free = self.links[link as usize].sensible(left, self.precision);
            left = class.left();
            class.passed_on = f64::NAN;
            if class.holds() || class.others_rate > class.free {
                self.enqueue(id);
            }
        }
    }

    /// Sorts the members of all ranks into classes.
    fn split(&mut self, joint: ClassId) {
        let class = &mut self.classes[joint as usize];
        let link = class.link;
        let mut members = std::mem::take(&mut class.others);
        (class.others_rate, class.fastest, class.coming, class.bound) = (0.0, 0.0, 0.0, 0.0);
        class.mixed = false;
        members.sort_by_key(|member| self.bundles[member.bundle as usize].rank);
        let Some(first) = members.first() else { return };
        let least = self.bundles[first.bundle as usize].rank;
        self.classes[joint as usize].rank = least;
        self.links[link as usize].classes[0].0 = least;
        let mut class = joint;
        for member in members {
            let rank = self.bundles[member.bundle as usize].rank;
            if rank != self.classes[class as usize].rank {
                class = self.class_for(link, rank);
            }
            self.join(class, member);
        }
    }

    /// Lets links be that cannot be full any more. Rates stay as they are.
    pub fn loosen_idle(&mut self) {
        while let Some(link) = self.idle.pop() {
            if self.links[link as usize].held == 0 && self.is_tight(link) {
                self.loosen_if_it_fits(link);
            }
        }
    }

    /// Has all members in one class again, none of which has its bottleneck here.
    fn loosen_if_it_fits(&mut self, link: LinkId) {
        let this = &self.links[link as usize];
        let rates = this.classes.iter().map(|&(_, class)| self.classes[class as usize].others_rate);
        let (rate, capacity) = (rates.sum::<f64>(), this.capacity);
        if rate > capacity * (1.0 + self.precision.sums) {
            return;
        }
        self.turned.push(link);
        let (_, joint) = self.links[link as usize].classes[0];
        for (_, id) in self.links[link as usize].classes.split_off(1) {
            let members = std::mem::take(&mut self.classes[id as usize].others);
            members.into_iter().for_each(|member| self.join(joint, member));
            self.free_classes.push(id);
        }
        let class = &mut self.classes[joint as usize];
        (class.loose, class.free, class.level) = (true, capacity, f64::INFINITY);
        self.check_slack(joint);
    }
}
