//! Clocks of classes: what a flow of weight 1 has been served that a class alone holds back.
//!
//! Whoever is tied to a class goes at its level times a weight, so its service is a difference of two readings. A flow
//! that comes or goes changes the rates of all of them: here that is one number, where each bundle would be another.

use tailrace_core::Time;

use crate::heap::{Heap, Places};
use crate::solver::{BundleId, ClassId};

/// The clocks of all classes that bundles are tied to, and who is due next by each.
#[derive(Default)]
pub(crate) struct Clocks {
    of_class: Vec<Clock>,
    /// Of bundles, each by one clock at most.
    places: Places,
}

struct Clock {
    /// Bytes for each unit of weight, until `since`.
    service: f64,
    since: Time,
    /// Bytes a second for each unit of weight.
    level: f64,
    /// When it is to be looked at, if that was asked for.
    armed: Time,
    /// Bundles that go by it.
    followers: u32,
    /// When by its reading something happens to a bundle; the bits of a number above zero are in its order.
    due: Heap<u64>,
}

impl Clock {
    fn new() -> Self {
        Clock {
            service: 0.0,
            since: Time::ZERO,
            level: 0.0,
            armed: Time::MAX,
            followers: 0,
            due: Heap::default(),
        }
    }

    fn reading(&self, now: Time) -> f64 {
        self.service + self.level * (now - self.since).as_secs_f64()
    }

    /// By so much its service may be short of what it is: times are whole picoseconds, and sums are rounded.
    fn slack(&self) -> f64 {
        self.level * 2e-12 + self.service * 1e-14
    }

    /// When it is to be looked at; [`Time::MAX`] if that is never.
    fn next_event(&self) -> Time {
        let Some((key, _)) = self.due.first() else { return Time::MAX };
        after((f64::from_bits(key) - self.service) / self.level, self.since)
    }
}

/// So many seconds later, in whole picoseconds, rounded up. A rate of zero gives infinity, and infinity the largest integer.
pub(crate) fn after(seconds: f64, since: Time) -> Time {
    since.saturating_add(Time::from_ps((seconds.max(0.0) * 1e12).ceil() as u64))
}

impl Clocks {
    /// What a clock shows.
    pub(crate) fn reading(&self, class: ClassId, now: Time) -> f64 {
        self.of_class[class as usize].reading(now)
    }

    /// By so much its reading may be short of what it is.
    pub(crate) fn slack(&self, class: ClassId) -> f64 {
        self.of_class[class as usize].slack()
    }

    /// Bytes a second for each unit of weight.
    pub(crate) fn level(&self, class: ClassId) -> f64 {
        self.of_class[class as usize].level
    }

    /// From now on a clock goes at this level.
    pub(crate) fn set_level(&mut self, class: ClassId, now: Time, level: f64) {
        if class as usize >= self.of_class.len() {
            self.of_class.resize_with(class as usize + 1, Clock::new);
        }
        let clock = &mut self.of_class[class as usize];
        (clock.service, clock.since, clock.level) = (clock.reading(now), now, level);
    }

    /// A bundle goes by a clock from now on. One that nobody went by starts anew, so that rounding does not add up.
    pub(crate) fn enter(&mut self, class: ClassId, now: Time) {
        let clock = &mut self.of_class[class as usize];
        if clock.followers == 0 {
            (clock.service, clock.since) = (0.0, now);
        }
        clock.followers += 1;
    }

    /// A bundle does not go by this clock any more. Returns whether nobody does, so that there is nothing to look at.
    pub(crate) fn leave(&mut self, class: ClassId, bundle: BundleId) -> bool {
        let clock = &mut self.of_class[class as usize];
        clock.followers -= 1;
        if let Some(place) = self.places.of(bundle) {
            clock.due.remove(&mut self.places, place);
        }
        if clock.followers == 0 {
            clock.armed = Time::MAX;
        }
        clock.followers == 0
    }

    /// Something happens to a bundle that goes by a clock when that reads so much.
    pub(crate) fn expect(&mut self, class: ClassId, bundle: BundleId, reading: f64) {
        let clock = &mut self.of_class[class as usize];
        let key = reading.max(0.0).to_bits();
        match self.places.of(bundle) {
            Some(place) => clock.due.change(&mut self.places, place, key),
            None => clock.due.push(&mut self.places, key, bundle),
        }
    }

    /// When a clock is to be looked at next, unless that was asked for already: `now` at the earliest, though what is due then
    /// may have been so for a rounding.
    pub(crate) fn arm(&mut self, class: ClassId, now: Time) -> Option<Time> {
        let clock = &mut self.of_class[class as usize];
        let at = clock.next_event().max(now);
        let is_nearer = at < clock.armed;
        clock.armed = clock.armed.min(at);
        is_nearer.then_some(at)
    }

    /// A clock is looked at: takes out those to whom something happens now.
    pub(crate) fn take_due(&mut self, class: ClassId, now: Time, due: &mut Vec<BundleId>) {
        let clock = &mut self.of_class[class as usize];
        clock.armed = Time::MAX;
        (clock.service, clock.since) = (clock.reading(now), now);
        let reading = clock.service + clock.slack();
        while let Some((key, bundle)) = clock.due.first()
            && f64::from_bits(key) <= reading
        {
            clock.due.pop(&mut self.places);
            due.push(bundle);
        }
    }
}
