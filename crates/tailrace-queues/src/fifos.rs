//! Several FIFO queues that keep their packets in one place.
//!
//! A ring for each queue goes round all the memory that the queue has ever needed, so that every packet is written
//! where the caches hold nothing any more. Here a packet takes the place that became free last: a port touches as much memory
//! as it holds packets.

use tailrace_core::{Header, MAX_PRIORITIES, Packet};

/// No slot: the end of a chain.
const NONE: u32 = u32::MAX;

/// A packet and the one behind it; in a free slot, the next free one.
#[derive(Clone, Copy, Debug)]
struct Slot<H> {
    packet: Packet<H>,
    after: u32,
}

/// The ends of a queue; of an empty one the first only.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

/// As many FIFO queues as there are priorities.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Fifos<H> {
    slots: Vec<Slot<H>>,
    /// The slot that became free last.
    free: u32,
    held: u32,
    ends: [Ends; MAX_PRIORITIES],
}

impl<H> Fifos<H> {
    /// Empty queues.
    pub(crate) fn new() -> Self {
        let empty = Ends { first: NONE, last: NONE };
        Fifos { slots: Vec::new(), free: NONE, held: 0, ends: [empty; MAX_PRIORITIES] }
    }

    /// Packets in all queues.
    pub(crate) fn held(&self) -> usize {
        self.held as usize
    }

    /// The first packet of a queue.
    #[inline]
    pub(crate) fn front(&self, queue: usize) -> Option<&Packet<H>> {
        self.slots.get(self.ends[queue].first as usize).map(|slot| &slot.packet)
    }

    #[inline]
    pub(crate) fn front_mut(&mut self, queue: usize) -> Option<&mut Packet<H>> {
        self.slots.get_mut(self.ends[queue].first as usize).map(|slot| &mut slot.packet)
    }

    /// The packets of a queue in their order.
    pub(crate) fn of(&self, queue: usize) -> impl Iterator<Item = &Packet<H>> {
        let slot = |number: u32| self.slots.get(number as usize);
        std::iter::successors(slot(self.ends[queue].first), move |before| slot(before.after))
            .map(|slot| &slot.packet)
    }
}

impl<H: Header> Fifos<H> {
    /// Puts a packet at the end of a queue. Returns it where it lies.
    #[inline]
    pub(crate) fn push(&mut self, queue: usize, packet: Packet<H>) -> &mut Packet<H> {
        if self.free == NONE {
            self.add_slot();
        }
        let slot = self.free;
        let Ends { first, last } = &mut self.ends[queue];
        let before = std::mem::replace(last, slot);
        if *first == NONE {
            *first = slot;
        } else {
            self.slots[before as usize].after = slot;
        }
        self.held += 1;
        let free = &mut self.slots[slot as usize];
        self.free = free.after;
        *free = Slot { packet, after: NONE };
        &mut free.packet
    }

    /// Takes the first packet out of a queue.
    #[inline]
    pub(crate) fn pop(&mut self, queue: usize) -> Option<Packet<H>> {
        let slot = self.ends[queue].first;
        let Slot { packet, after } = self.slots.get_mut(slot as usize)?;
        let packet = *packet;
        self.ends[queue].first = std::mem::replace(after, self.free);
        self.free = slot;
        self.held -= 1;
        Some(packet)
    }

    /// Makes a slot that is free.
    #[cold]
    fn add_slot(&mut self) {
        let slot = self.slots.len();
        assert!(slot < NONE as usize, "a port holds less than {NONE} packets");
        self.slots.push(Slot { packet: Packet::EMPTY, after: NONE });
        self.free = slot as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// They are queues, and together need as many slots as there were ever packets.
        #[test]
        fn agree_with_rings(steps in prop::collection::vec((any::<bool>(), 0..MAX_PRIORITIES), 0..400)) {
            let mut fifos = Fifos::<()>::new();
            let mut rings = vec![VecDeque::new(); MAX_PRIORITIES];
            let mut most = 0;
            for (number, (push, queue)) in (0..).zip(steps) {
                if push {
                    fifos.push(queue, Packet { seq: number, ..Packet::EMPTY });
                    rings[queue].push_back(number);
                } else {
                    prop_assert_eq!(fifos.pop(queue).map(|packet| packet.seq), rings[queue].pop_front());
                }
                let held: usize = rings.iter().map(VecDeque::len).sum();
                most = most.max(held);
                prop_assert_eq!((fifos.held(), fifos.slots.len()), (held, most));
                for (queue, ring) in rings.iter().enumerate() {
                    prop_assert!(fifos.of(queue).map(|packet| packet.seq).eq(ring.iter().copied()));
                    prop_assert_eq!(fifos.front(queue).map(|packet| packet.seq), ring.front().copied());
                    let front = fifos.front_mut(queue).map(|packet| packet.seq);
                    prop_assert_eq!(front, ring.front().copied());
                }
            }
        }
    }
}
