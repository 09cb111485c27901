//! The agenda: a calendar of several levels of intrusive lists.
//!
//! Level 0 holds the near future in buckets of a few nanoseconds, so that a bucket rarely holds more than
//! one or two wake-ups; the levels above hold what lies further ahead (retransmission timers, control
//! periods) and hand a bucket down when its time comes. An entity's list node is its own array slot, so
//! nothing allocates, and a wake-up costs a handful of instructions at any load.

/// Who is woken: a small number given by the driver.
pub type Entity = u32;

const NONE: u32 = u32::MAX;
/// Enough for all of 64 bits, whatever the width of the first level's buckets.
const LEVELS: usize = 6;
/// Logarithm of the number of buckets of the levels above the first.
const FAR_BITS: u32 = 12;
/// Level of an entity that has no wake-up pending.
const IDLE: u32 = LEVELS as u32;

/// An entity's pending wake-up, and its place in the list of its bucket.
#[derive(Clone, Copy)]
struct Node {
    at: u64,
    next: u32,
    level: u32,
}

/// Pending wake-ups, at most one an entity, in order of time.
///
/// Wake-ups at the same time come in the order of a hash of time and entity. The hash depends on nothing
/// else, so runs repeat; and it favours nobody. Where links have equal rates and delays, packets meet at the
/// same picosecond all the time: if the lower number always went first, its flows would see a queue shorter
/// by one packet, be marked less and get up to twice the others' share.
pub struct Agenda {
    nodes: Vec<Node>,
    levels: [Level; LEVELS],
    /// Wake-ups from here on are kept.
    end: u64,
    /// Buckets of this rotation of level 0 that are over before the end.
    whole: usize,
    /// Another number gives another order of ties.
    order: u64,
}

impl Agenda {
    /// An agenda for entities `0..entities` whose wake-ups mostly lie within `span_ps` picoseconds.
    pub fn new(entities: usize, span_ps: u64) -> Self {
        let buckets = (entities * 16).next_power_of_two().clamp(1 << 10, 1 << 17);
        let width = (span_ps / buckets as u64).max(1).next_power_of_two().trailing_zeros();
        let near = buckets.trailing_zeros();
        let level = |number: usize| match number {
            0 => Level::new(width, near),
            n => Level::new((width + near + (n as u32 - 1) * FAR_BITS).min(63), FAR_BITS),
        };
        Agenda {
            nodes: vec![Node { at: u64::MAX, next: NONE, level: IDLE }; entities],
            levels: std::array::from_fn(level),
            end: u64::MAX,
            whole: buckets,
            order: 0,
        }
    }

    /// Sees to it that `entity` is woken at `at_ps` or earlier: a later request than the pending one is
    /// ignored, an earlier one replaces it. `at_ps` must not lie before the last event.
    #[inline(always)]
    pub fn wake(&mut self, entity: Entity, at_ps: u64) {
        let node = &mut self.nodes[entity as usize];
        if node.level != IDLE {
            if node.at <= at_ps {
                return;
            }
            return self.wake_earlier(entity, at_ps);
        }
        let near = &mut self.levels[0];
        let slot = at_ps >> near.shift;
        if near.takes(slot) {
            *node = Node { at: at_ps, next: near.push(slot, entity), level: 0 };
        } else {
            self.insert_far(entity, at_ps);
        }
    }

    /// Wakes an entity earlier than it has asked for.
    #[inline(never)]
    fn wake_earlier(&mut self, entity: Entity, at_ps: u64) {
        self.unlink(entity);
        self.insert(entity, at_ps);
    }

    /// Breaks ties in another order for each number; all others use 0.
    #[doc(hidden)]
    pub fn break_ties_by(&mut self, order: u64) {
        self.order = order;
    }

    /// From now on only wake-ups before `end_ps` are given out; all are if it is `u64::MAX`. Others may still be asked for,
    /// however far the next one is.
    pub fn run_until(&mut self, end_ps: u64) {
        self.end = end_ps;
        self.count_whole();
    }

    /// The next wake-up before the end: its time and entity.
    #[inline]
    pub fn next(&mut self) -> Option<(u64, Entity)> {
        self.next_and_soon().map(|(at, entity, _)| (at, entity))
    }

