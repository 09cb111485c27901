//! Who is to be looked at next.
//!
//! Rates change often and put off ends that lie far ahead or bring them near; a calendar would search its buckets
//! for each. Here a nearer time moves an entry up a few levels, and a later one leaves it where it is, to be put off
//! when its time comes.

use tailrace_core::Time;

use crate::heap::{Heap, Places};

/// Times by entity, at most one each.
#[derive(Default)]
pub(crate) struct Schedule {
    heap: Heap<Time>,
    places: Places,
}

impl Schedule {
    /// Sees to it that `entity` comes up at `at` or earlier.
    pub(crate) fn wake(&mut self, entity: u32, at: Time) {
        match self.places.of(entity) {
            None => self.heap.push(&mut self.places, at, entity),
            Some(place) if at < self.heap.key(place) => self.heap.change(&mut self.places, place, at),
            Some(_) => {}
        }
    }

    /// `entity` does not come up, if it was to.
    pub(crate) fn cancel(&mut self, entity: u32) {
        if let Some(place) = self.places.of(entity) {
            self.heap.remove(&mut self.places, place);
        }
    }

    /// The first entity and its time; of several at one time, the lowest.
    pub(crate) fn peek(&self) -> Option<(Time, u32)> {
        self.heap.first()
    }

    /// Takes the first entity off.
    pub(crate) fn pop(&mut self) -> Option<(Time, u32)> {
        self.heap.pop(&mut self.places)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Call {
        Wake(u32, u64),
        Cancel(u32),
        Pop,
    }

    fn a_call() -> impl Strategy<Value = Call> {
        prop_oneof![
            3 => (0..40_u32, 0..100_u64).prop_map(|(entity, at)| Call::Wake(entity, at)),
            1 => (0..40_u32).prop_map(Call::Cancel),
            1 => Just(Call::Pop),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_map_from_entity_to_the_earliest_time_asked_for(calls in prop::collection::vec(a_call(), 1..400)) {
            let (mut schedule, mut map) = (Schedule::default(), BTreeMap::<u32, Time>::new());
            for call in calls {
                match call {
                    Call::Wake(entity, at) => {
                        let at = Time::from_ps(at);
                        schedule.wake(entity, at);
                        map.entry(entity).and_modify(|known| *known = at.min(*known)).or_insert(at);
                    }
                    Call::Cancel(entity) => {
                        schedule.cancel(entity);
                        map.remove(&entity);
                    }
                    Call::Pop => {
                        let first = map.iter().map(|(&entity, &at)| (at, entity)).min();
                        first.map(|(_, entity)| map.remove(&entity));
                        prop_assert_eq!(schedule.pop(), first);
                    }
                }
            }
        }
    }
}
