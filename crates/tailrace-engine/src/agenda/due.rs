//! The next wake-ups in their order, before all that the agenda's buckets hold.

use std::cmp::Ordering;

use super::{Entity, NONE, Node};

/// A wake-up that is the next, or soon will be.
#[derive(Clone, Copy)]
pub struct Due {
    /// When.
    pub at: u64,
    /// Who.
    pub entity: Entity,
}

/// Wake-ups in order, of which the first have been given out.
pub(super) struct DueList {
    list: Vec<Due>,
    given: usize,
    /// How many were given out that are in the list no more.
    given_before: u64,
    /// Another number gives another order of ties.
    pub(super) order: u64,
}

impl DueList {
    /// An empty list, with room for so many.
    pub(super) fn new(room: usize) -> Self {
        DueList { list: Vec::with_capacity(room), given: 0, given_before: 0, order: 0 }
    }

    /// The first that has not been given out.
    #[inline]
    pub(super) fn first(&self) -> Option<&Due> {
        self.list.get(self.given)
    }

    /// Those that have not been given out.
    #[inline]
    pub(super) fn rest(&self) -> &[Due] {
        &self.list[self.given..]
    }

    /// The first is given out.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.given += 1;
    }

    /// How many have been given out since the beginning.
    pub(super) fn given_out(&self) -> u64 {
        self.given_before + self.given as u64
    }

    /// Begins anew, when all have been given out.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.given_before += self.given as u64;
        self.given = 0;
    }

    /// How many it has been filled with.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Takes the entities of a bucket, which come after all that are here and begin with `first`.
    #[inline]
    pub(super) fn take(&mut self, nodes: &[Node], first: Entity) {
        let Node { at, next, .. } = nodes[first as usize];
        self.list.push(Due { at, entity: first });
        if next != NONE {
            self.take_rest(nodes, next);
        }
    }

    /// Takes those of a bucket that come behind its first, and puts these in order.
    #[inline(never)]
    fn take_rest(&mut self, nodes: &[Node], mut entity: Entity) {
        let (list, order) = (&mut self.list, self.order);
        let start = list.len() - 1;
        while entity != NONE {
            let Node { at, next, .. } = nodes[entity as usize];
            list.push(Due { at, entity });
            entity = next;
        }
        if let [first, second] = &mut list[start..] {
            if precedes(second, first, order) {
                std::mem::swap(first, second);
            }
            return;
        }
        list[start..].sort_unstable_by(|a, b| compare(a, b, order));
    }

    /// Puts one in its place. Few are before it: these move into the room of one that was given out, where there is any.
    #[inline(never)]
    pub(super) fn insert(&mut self, new: Due) {
        let before = self.rest().iter().take_while(|other| precedes(other, &new, self.order)).count();
        let Some(room) = self.given.checked_sub(1) else { return self.list.insert(before, new) };
        debug_assert!(
            self.list[room].at <= new.at,
            "{} is woken at {} ps, which is over",
            new.entity,
            new.at
        );
        self.list.copy_within(self.given..self.given + before, room);
        self.list[room + before] = new;
        self.given = room;
        self.given_before += 1;
    }

    /// Takes off an entity that is among them.
    pub(super) fn remove(&mut self, entity: Entity) {
        let place = self.rest().iter().position(|due| due.entity == entity);
        self.list.remove(self.given + place.expect("what is due is among it"));
    }
}

#[inline]
fn precedes(one: &Due, other: &Due, order: u64) -> bool {
    compare(one, other, order).is_lt()
}

#[inline]
fn compare(one: &Due, other: &Due, order: u64) -> Ordering {
    one.at.cmp(&other.at).then_with(|| compare_turns(one, other, order))
}

/// Which comes first of two at the same time.
#[cold]
fn compare_turns(one: &Due, other: &Due, order: u64) -> Ordering {
    let turn = |due: &Due| turn(due.at ^ order, due.entity);
    turn(one).cmp(&turn(other))
}

/// Whose turn it is among the entities woken at the same time: SplitMix64's mixer, a permutation for each
/// `at`, so that no two entities share a turn.
#[inline]
pub(super) fn turn(at: u64, entity: Entity) -> u64 {
    let x = at ^ u64::from(entity).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
