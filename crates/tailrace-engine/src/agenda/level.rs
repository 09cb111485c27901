//! One level of the agenda: buckets, and bits that tell which hold anything.

use super::{Entity, NONE};

/// A word of occupancy bits, and the 64 buckets that it covers: each the head of a list.
#[derive(Clone, Copy)]
pub(super) struct BucketWord {
    pub(super) occupied: u64,
    pub(super) heads: [u32; 64],
}

/// One level: a rotation of buckets, and two layers of bits to find the next
/// occupied one. A slot is a time in units of the bucket width; bucket = slot modulo the rotation.
pub(super) struct Level {
    pub(super) shift: u32,
    /// The number of buckets, less one.
    pub(super) mask: u64,
    /// Slot of bucket 0 in the current rotation.
    pub(super) base: u64,
    /// Current bucket: all before it are empty. Of level 0 the one after the last that was opened, which may be one past its last bucket; those
    /// before it belong to its next rotation.
    pub(super) cursor: usize,
    pub(super) words: Vec<BucketWord>,
    pub(super) summary: Vec<u64>,
}

impl Level {
    pub(super) fn new(shift: u32, bits: u32) -> Self {
        let words = (1usize << bits).div_ceil(64);
        Level {
            shift,
            mask: (1 << bits) - 1,
            base: 0,
            cursor: 0,
            words: vec![BucketWord { occupied: 0, heads: [NONE; 64] }; words],
            summary: vec![0; words.div_ceil(64)],
        }
    }

    #[inline]
    pub(super) fn buckets(&self) -> u64 {
        self.mask + 1
    }

    /// The slot where this level stands.
    #[inline]
    pub(super) fn slot(&self) -> u64 {
        self.base + self.cursor as u64
    }

    /// Whether level 0 takes a slot. It slides: it takes a full rotation from where it stands, the others are aligned.
    #[inline]
    pub(super) fn takes(&self, slot: u64) -> bool {
        slot.wrapping_sub(self.slot()) <= self.mask
    }

    /// When a bucket of the current rotation begins.
    #[inline]
    pub(super) fn start_of(&self, bucket: usize) -> u64 {
        (self.base + bucket as u64) << self.shift
    }

    /// Whether this level stands beyond that time.
    #[inline]
    pub(super) fn is_over(&self, at: u64) -> bool {
        at >> self.shift < self.slot()
    }

    #[inline]
    pub(super) fn bucket(&self, slot: u64) -> usize {
        (slot & self.mask) as usize
    }

    /// The first of a bucket's list.
    #[inline]
    pub(super) fn head(&self, bucket: usize) -> u32 {
        self.words[bucket >> 6].heads[bucket & 63]
    }

    /// Puts an entity at the head of a slot's list; returns the head before it.
    #[inline]
    pub(super) fn push(&mut self, slot: u64, entity: Entity) -> u32 {
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
    pub(super) fn clear(&mut self, bucket: usize) {
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
    pub(super) fn occupied_from(&self, from: usize) -> Option<usize> {
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
