//! The agenda: a calendar of several levels of intrusive lists.
//!
//! Level 0 holds the near future in buckets of a few nanoseconds, so that a bucket rarely holds more than
//! one or two wake-ups; the levels above hold what lies further ahead (retransmission timers, control
//! periods) and hand a bucket down when its time comes. An entity's list node is its own array slot, so
//! nothing is allocated for it but a place in one short list, and a wake-up costs a handful of instructions at any load.
//!
//! What is next is taken out of level 0 some wake-ups at a time and put in order, up to a bucket's end. Until they have been given
//! out, all that lies in buckets comes after them, and what is asked for earlier than that is put among them.

mod due;
mod level;

use std::num::NonZero;

pub use self::due::Due;
use self::due::DueList;
use self::level::Level;

/// Who is woken: a small number given by the driver.
pub type Entity = u32;

const NONE: u32 = u32::MAX;
/// Enough for all of 64 bits, whatever the width of the first level's buckets.
const LEVELS: usize = 6;
/// Logarithm of the fewest buckets of the first level.
const MIN_BITS: u32 = 10;
/// Logarithm of the number of buckets of the levels above the first.
const FAR_BITS: u32 = 12;
/// Level of an entity that has no wake-up pending.
const IDLE: u32 = LEVELS as u32;
/// Buckets are put in order until there are so many wake-ups, or their word is over: enough to fetch what they need together, and few
/// enough for the first cache. It may be more, for a bucket is taken whole.
const ENOUGH: usize = 32;

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
    /// The next wake-ups, before all that the levels hold.
    due: DueList,
    levels: [Level; LEVELS],
    /// Wake-ups from here on are kept.
    end: u64,
}

impl Agenda {
    /// An agenda for entities `0..entities` whose wake-ups mostly lie within `span_ps` picoseconds.
    pub fn new(entities: usize, span_ps: u64) -> Self {
        let buckets = (entities * 16).next_power_of_two().clamp(1 << MIN_BITS, 1 << 17);
        // Two picoseconds at least: the number of the slot after the last one of all is a number, too.
        let width = (span_ps / buckets as u64).max(2).next_power_of_two().trailing_zeros();
        let near = buckets.trailing_zeros();
        let level = |number: usize| match number {
            0 => Level::new(width, near),
            n => Level::new((width + near + (n as u32 - 1) * FAR_BITS).min(63), FAR_BITS),
        };
        Agenda {
            nodes: vec![Node { at: u64::MAX, next: NONE, level: IDLE }; entities],
            due: DueList::new(4 * ENOUGH),
            levels: std::array::from_fn(level),
            end: u64::MAX,
        }
    }

    /// Expects so many times fewer wake-ups than entities may have, as a part of a run that is cut has, before there is any.
    pub fn thin_out(&mut self, times: usize) {
        debug_assert!(self.nodes.iter().all(|node| node.level == IDLE));
        let Level { shift, mask, .. } = self.levels[0];
        let near = (mask + 1).trailing_zeros();
        let fewer = times.max(1).ilog2().min(near - MIN_BITS);
        self.levels[0] = Level::new(shift + fewer, near - fewer);
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
        self.wake_again(entity, Some(at_ps));
    }

    /// Wakes an entity earlier than it has asked for.
    #[inline(never)]
    fn wake_earlier(&mut self, entity: Entity, at_ps: u64) {
        self.unlink(entity);
        self.wake_again(entity, Some(at_ps));
    }

    /// Breaks ties in another order for each number; all others use 0.
    #[doc(hidden)]
    pub fn break_ties_by(&mut self, order: u64) {
        self.due.order = order;
    }

    /// From now on only wake-ups before `end_ps` are given out; all are if it is `u64::MAX`. Others may still be asked for,
    /// however far the next one is.
    pub fn run_until(&mut self, end_ps: u64) {
        self.end = end_ps;
    }

    /// How many wake-ups have been given out.
    pub fn given_out(&self) -> u64 {
        self.due.given_out()
    }

    /// The next wake-up before the end: its time and entity.
    #[inline]
    pub fn next(&mut self) -> Option<(u64, Entity)> {
        let (at, entity) = self.next_and(|_| ())?;
        self.wake_again(entity, None);
        Some((at, entity))
    }

    /// The next wake-up before the end, as [`Self::next`] gives it. Now and then `coming` is first shown those that are likely to be
    /// next, this one first, so that what they need may be fetched from memory together; all of them may be beyond the end. The entity counts as pending until
    /// [`Self::wake_again`] is called for it, which must be before any [`Self::wake`] of it.
    #[inline(always)]
    pub fn next_and(&mut self, coming: impl FnOnce(&[Due])) -> Option<(u64, Entity)> {
        let next = self.due.first().filter(|due| due.at < self.end).copied();
        let Due { at, entity } = match next {
            Some(due) => due,
            None => self.look_further(coming)?,
        };
        self.due.pass();
        Some((at, entity))
    }