    /// The same, and an entity that is likely to come after it, or any number: what that one needs may be fetched meanwhile.
    /// Inlined, for it is most of what a packet-hop asks of the agenda.
    #[inline(always)]
    pub fn next_and_soon(&mut self) -> Option<(u64, Entity, Entity)> {
        // Mostly the next one shares a word with the last, and is alone in its bucket.
        let near = &mut self.levels[0];
        let cursor = near.cursor;
        if let Some(word) = near.words.get_mut(cursor >> 6) {
            let rest = word.occupied >> (cursor & 63) << (cursor & 63);
            let place = rest.trailing_zeros() as usize & 63;
            let bucket = cursor & !63 | place;
            let entity = word.heads[place];
            if rest != 0 && bucket < self.whole {
                near.cursor = bucket;
                let node = &mut self.nodes[entity as usize];
                if node.next != NONE {
                    let (at, entity) = self.pop_least_of_several(bucket, entity);
                    return Some((at, entity, self.levels[0].soon(bucket)));
                }
                node.level = IDLE;
                word.heads[place] = NONE;
                word.occupied &= !(1 << place);
                let soon = word.heads[(rest & (rest - 1)).trailing_zeros() as usize & 63];
                if word.occupied == 0 {
                    near.summary[cursor >> 12] &= !(1 << (cursor >> 6 & 63));
                }
                return Some((node.at, entity, soon));
            }
        }
        self.find_next()
    }

    /// The same, wherever it is.
    #[inline(never)]
    fn find_next(&mut self) -> Option<(u64, Entity, Entity)> {
        loop {
            let near = &self.levels[0];
            if let Some(bucket) = near.occupied_from(near.cursor) {
                if bucket >= self.whole && self.is_beyond(bucket) {
                    return None;
                }
                self.levels[0].cursor = bucket;
                let (at, entity) = self.pop_least(bucket);
                return Some((at, entity, self.levels[0].soon(bucket)));
            }
            if !self.goes_on() {
                return None;
            }
            self.advance();
        }
    }

    /// Whether all of a bucket of level 0 is beyond the end, if there is one.
    #[cold]
    fn is_beyond(&self, bucket: usize) -> bool {
        self.end < u64::MAX && self.least_of(0, bucket) >= self.end
    }

    /// Whether anything beyond this rotation of level 0 is before the end.
    #[cold]
    fn goes_on(&self) -> bool {
        if self.end == u64::MAX {
            return self.levels.iter().any(|level| level.occupied_from(0).is_some());
        }
        self.peek().is_some_and(|next| next < self.end)
    }

    /// Counts the buckets of this rotation of level 0 that are over before the end: of what is in them there is no need
    /// to know when it is.
    fn count_whole(&mut self) {
        let near = &self.levels[0];
        let slots = (self.end >> near.shift).saturating_sub(near.base);
        self.whole = slots.min(near.buckets()) as usize;
    }

    /// The least time in a bucket, which holds some.
    fn least_of(&self, level: usize, bucket: usize) -> u64 {
        let mut least = u64::MAX;
        let mut entity = self.levels[level].head(bucket);
        while entity != NONE {
            let node = &self.nodes[entity as usize];
            least = least.min(node.at);
            entity = node.next;
        }
        least
    }

    /// When the next wake-up is, without taking it off: how long a driver in real time may sleep.
    pub fn peek(&self) -> Option<u64> {
        let near = &self.levels[0];
        if let Some(bucket) = near.occupied_from(near.cursor) {
            // What is left of this rotation comes before all else.
            return Some(self.least_of(0, bucket));
        }
        let first = |level: usize| {
            // Level 0 slides: what lies below its cursor belongs to its next rotation.
            let bucket = self.levels[level].occupied_from(self.levels[level].cursor);
            let bucket = bucket.or_else(|| self.levels[level].occupied_from(0))?;
            Some(self.least_of(level, bucket))
        };
        (0..LEVELS).filter_map(first).min()
    }

    #[inline]
    fn insert(&mut self, entity: Entity, at: u64) {
        if self.levels[0].takes(at >> self.levels[0].shift) {
            self.push(0, entity, at);
        } else {
            self.insert_far(entity, at);
        }
    }

