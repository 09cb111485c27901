//! A heap of four branches in which entries are found again.

/// Place of those that are in no heap.
const NOWHERE: u32 = u32::MAX;
const BRANCHES: usize = 4;

/// Where entities are in their heaps, of which each is in one at most.
#[derive(Default)]
pub(crate) struct Places(Vec<u32>);

impl Places {
    /// Where an entity is in its heap.
    pub(crate) fn of(&self, entity: u32) -> Option<usize> {
        self.0.get(entity as usize).filter(|&&place| place != NOWHERE).map(|&place| place as usize)
    }

    fn set(&mut self, entity: u32, place: u32) {
        if entity as usize >= self.0.len() {
            self.0.resize(entity as usize + 1, NOWHERE);
        }
        self.0[entity as usize] = place;
    }
}

/// Entities by key, the least first; of one key, the lowest first. All methods that move them are told where they are.
pub(crate) struct Heap<K>(Vec<(K, u32)>);

impl<K> Default for Heap<K> {
    fn default() -> Self {
        Heap(Vec::new())
    }
}

impl<K: Copy + Ord> Heap<K> {
    /// The first entity and its key.
    pub(crate) fn first(&self) -> Option<(K, u32)> {
        self.0.first().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All entities, in no order that means anything.
    pub(crate) fn entities(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|&(_, entity)| entity)
    }

    /// The key of the entity at a place.
    pub(crate) fn key(&self, place: usize) -> K {
        self.0[place].0
    }

    /// Adds an entity that is in no heap.
    pub(crate) fn push(&mut self, places: &mut Places, key: K, entity: u32) {
        self.0.push((key, entity));
        self.rise(places, self.0.len() - 1);
    }

    /// Gives the entity at a place another key.
    pub(crate) fn change(&mut self, places: &mut Places, place: usize, key: K) {
        let nearer = key < self.0[place].0;
        self.0[place].0 = key;
        if nearer { self.rise(places, place) } else { self.sink(places, place) }
    }

    /// Takes out the entity at a place.
    pub(crate) fn remove(&mut self, places: &mut Places, place: usize) {
        let (key, entity) = self.0.swap_remove(place);
        places.set(entity, NOWHERE);
        if let Some(&moved) = self.0.get(place) {
            if moved < (key, entity) { self.rise(places, place) } else { self.sink(places, place) }
        }
    }

    /// Takes out the first entity.
    pub(crate) fn pop(&mut self, places: &mut Places) -> Option<(K, u32)> {
        let first = self.first()?;
        self.remove(places, 0);
        Some(first)
    }

    fn rise(&mut self, places: &mut Places, mut place: usize) {
        let entry = self.0[place];
        while place > 0 {
            let above = (place - 1) / BRANCHES;
            if self.0[above] <= entry {
                break;
            }
            self.put(places, place, self.0[above]);
            place = above;
        }
        self.put(places, place, entry);
    }

    fn sink(&mut self, places: &mut Places, mut place: usize) {
        let entry = self.0[place];
        loop {
            let below = (place * BRANCHES + 1).min(self.0.len());
            let end = (below + BRANCHES).min(self.0.len());
            let children = self.0[below..end].iter().zip(below..);
            let Some((&least, child)) =
                children.min_by_key(|&(&child, _)| child).filter(|&(&least, _)| least < entry)
            else {
                break;
            };
            self.put(places, place, least);
            place = child;
        }
        self.put(places, place, entry);
    }

    fn put(&mut self, places: &mut Places, place: usize, entry: (K, u32)) {
        self.0[place] = entry;
        places.set(entry.1, place as u32);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Call {
        Put(usize, u32, u64),
        Remove(u32),
        Pop(usize),
    }

    fn a_call() -> impl Strategy<Value = Call> {
        prop_oneof![
            4 => (0..3_usize, 0..40_u32, 0..100_u64).prop_map(|(heap, entity, key)| Call::Put(heap, entity, key)),
            2 => (0..40_u32).prop_map(Call::Remove),
            2 => (0..3_usize).prop_map(Call::Pop),
        ]
    }

    proptest! {
        #[test]
        fn several_heaps_are_sorted_maps(calls in prop::collection::vec(a_call(), 1..400)) {
            let mut heaps: [Heap<u64>; 3] = Default::default();
            let (mut places, mut map) = (Places::default(), BTreeMap::<u32, (usize, u64)>::new());
            for call in calls {
                match call {
                    Call::Put(_, entity, key) if map.contains_key(&entity) => {
                        let heap = map[&entity].0;
                        let place = places.of(entity).unwrap();
                        heaps[heap].change(&mut places, place, key);
                        map.insert(entity, (heap, key));
                    }
                    Call::Put(heap, entity, key) => {
                        heaps[heap].push(&mut places, key, entity);
                        map.insert(entity, (heap, key));
                    }
                    Call::Remove(entity) => {
                        prop_assert_eq!(places.of(entity).is_some(), map.contains_key(&entity));
                        if let Some((heap, key)) = map.remove(&entity) {
                            let place = places.of(entity).unwrap();
                            prop_assert_eq!(heaps[heap].key(place), key);
                            heaps[heap].remove(&mut places, place);
                        }
                    }
                    Call::Pop(heap) => {
                        let here = map.iter().filter(|(_, (of, _))| *of == heap);
                        let first = here.map(|(&entity, &(_, key))| (key, entity)).min();
                        prop_assert_eq!(heaps[heap].is_empty(), first.is_none());
                        prop_assert_eq!(heaps[heap].entities().min(), map.iter().filter(|(_, (of, _))| *of == heap).map(|(&entity, _)| entity).min());
                        prop_assert_eq!(heaps[heap].pop(&mut places), first);
                        first.map(|(_, entity)| map.remove(&entity));
                    }
                }
            }
        }
    }
}
