//! Who is to be looked at next: a heap of four branches that knows where everyone is.
//!
//! Rates change often and put off ends that lie far ahead or bring them near; a calendar would search its buckets
//! for each. Here a nearer time moves an entry up a few levels, and a later one leaves it where it is, to be put off
//! when its time comes.

use tailrace_core::Time;

/// Place of those that are not scheduled.
const NOWHERE: u32 = u32::MAX;
const BRANCHES: usize = 4;

/// Times by entity, at most one each.
#[derive(Default)]
pub(crate) struct Schedule {
    heap: Vec<(Time, u32)>,
    places: Vec<u32>,
}

impl Schedule {
    /// Sees to it that `entity` comes up at `at` or earlier.
    pub(crate) fn wake(&mut self, entity: u32, at: Time) {
        if entity as usize >= self.places.len() {
            self.places.resize(entity as usize + 1, NOWHERE);
        }
        let place = self.places[entity as usize];
        if place == NOWHERE {
            self.heap.push((at, entity));
            self.rise(self.heap.len() - 1);
        } else if at < self.heap[place as usize].0 {
            self.heap[place as usize].0 = at;
            self.rise(place as usize);
        }
    }

    /// The first entity and its time; of several at one time, the lowest.
    pub(crate) fn peek(&self) -> Option<(Time, u32)> {
        self.heap.first().copied()
    }

    /// Takes the first entity off.
    pub(crate) fn pop(&mut self) -> Option<(Time, u32)> {
        let first = self.peek()?;
        self.places[first.1 as usize] = NOWHERE;
        if let Some(last) = self.heap.pop()
            && last != first
        {
            self.heap[0] = last;
            self.sink();
        }
        Some(first)
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let above = (place - 1) / BRANCHES;
            if self.heap[above] <= entry {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, entry);
    }

    fn sink(&mut self) {
        let (mut place, entry) = (0, self.heap[0]);
        loop {
            let below = place * BRANCHES + 1;
            let end = (below + BRANCHES).min(self.heap.len());
            let Some(least) = (below..end).min_by_key(|&child| self.heap[child]) else { break };
            if entry <= self.heap[least] {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (Time, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_from_entity_to_the_earliest_time_asked_for(
            calls in prop::collection::vec(prop::option::of((0..40_u32, 0..100_u64)), 1..400)
        ) {
            let (mut schedule, mut map) = (Schedule::default(), BTreeMap::<u32, Time>::new());
            for call in calls {
                if let Some((entity, at)) = call {
                    let at = Time::from_ps(at);
                    schedule.wake(entity, at);
                    map.entry(entity).and_modify(|known| *known = at.min(*known)).or_insert(at);
                } else {
                    let first = map.iter().map(|(&entity, &at)| (at, entity)).min();
                    first.map(|(_, entity)| map.remove(&entity));
                    prop_assert_eq!(schedule.pop(), first);
                }
            }
        }
    }
}