    /// Says when an entity that was just given out by [`Self::next_and`], or has none pending, is to be woken: at `at_ps`, if ever.
    #[inline(always)]
    pub fn wake_again(&mut self, entity: Entity, at_ps: Option<u64>) {
        let node = &mut self.nodes[entity as usize];
        let Some(at) = at_ps else {
            node.level = IDLE;
            return;
        };
        let near = &mut self.levels[0];
        let slot = at >> near.shift;
        if near.takes(slot) {
            *node = Node { at, next: near.push(slot, entity), level: 0 };
        } else {
            self.insert_far(entity, at);
        }
    }

    /// The next wake-up, where what is due is over, or beyond the end.
    #[inline(never)]
    fn look_further(&mut self, coming: impl FnOnce(&[Due])) -> Option<Due> {
        if let Some(&due) = self.due.first() {
            return (self.end == u64::MAX).then_some(due);
        }
        loop {
            let near = &self.levels[0];
            if let Some(bucket) = near.occupied_from(near.cursor) {
                let ends = self.end < u64::MAX;
                if ends && near.start_of(bucket) >= self.end {
                    return None;
                }
                self.open(bucket);
                coming(self.due.rest());
                let due = self.due.first().copied();
                return if ends { due.filter(|due| due.at < self.end) } else { due };
            }
            if !self.goes_on() {
                return None;
            }
            self.advance();
        }
    }

    /// Puts in order what the buckets of level 0 hold from this one on, until it is enough for a while or the word of buckets is over.
    /// Some may be beyond the end: they stay in the list until a later end is set.
    fn open(&mut self, first: usize) {
        let (number, lowest) = (first >> 6, first & 63);
        let near = &mut self.levels[0];
        let word = &mut near.words[number];
        let mut rest = word.occupied & !0 << lowest;
        // Those below it are of the next rotation.
        let below = word.occupied & !(!0 << lowest);
        let (nodes, due) = (&self.nodes[..], &mut self.due);
        due.clear();
        while let Some(bits) = NonZero::new(rest)
            && due.len() < ENOUGH
        {
            let place = bits.trailing_zeros() as usize;
            due.take(nodes, std::mem::replace(&mut word.heads[place], NONE));
            rest &= rest - 1;
        }
        let opened = word.occupied & !rest;
        near.cursor = (number << 6) + 64 - opened.leading_zeros() as usize;
        word.occupied = rest | below;
        if word.occupied == 0 {
            near.summary[number >> 6] &= !(1 << (number & 63));
        }
    }

    /// Whether anything beyond this rotation of level 0 is before the end.
    #[cold]
    fn goes_on(&self) -> bool {
        if self.end == u64::MAX {
            return self.levels.iter().any(|level| level.occupied_from(0).is_some());
        }
        self.peek().is_some_and(|next| next < self.end)
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
    #[inline]
    pub fn peek(&self) -> Option<u64> {
        match self.due.first() {
            Some(due) => Some(due.at),
            None => self.peek_further(),
        }
    }

    /// When the next wake-up is, where what is due is over.
    #[inline(never)]
    fn peek_further(&self) -> Option<u64> {
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
    fn push(&mut self, number: usize, entity: Entity, at: u64) {
        let level = &mut self.levels[number];
        let next = level.push(at >> level.shift, entity);
        self.nodes[entity as usize] = Node { at, next, level: number as u32 };
    }

    /// Puts a wake-up that level 0 does not take: among what is due if level 0 is past it, else into a level above.
    #[inline(never)]
    fn insert_far(&mut self, entity: Entity, at: u64) {
        if self.levels[0].is_over(at) {
            self.nodes[entity as usize] = Node { at, next: NONE, level: 0 };
            return self.due.insert(Due { at, entity });
        }
        let takes = |&number: &usize| {
            let level = &self.levels[number];
            (at >> level.shift) - level.base < level.buckets()
        };
        let number = (1..LEVELS).find(takes);
        self.push(number.expect("the last level takes all there is"), entity, at);
    }

    /// Takes an entity's pending wake-up off the agenda, for another one.
    fn unlink(&mut self, entity: Entity) {
        let Node { at, next: after, level } = self.nodes[entity as usize];
        if level == 0 && self.levels[0].is_over(at) {
            self.due.remove(entity);
            return;
        }
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
            self.wake_again(entity, Some(at));
            entity = next;
        }
    }
}

#[cfg(test)]
mod tests;