    #[inline]
    fn push(&mut self, number: usize, entity: Entity, at: u64) {
        let level = &mut self.levels[number];
        let next = level.push(at >> level.shift, entity);
        self.nodes[entity as usize] = Node { at, next, level: number as u32 };
    }

    /// Puts a wake-up where level 0 does not reach.
    #[inline(never)]
    fn insert_far(&mut self, entity: Entity, at: u64) {
        let near = &self.levels[0];
        debug_assert!(at >> near.shift >= near.slot(), "wake-up of {entity} at {at} ps lies in the past");
        let takes = |&number: &usize| {
            let level = &self.levels[number];
            (at >> level.shift) - level.base < level.buckets()
        };
        let number = (1..LEVELS).find(takes);
        self.push(number.expect("the last level takes all there is"), entity, at);
    }

    /// Takes the first wake-up out of a bucket of level 0.
    fn pop_least(&mut self, bucket: usize) -> (u64, Entity) {
        let head = self.levels[0].head(bucket);
        let first = &mut self.nodes[head as usize];
        if first.next != NONE {
            return self.pop_least_of_several(bucket, head);
        }
        first.level = IDLE;
        let at = first.at;
        self.levels[0].clear(bucket);
        (at, head)
    }

    #[inline(never)]
    fn pop_least_of_several(&mut self, bucket: usize, head: Entity) -> (u64, Entity) {
        let first = self.nodes[head as usize];
        let mut least = (first.at, head);
        // The turn of the least so far, once it is asked for; and which the list has before it.
        let (mut its_turn, mut before_it) = (None, NONE);
        let (mut before, mut entity) = (head, first.next);
        while entity != NONE {
            let node = &self.nodes[entity as usize];
            if node.at < least.0 {
                (least, its_turn, before_it) = ((node.at, entity), None, before);
            } else if node.at == least.0 {
                let this_turn = turn(node.at ^ self.order, entity);
                if this_turn < *its_turn.get_or_insert_with(|| turn(least.0 ^ self.order, least.1)) {
                    (least, its_turn, before_it) = ((node.at, entity), Some(this_turn), before);
                }
            }
            (before, entity) = (entity, node.next);
        }
        let it = &mut self.nodes[least.1 as usize];
        it.level = IDLE;
        let after = it.next;
        if before_it == NONE {
            self.levels[0].words[bucket >> 6].heads[bucket & 63] = after;
        } else {
            self.nodes[before_it as usize].next = after;
        }
        least
    }

    /// Takes an entity's pending wake-up off the agenda.
    fn unlink(&mut self, entity: Entity) {
        let Node { at, next: after, level } = self.nodes[entity as usize];
        self.nodes[entity as usize].level = IDLE;
        let level = &mut self.levels[level as usize];
        let bucket = level.bucket(at >> level.shift);
        let mut before = level.head(bucket);
        if before == entity && after == NONE {
            level.clear(bucket);
        } else if before == entity {
            level.words[bucket >> 6].heads[bucket & 63] = after;
        } else {
            while self.nodes[before as usize].next != entity {
                before = self.nodes[before as usize].next;
            }
            self.nodes[before as usize].next = after;
        }
    }

    /// The rotation of level 0 is over: starts the next one that holds anything and takes over what the
    /// level above kept for it.
    #[cold]
    fn advance(&mut self) {
        // What level 0 still holds was put there less than a rotation ahead: it belongs to the very next.
        let near_waits = self.levels[0].occupied_from(0).is_some();
        self.step(1, near_waits);
        let rotation = self.levels[1].slot();
        let near = &mut self.levels[0];
        near.base = rotation * near.buckets();
        near.cursor = 0;
        self.count_whole();
        self.hand_down(1);
    }

