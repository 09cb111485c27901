//! Memory for frames: one area, divided into chunks of one size, which a kernel's rings may share.
#![expect(unsafe_code, reason = "the area is mapped, since rings want whole pages")]

use std::io;
use std::ptr::{self, NonNull};
use std::slice;

/// An area of chunks, all zero at first. Pages that are not touched take no memory, until a kernel's rings share them.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    chunks: u32,
    chunk_bytes: usize,
}

// SAFETY: the area belongs to this value alone, which is not bound to a thread.
unsafe impl Send for Memory {}
// SAFETY: who shares it can only read.
unsafe impl Sync for Memory {}

impl Memory {
    /// An area of so many chunks of `chunk_bytes` each.
    pub(crate) fn new(chunks: u32, chunk_bytes: usize) -> io::Result<Self> {
        let bytes = chunks as usize * chunk_bytes;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, at an address that the kernel chooses, touches no other memory.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("there is no memory"))?;
        Ok(Memory { start, chunks, chunk_bytes })
    }

    /// How many chunks there are.
    pub(crate) fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Length of a chunk.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Length of the area.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks as usize * self.chunk_bytes
    }

    /// Part of a chunk.
    ///
    /// # Panics
    ///
    /// If the chunk has no such part.
    pub(crate) fn get(&self, chunk: u32, at: usize, length: usize) -> &[u8] {
        let part = self.pointer(chunk, at, length);
        // SAFETY: the part is within the area. The kernel writes into chunks that it was given, and whoever gives one
        // away does not look at it until it comes back.
        unsafe { slice::from_raw_parts(part, length) }
    }

    /// Part of a chunk, to be written.
    ///
    /// # Panics
    ///
    /// If the chunk has no such part.
    pub(crate) fn get_mut(&mut self, chunk: u32, at: usize, length: usize) -> &mut [u8] {
        let part = self.pointer(chunk, at, length);
        // SAFETY: as in `get`; and nobody else of this program has a part while this is borrowed.
        unsafe { slice::from_raw_parts_mut(part, length) }
    }

    /// Copies part of a chunk to the same place in another.
    ///
    /// # Panics
    ///
    /// If chunks have no such part.
    pub(crate) fn copy(&mut self, from: u32, to: u32, at: usize, length: usize) {
        let (source, target) = (self.pointer(from, at, length), self.pointer(to, at, length));
        // SAFETY: both parts are within the area, and nobody else of this program has one while this is borrowed.
        unsafe { ptr::copy(source, target, length) };
    }

    /// Where part of a chunk is. Only the kernel may write there.
    #[inline]
    pub(super) fn pointer(&self, chunk: u32, at: usize, length: usize) -> *mut u8 {
        let within = chunk < self.chunks && at <= self.chunk_bytes && length <= self.chunk_bytes - at;
        assert!(within, "chunk {chunk} of {} has no {length} bytes at {at}", self.chunks);
        // SAFETY: the part is within the area.
        unsafe { self.start.as_ptr().add(chunk as usize * self.chunk_bytes + at) }
    }

    /// Where the area begins.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this mapping is this value's, and nobody has a part of it any more. Rings keep pages of their own.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_apart_and_have_an_end() {
        let mut memory = Memory::new(3, 2048).unwrap();
        memory.get_mut(1, 0, 2048).fill(7);
        assert!(memory.get(0, 0, 2048).iter().chain(memory.get(2, 0, 2048)).all(|&byte| byte == 0));
        for (chunk, at, length) in [(3, 0, 1), (0, 2048, 1), (0, 2049, 0), (0, 1, 2048)] {
            let part = std::panic::AssertUnwindSafe(|| memory.get(chunk, at, length).len());
            assert!(std::panic::catch_unwind(part).is_err(), "{chunk} {at} {length}");
        }
    }
}
