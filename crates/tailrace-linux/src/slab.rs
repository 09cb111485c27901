//! Frames that are in the fabric. A packet carries its frame's number; no policy sees the bytes.

use std::io;
use std::mem;
use std::os::fd::BorrowedFd;

use crate::frame::Frame;
use crate::sys::{BATCH, receive};

/// Length of a buffer beyond the IP packet: the Ethernet header, and VLAN tags.
const LINK_BYTES: usize = 14 + 8;

/// A frame in the fabric.
#[derive(Debug)]
pub(crate) struct Slot {
    buffer: Box<[u8]>,
    length: usize,
    /// What is known of it, if it carries IP.
    pub(crate) read: Option<Frame>,
    /// Whether Tailrace's transport has sent it.
    pub(crate) own: bool,
}

impl Slot {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.length]
    }
}

/// The frames in the fabric, and buffers for those to come.
#[derive(Debug)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Where the next frames are received.
    spare: Vec<Box<[u8]>>,
    lengths: [(usize, u8); BATCH],
    size: usize,
}

impl Slab {
    /// For frames that carry IP packets of up to so many bytes.
    pub(crate) fn new(mtu: usize) -> Self {
        let size = mtu + LINK_BYTES;
        let spare = (0..BATCH).map(|_| vec![0; size].into()).collect();
        Slab { slots: Vec::new(), free: Vec::new(), spare, lengths: [(0, 0); BATCH], size }
    }

    /// Receives what waits at a socket, up to a batch. Frames that are too long for a buffer are left out: they are
    /// counted in the second number.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        taken: &mut Vec<u32>,
    ) -> io::Result<(usize, usize)> {
        let count = receive(socket, &mut self.spare, &mut self.lengths, false)?;
        let mut too_long = 0;
        for place in 0..count {
            let (length, _) = self.lengths[place];
            if length > self.size {
                too_long += 1;
                continue;
            }
            let number = self.free.pop().unwrap_or_else(|| self.grow());
            let slot = &mut self.slots[number as usize];
            mem::swap(&mut slot.buffer, &mut self.spare[place]);
            slot.length = length;
            slot.read = Frame::read(slot.bytes());
            slot.own = false;
            taken.push(number);
        }
        Ok((count, too_long))
    }

    fn grow(&mut self) -> u32 {
        let buffer = vec![0; self.size].into();
        self.slots.push(Slot { buffer, length: 0, read: None, own: false });
        self.slots.len() as u32 - 1
    }

    pub(crate) fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// The frame has left, or is dropped.
    pub(crate) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}
