//! Frames that are in the fabric. A packet carries its frame's number; no policy sees the bytes.

use std::io;

use crate::frame::Frame;
use crate::sys::{HEADROOM, Memory};

/// Length of a frame beyond its IP packet: the Ethernet header, and VLAN tags.
pub(crate) const LINK_BYTES: usize = 14 + 8;
/// The shortest chunks that a kernel's rings take.
const SHORTEST_CHUNK: usize = 2048;

/// A frame in the fabric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Where it begins in its chunk.
    start: u32,
    length: u32,
    /// What is known of it, if it carries IP.
    pub(crate) read: Option<Frame>,
    /// Whether Tailrace's transport has sent it.
    pub(crate) own: bool,
    /// When it came to the fabric's edge, on the monotonic clock in nanoseconds; 0 if nobody has noted it.
    pub(crate) came_ns: u64,
}

/// The frames in the fabric, and room for those to come: a chunk of memory each.
#[derive(Debug)]
pub(crate) struct Slab {
    memory: Memory,
    /// Of the chunks that have been used so far.
    slots: Vec<Slot>,
    free: Vec<u32>,
    longest: usize,
}

impl Slab {
    /// For so many frames that carry IP packets of up to `mtu` bytes.
    pub(crate) fn new(frames: u32, mtu: usize) -> io::Result<Self> {
        let longest = mtu + LINK_BYTES;
        let memory = Memory::new(frames, chunk_bytes(mtu))?;
        Ok(Slab { memory, slots: Vec::new(), free: Vec::new(), longest })
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The longest frame.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// A number for a frame to come; `None` if all are taken.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let number = self.slots.len() as u32;
            let slot = Slot { start: HEADROOM as u32, length: 0, read: None, own: false, came_ns: 0 };
            (number < self.memory.chunks()).then(|| {
                self.slots.push(slot);
                number
            })
        })
    }

    /// The frame of this number has come, and is so long from `start` in its chunk.
    #[inline]
    pub(crate) fn put(&mut self, number: u32, start: usize, length: usize) {
        let (start, length) = (start as u32, length as u32);
        self.slots[number as usize] = Slot { start, length, read: None, own: false, came_ns: 0 };
    }

    #[inline]
    pub(crate) fn slot(&self, number: u32) -> &Slot {
        &self.slots[number as usize]
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, number: u32) -> &mut Slot {
        &mut self.slots[number as usize]
    }

    /// Where a frame begins in its chunk, and how long it is.
    #[inline]
    pub(crate) fn place(&self, number: u32) -> (usize, usize) {
        let slot = self.slot(number);
        (slot.start as usize, slot.length as usize)
    }

    #[inline]
    pub(crate) fn bytes(&self, number: u32) -> &[u8] {
        let (start, length) = self.place(number);
        self.memory.get(number, start, length)
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self, number: u32) -> &mut [u8] {
        let (start, length) = self.place(number);
        self.memory.get_mut(number, start, length)
    }

    /// A copy of a frame, which is not read yet; `None` if there is no room for one.
    pub(crate) fn copy(&mut self, number: u32) -> Option<u32> {
        let copy = self.take()?;
        let (start, length) = self.place(number);
        self.memory.copy(number, copy, start, length);
        self.put(copy, start, length);
        self.slot_mut(copy).came_ns = self.slot(number).came_ns;
        Some(copy)
    }

    /// The frame has left, or is dropped.
    #[inline]
    pub(crate) fn free(&mut self, number: u32) {
        self.free.push(number);
    }
}

/// Length of a chunk for a frame that carries an IP packet of `mtu` bytes: a power of two.
pub(crate) fn chunk_bytes(mtu: usize) -> usize {
    (HEADROOM + mtu + LINK_BYTES).next_power_of_two().max(SHORTEST_CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_frames_as_was_said() {
        let mut slab = Slab::new(3, 1500).unwrap();
        let numbers: Vec<_> = std::iter::from_fn(|| slab.take()).collect();
        assert_eq!(numbers, [0, 1, 2]);
        slab.put(1, HEADROOM, 60);
        slab.bytes_mut(1).fill(9);
        assert_eq!(slab.bytes(1), [9; 60]);
        assert_eq!(slab.copy(1), None);
        slab.free(2);
        assert_eq!(slab.copy(1), Some(2));
        assert_eq!(slab.bytes(2), [9; 60]);
        slab.free(1);
        assert_eq!((slab.take(), slab.take()), (Some(1), None));
    }

    #[test]
    fn the_longest_frame_of_ordinary_links_fits_the_shortest_chunk() {
        assert_eq!([1500, 9000].map(chunk_bytes), [2048, 16_384]);
    }
}