    /// Moves `level` on to its next bucket that holds anything, or to the very next if level 0 waits. At
    /// the end of its rotation it takes over what the level above kept for the one after.
    fn step(&mut self, level: usize, near_waits: bool) {
        let this = &mut self.levels[level];
        let next = this.cursor + 1;
        let target = if near_waits { Some(next) } else { this.occupied_from(next) };
        if let Some(bucket) = target.filter(|&bucket| bucket as u64 <= this.mask) {
            this.cursor = bucket;
            return;
        }
        assert!(level + 1 < LEVELS, "the agenda ran past the end of time");
        self.step(level + 1, near_waits);
        let rotation = self.levels[level + 1].slot();
        let this = &mut self.levels[level];
        this.base = rotation * this.buckets();
        this.cursor = 0;
        self.hand_down(level + 1);
        if self.levels[0].occupied_from(0).is_none() {
            let this = &mut self.levels[level];
            this.cursor = this.occupied_from(0).unwrap_or(0);
        }
    }

    /// Moves the current bucket of `level` into the levels below it.
    fn hand_down(&mut self, level: usize) {
        let bucket = self.levels[level].cursor;
        let mut entity = self.levels[level].head(bucket);
        if entity == NONE {
            return;
        }
        self.levels[level].clear(bucket);
        while entity != NONE {
            let Node { at, next, .. } = self.nodes[entity as usize];
            self.insert(entity, at);
            entity = next;
        }
    }
}

