//! Links over packet sockets.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{Kind, Received, is_full};
use crate::clock;
use crate::interfaces::Interfaces;
use crate::slab::Slab;
use crate::sys::{Arrived, BATCH, HEADROOM, overrun, packet_socket, receive_frames, send_frames};

/// Frames in the fabric. What they take is memory that has been used, so there may be many.
const FRAMES: u32 = 1 << 18;
/// Length of the two addresses that a VLAN tag comes after.
const ADDRESSES: usize = 12;

/// A packet socket for each host.
pub(crate) struct PacketLinks {
    sockets: Vec<OwnedFd>,
    /// Where the next frames are received.
    spare: Vec<u32>,
    lost: u64,
}

impl PacketLinks {
    pub(super) fn open(interfaces: &Interfaces) -> io::Result<(Self, Slab)> {
        let open = |ports: &[u32]| ports.iter().map(|&port| packet_socket(port)).collect();
        Ok((Self::over(interfaces.at(open)?), Slab::new(FRAMES, interfaces.mtu())?))
    }

    /// Links over these packet sockets.
    pub(crate) fn over(sockets: Vec<OwnedFd>) -> Self {
        PacketLinks { sockets, spare: Vec::new(), lost: 0 }
    }

    /// Sends a frame, if it is taken now.
    pub(crate) fn send_now(&self, host: usize, bytes: &[u8]) -> io::Result<()> {
        match send_frames(self.sockets[host].as_fd(), std::iter::once(bytes)) {
            Err(error) if is_full(&error) => Ok(()),
            sent => sent.map(drop),
        }
    }
}

impl Kind for PacketLinks {
    fn tells(&self) -> bool {
        false
    }

    fn receive(&mut self, host: usize, slab: &mut Slab, taken: &mut Vec<u32>) -> io::Result<Received> {
        while self.spare.len() < BATCH {
            let Some(number) = slab.take() else { break };
            self.spare.push(number);
        }
        let mut frames = [Arrived::default(); BATCH];
        let (socket, place) = (self.sockets[host].as_fd(), (HEADROOM, slab.longest()));
        let note = |i: usize, arrived| frames[i] = arrived;
        let count = match receive_frames(socket, slab.memory_mut(), &self.spare, place, note) {
            Err(error) if is_full(&error) => 0,
            received => received?,
        };
        let mut received = Received { frames: count, too_long: 0 };
        let ago = clock::day_to_monotonic();
        for (&number, &Arrived { length, tag, at_ns }) in self.spare[..count].iter().zip(&frames) {
            if length > slab.longest() {
                received.too_long += 1;
                slab.free(number);
                continue;
            }
            match tag {
                Some(tag) => put_tagged(slab, number, length, tag),
                None => slab.put(number, HEADROOM, length),
            }
            slab.slot_mut(number).came_ns = at_ns.map_or(0, &ago);
            taken.push(number);
        }
        self.spare.drain(..count);
        Ok(received)
    }

    fn send(&mut self, host: usize, slab: &mut Slab, leaving: &mut VecDeque<u32>) -> io::Result<()> {
        while !leaving.is_empty() {
            let frames = leaving.iter().map(|&number| slab.bytes(number));
            let sent = match send_frames(self.sockets[host].as_fd(), frames) {
                Err(error) if is_full(&error) => break,
                // Two tags make a frame longer than the socket takes.
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    self.lost += 1;
                    1
                }
                sent => sent?,
            };
            leaving.drain(..sent).for_each(|number| slab.free(number));
        }
        Ok(())
    }

    fn send_bytes(&mut self, host: usize, _: &mut Slab, bytes: &[u8]) -> io::Result<()> {
        self.send_now(host, bytes)
    }

    fn failure(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn socket(&self, host: usize) -> BorrowedFd<'_> {
        self.sockets[host].as_fd()
    }

    fn lost_at_sockets(&mut self) -> io::Result<u64> {
        for socket in &self.sockets {
            self.lost += u64::from(overrun(socket)?);
        }
        Ok(self.lost)
    }
}

/// Puts a tag back where it was: the addresses before it make room.
fn put_tagged(slab: &mut Slab, number: u32, length: usize, tag: [u8; 4]) {
    let start = HEADROOM - tag.len();
    let frame = slab.memory_mut().get_mut(number, start, length + tag.len());
    frame.copy_within(tag.len()..tag.len() + ADDRESSES.min(length), 0);
    frame[ADDRESSES..ADDRESSES + tag.len()].copy_from_slice(&tag);
    slab.put(number, start, length + tag.len());
}
