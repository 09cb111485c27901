//! The links between fabric and hosts: frames come in from them, and leave over them.
//!
//! There are two kinds. Packet sockets (AF_PACKET) are everywhere and carry any frame; the kernel copies frames in and
//! out with one call for many. AF_XDP shares the frames' memory with the kernel, which takes none of them through its
//! own network, and a ring says without a call whether one has come.

mod drops;
mod packet;
mod xdp;

use std::collections::VecDeque;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::BorrowedFd;

use crate::interfaces::Interfaces;
use crate::namespace::Namespace;
use crate::slab::Slab;
use crate::sys::XdpMode;
use tailrace_core::{Frames, LiveError};

use drops::Drops;
pub(crate) use packet::PacketLinks;
use xdp::XdpLinks;

/// Which kind of links is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The better one of those that work.
    #[default]
    Best,
    /// AF_XDP, or nothing.
    Xdp,
    /// Packet sockets.
    Packet,
}

/// Frames that a link has taken in, and those that it could not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// All that have come, also those that are too long.
    pub(crate) frames: usize,
    /// Longer than hosts' links carry.
    pub(crate) too_long: usize,
}

/// A kind of links.
pub(crate) trait Kind {
    /// Whether a link tells by itself, without a call, that nothing has come. The others are worth a look only where a
    /// wait has said so.
    fn tells(&self) -> bool;
    /// Takes in what has come from a host, up to a batch.
    fn receive(&mut self, host: usize, slab: &mut Slab, taken: &mut Vec<u32>) -> io::Result<Received>;
    /// Sends frames to a host, as many as it takes now. Those that have left are free again, now or later; where its link
    /// is down, all that have not are in `leaving`.
    fn send(&mut self, host: usize, slab: &mut Slab, leaving: &mut VecDeque<u32>) -> io::Result<()>;
    /// Sends a frame that is not in the slab, if it is taken now.
    fn send_bytes(&mut self, host: usize, slab: &mut Slab, bytes: &[u8]) -> io::Result<()>;
    /// What is wrong with the link of a host, if something is. What does not [tell](Self::tells) says so by itself.
    fn failure(&self, host: usize) -> io::Result<()>;
    /// What to wait for: the socket of a host.
    fn socket(&self, host: usize) -> BorrowedFd<'_>;
    /// Frames that its sockets have lost so far.
    fn lost_at_sockets(&mut self) -> io::Result<u64>;
}

/// The fabric's ends of all hosts' links.
pub(crate) struct Links {
    kind: Box<dyn Kind>,
    drops: Drops,
}

impl Deref for Links {
    type Target = dyn Kind;
    fn deref(&self) -> &Self::Target {
        &*self.kind
    }
}

impl DerefMut for Links {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.kind
    }
}

impl Links {
    /// Opens them, with a slab for the frames. What is lost at hosts' ends of links is counted where these are known.
    pub(crate) fn open(
        interfaces: &Interfaces,
        beyond: &[Namespace],
        wanted: Wanted,
    ) -> Result<(Links, Slab, Frames), LiveError> {
        let failed = LiveError::refused("reading the interfaces' counters");
        let drops = Drops::open(interfaces, beyond).map_err(failed)?;
        let (kind, slab, frames) = Self::open_kind(interfaces, wanted)?;
        Ok((Links { kind, drops }, slab, frames))
    }

    fn open_kind(
        interfaces: &Interfaces,
        wanted: Wanted,
    ) -> Result<(Box<dyn Kind>, Slab, Frames), LiveError> {
        let why_not = match wanted {
            Wanted::Packet => "as was asked".to_owned(),
            Wanted::Best | Wanted::Xdp => match XdpLinks::open(interfaces) {
                Ok((links, slab, mode)) => {
                    let in_driver = mode == XdpMode::Driver;
                    return Ok((Box::new(links), slab, Frames::Xdp { in_driver }));
                }
                Err(error) if wanted == Wanted::Xdp => {
                    return Err(LiveError::refused("opening AF_XDP sockets")(error));
                }
                Err(error) => format!("not AF_XDP: {error}"),
            },
        };
        let failed = LiveError::refused("opening packet sockets");
        let (links, slab) = PacketLinks::open(interfaces).map_err(failed)?;
        Ok((Box::new(links), slab, Frames::Packet(why_not)))
    }

    /// Frames that were dropped since the start on their way into the fabric, because they came faster than they were
    /// taken in; and some that were not taken to be sent. Some of the newest may be missing, unless it is `exact`, which
    /// takes longer.
    pub(crate) fn lost(&mut self, exact: bool) -> io::Result<u64> {
        let at_interfaces = if exact { self.drops.look_at_all()? } else { self.drops.look()? };
        Ok(at_interfaces + self.lost_at_sockets()?)
    }
}

/// Whether a socket takes no more for now.
pub(crate) fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}
