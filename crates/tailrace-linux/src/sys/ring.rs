//! Rings that this program and the kernel share: one side puts in, the other takes out.
#![expect(unsafe_code, reason = "the memory is the kernel's as well")]

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where a ring is in its socket, and where its parts are in that.
pub(super) struct RingLayout {
    pub(super) page_offset: libc::off_t,
    pub(super) offsets: libc::xdp_ring_offset,
}

/// A mapped ring of `size` entries, which is a power of two.
struct Ring<T> {
    map: NonNull<u8>,
    map_bytes: usize,
    offsets: libc::xdp_ring_offset,
    size: u32,
    /// Up to where this side has worked, whether or not the kernel was told.
    here: u32,
    /// Up to where the kernel had worked when it was last asked.
    there: u32,
    entry: PhantomData<T>,
}

// SAFETY: the mapping belongs to this value alone, on this side, and is not bound to a thread.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn map(socket: BorrowedFd<'_>, place: RingLayout, size: u32) -> io::Result<Self> {
        let map_bytes = place.offsets.desc as usize + size as usize * size_of::<T>();
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, socket.as_raw_fd());
        // SAFETY: a new mapping, at an address that the kernel chooses, touches no other memory.
        let map = unsafe { libc::mmap(ptr::null_mut(), map_bytes, protection, flags, fd, place.page_offset) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(map.cast::<u8>()).ok_or_else(|| io::Error::other("there is no ring"))?;
        let offsets = place.offsets;
        Ok(Ring { map: start, map_bytes, offsets, size, here: 0, there: 0, entry: PhantomData })
    }

    #[inline]
    fn number(&self, at: u64) -> &AtomicU32 {
        // SAFETY: the kernel says that an aligned number is there, within the mapping, which lives as long as this.
        unsafe { self.map.add(at as usize).cast::<AtomicU32>().as_ref() }
    }

    #[inline]
    fn entry(&self, index: u32) -> NonNull<T> {
        let index = (index & (self.size - 1)) as usize;
        // SAFETY: there are `size` entries, within the mapping.
        unsafe { self.map.add(self.offsets.desc as usize).cast::<T>().add(index) }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: this mapping is this value's, and nobody has a part of it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_bytes) };
    }
}

/// A ring that this program puts into.
pub(super) struct Producer<T>(Ring<T>);

impl<T: Copy> Producer<T> {
    pub(super) fn map(socket: BorrowedFd<'_>, place: RingLayout, size: u32) -> io::Result<Self> {
        Ring::map(socket, place, size).map(Producer)
    }

    /// How many entries it would take now.
    #[inline]
    pub(super) fn room(&mut self) -> u32 {
        let ring = &mut self.0;
        ring.there = ring.number(ring.offsets.consumer).load(Ordering::Acquire);
        ring.size - ring.here.wrapping_sub(ring.there)
    }

    /// Puts in an entry, of which the kernel is told later. There must be [`Self::room`].
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        let ring = &mut self.0;
        debug_assert!(ring.here.wrapping_sub(ring.there) < ring.size);
        // SAFETY: the kernel reads no entry that it was not told of.
        unsafe { ring.entry(ring.here).write(entry) };
        ring.here = ring.here.wrapping_add(1);
    }

    /// Takes back the entry that was put in last, if the kernel has not taken it. Only for rings at which the kernel looks
    /// when this thread tells it to, and not at any other time.
    pub(super) fn take_back(&mut self) -> Option<T> {
        if !self.is_pending() {
            return None;
        }
        self.0.here = self.0.here.wrapping_sub(1);
        // SAFETY: the entry was written before, and the kernel does not write here.
        Some(unsafe { self.0.entry(self.0.here).read() })
    }

    /// Tells the kernel of what was put in.
    #[inline]
    pub(super) fn publish(&self) {
        self.0.number(self.0.offsets.producer).store(self.0.here, Ordering::Release);
    }

    /// Whether the kernel has not taken everything.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.0.number(self.0.offsets.consumer).load(Ordering::Acquire) != self.0.here
    }

    /// Whether the kernel looks at this ring only when it is told to.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.0.number(self.0.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A ring that this program takes from.
pub(super) struct Consumer<T>(Ring<T>);

impl<T: Copy> Consumer<T> {
    pub(super) fn map(socket: BorrowedFd<'_>, place: RingLayout, size: u32) -> io::Result<Self> {
        Ring::map(socket, place, size).map(Consumer)
    }

    /// Takes an entry, if there is one.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let ring = &mut self.0;
        if ring.here == ring.there {
            ring.there = ring.number(ring.offsets.producer).load(Ordering::Acquire);
            if ring.here == ring.there {
                return None;
            }
        }
        // SAFETY: the kernel has written the entry before it said so, and does not touch it until it is released.
        let entry = unsafe { ring.entry(ring.here).read() };
        ring.here = ring.here.wrapping_add(1);
        Some(entry)
    }

    /// Gives the kernel back the places of what was taken.
    #[inline]
    pub(super) fn release(&self) {
        self.0.number(self.0.offsets.consumer).store(self.0.here, Ordering::Release);
    }
}