/// Whose turn it is among the entities woken at the same time: SplitMix64's mixer, a permutation for each
/// `at`, so that no two entities share a turn.
#[inline]
fn turn(at: u64, entity: Entity) -> u64 {
    let x = at ^ u64::from(entity).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Buckets that share a word of bits: each the head of a list.
#[derive(Clone, Copy)]
struct Word {
    occupied: u64,
    heads: [u32; 64],
}

/// One level: a rotation of buckets, and two layers of bits to find the next
/// occupied one. A slot is a time in units of the bucket width; bucket = slot modulo the rotation.
struct Level {
    shift: u32,
    /// The number of buckets, less one.
    mask: u64,
    /// Slot of bucket 0 in the current rotation.
    base: u64,
    /// Current bucket: all before it are empty.
    cursor: usize,
    words: Vec<Word>,
    summary: Vec<u64>,
}

impl Level {
    fn new(shift: u32, bits: u32) -> Self {
        let words = (1usize << bits).div_ceil(64);
        Level {
            shift,
            mask: (1 << bits) - 1,
            base: 0,
            cursor: 0,
            words: vec![Word { occupied: 0, heads: [NONE; 64] }; words],
            summary: vec![0; words.div_ceil(64)],
        }
    }

    #[inline]
    fn buckets(&self) -> u64 {
        self.mask + 1
    }

    /// The slot where this level stands.
    #[inline]
    fn slot(&self) -> u64 {
        self.base + self.cursor as u64
    }

    /// Whether level 0 takes a slot. It slides: it takes a full rotation from where it stands, the others are aligned.
    #[inline]
    fn takes(&self, slot: u64) -> bool {
        slot.wrapping_sub(self.slot()) <= self.mask
    }

    #[inline]
    fn bucket(&self, slot: u64) -> usize {
        (slot & self.mask) as usize
    }

    /// The first of a bucket's list.
    #[inline]
    fn head(&self, bucket: usize) -> u32 {
        self.words[bucket >> 6].heads[bucket & 63]
    }

    /// The first of a bucket's list, or of the next one that shares its word and has one; or whatever.
    #[inline]
    fn soon(&self, bucket: usize) -> u32 {
        let word = &self.words[bucket >> 6];
        let rest = word.occupied >> (bucket & 63) << (bucket & 63);
        word.heads[rest.trailing_zeros() as usize & 63]
    }

    /// Puts an entity at the head of a slot's list; returns the head before it.
    #[inline]
    fn push(&mut self, slot: u64, entity: Entity) -> u32 {
        let bucket = self.bucket(slot);
        let number = bucket >> 6;
        let word = &mut self.words[number];
        if word.occupied == 0 {
            self.summary[number >> 6] |= 1 << (number & 63);
        }
        word.occupied |= 1 << (bucket & 63);
        std::mem::replace(&mut word.heads[bucket & 63], entity)
    }

    #[inline]
    fn clear(&mut self, bucket: usize) {
        let number = bucket >> 6;
        let word = &mut self.words[number];
        word.heads[bucket & 63] = NONE;
        word.occupied &= !(1 << (bucket & 63));
        if word.occupied == 0 {
            self.summary[number >> 6] &= !(1 << (number & 63));
        }
    }

    /// The first occupied bucket at or after `from` in this rotation.
    #[inline]
    fn occupied_from(&self, from: usize) -> Option<usize> {
        let word = from >> 6;
        let rest = self.words.get(word)?.occupied & (!0 << (from & 63));
        if rest != 0 {
            return Some(word << 6 | rest.trailing_zeros() as usize);
        }
        let next = word + 1;
        let mut group = next >> 6;
        let mut words = self.summary.get(group)? & (!0 << (next & 63));
        while words == 0 {
            group += 1;
            words = *self.summary.get(group)?;
        }
        let word = group << 6 | words.trailing_zeros() as usize;
        Some(word << 6 | self.words[word].occupied.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The agenda in three lines: a map from entity to time.
    #[derive(Clone, Default)]
    struct Naive(BTreeMap<Entity, u64>);
    impl Naive {
        fn wake(&mut self, entity: Entity, at: u64) {
            let pending = self.0.entry(entity).or_insert(at);
            *pending = (*pending).min(at);
        }
        fn next(&mut self) -> Option<(u64, Entity)> {
            let (at, _, entity) = self.0.iter().map(|(&e, &t)| (t, turn(t, e), e)).min()?;
            self.0.remove(&entity);
            Some((at, entity))
        }
    }

    /// Distances that hit every level: the same bucket, near, next rotations, far.
    fn distance() -> impl Strategy<Value = u64> {
        prop_oneof![
            0u64..4,
            0u64..50_000,
            0u64..40_000_000,
            0u64..2_000_000_000,
            0u64..3_000_000_000_000,
            0u64..1 << 57
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn agrees_with_a_map(operations in prop::collection::vec((0u32..12, distance(), 0..4u8), 1..300)) {
            let (mut agenda, mut naive) = (Agenda::new(12, 20_000_000), Naive::default());
            let mut now = 0;
            for (entity, ahead, pops) in operations {
                agenda.wake(entity, now + ahead);
                naive.wake(entity, now + ahead);
                for _ in 0..pops {
                    let (peeked, got, want) = (agenda.peek(), agenda.next(), naive.next());
                    prop_assert_eq!(got, want);
                    prop_assert_eq!(peeked, want.map(|(at, _)| at));
                    if let Some((at, _)) = got { now = at }
                    // Up to an end, and then on from there.
                    let next = naive.clone().next().map(|(at, _)| at);
                    let end = now + ahead / 2;
                    agenda.run_until(end);
                    match next {
                        Some(at) if at < end => {
                            prop_assert_eq!(agenda.next(), naive.next());
                            now = at;
                        }
                        _ => {
                            prop_assert_eq!(agenda.next(), None);
                            now = now.max(end);
                        }
                    }
                    agenda.run_until(u64::MAX);
                }
            }
            while let Some(want) = naive.next() {
                prop_assert_eq!(agenda.next(), Some(want));
            }
            prop_assert_eq!(agenda.next(), None);
            prop_assert!(agenda.peek().is_none());
        }
    }

    #[test]
    fn the_end_of_time_is_given_out_too() {
        let mut agenda = Agenda::new(2, 1 << 20);
        agenda.wake(1, u64::MAX);
        assert_eq!(agenda.next(), Some((u64::MAX, 1)));
        agenda.wake(0, u64::MAX);
        agenda.run_until(u64::MAX - 1);
        assert_eq!(agenda.next(), None);
        agenda.run_until(u64::MAX);
        assert_eq!(agenda.next(), Some((u64::MAX, 0)));
    }

    #[test]
    fn ties_favour_nobody() {
        let first = |a, b| {
            let wins = |at: u64| u32::from(turn(at, a) < turn(at, b));
            (0..10_000).map(|packet| wins(83_896_000 + packet * 1_200_000)).sum::<u32>()
        };
        for (a, b) in [(0, 1), (0, 2), (3, 143), (7, 400)] {
            assert!((4_800..5_200).contains(&first(a, b)), "{a} before {b}: {} of 10000", first(a, b));
        }
    }

    #[test]
    fn nodes_are_sixteen_bytes() {
        assert_eq!(size_of::<Node>(), 16);
    }
}
