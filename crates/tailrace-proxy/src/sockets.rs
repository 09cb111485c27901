//! Waiting for any of many sockets.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use tailrace_core::Time;

/// Sockets that one wait tells of at most; others are told of by the next.
const TOLD: usize = 64;

/// What the kernel was told of a socket.
struct Known {
    number: u64,
    flags: PollFlags,
    /// When it was last among those that are waited for.
    round: u64,
}

/// The sockets that are waited for, each with an owner. The kernel is told what changes only.
pub(crate) struct Sockets<O> {
    epoll: Epoll,
    known: BTreeMap<O, Known>,
    owners: BTreeMap<u64, O>,
    round: u64,
    numbers: u64,
}

impl<O: Copy + Ord> Sockets<O> {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Sockets { epoll, known: BTreeMap::new(), owners: BTreeMap::new(), round: 0, numbers: 0 })
    }

    /// These are waited for from now on. One that is not among them any more must have been closed.
    pub(crate) fn set<'a>(
        &mut self,
        sockets: impl Iterator<Item = (O, BorrowedFd<'a>, PollFlags)>,
    ) -> io::Result<()> {
        self.round += 1;
        for (owner, socket, flags) in sockets {
            let event = |number| EpollEvent::new(EpollFlags::from_bits_truncate(flags.bits().into()), number);
            match self.known.get_mut(&owner) {
                Some(known) => {
                    if known.flags != flags {
                        self.epoll.modify(socket, &mut event(known.number))?;
                    }
                    (known.flags, known.round) = (flags, self.round);
                }
                None => {
                    self.numbers += 1;
                    self.epoll.add(socket, event(self.numbers))?;
                    self.owners.insert(self.numbers, owner);
                    self.known.insert(owner, Known { number: self.numbers, flags, round: self.round });
                }
            }
        }
        let (round, owners) = (self.round, &mut self.owners);
        self.known.retain(|_, known| {
            let stays = known.round == round;
            if !stays {
                owners.remove(&known.number);
            }
            stays
        });
        Ok(())
    }

    /// Waits up to `span`; tells which sockets are ready, and for what.
    pub(crate) fn wait(&self, span: Time) -> io::Result<Vec<(O, PollFlags)>> {
        // The kernel's own timeout of an epoll is in milliseconds.
        let mut all = [PollFd::new(std::os::fd::AsFd::as_fd(&self.epoll.0), PollFlags::POLLIN)];
        let span = TimeSpec::from_duration(Duration::from_nanos(span.as_ns()));
        match ppoll(&mut all, Some(span), None) {
            Ok(0) | Err(Errno::EINTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = [EpollEvent::empty(); TOLD];
        let count = match self.epoll.wait(&mut events, EpollTimeout::ZERO) {
            Err(Errno::EINTR) => 0,
            waited => waited?,
        };
        let told = events.iter().take(count).filter_map(|event| {
            let flags = PollFlags::from_bits_truncate(event.events().bits() as i16);
            self.owners.get(&event.data()).map(|&owner| (owner, flags))
        });
        Ok(told.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn ready_sockets_are_told_by_owner_until_they_are_gone() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let (_other, quiet) = UnixStream::pair().unwrap();
        let mut sockets = Sockets::new().unwrap();
        let now = Time::ZERO;
        let both = [('a', far.as_fd(), PollFlags::POLLIN), ('b', quiet.as_fd(), PollFlags::POLLIN)];
        sockets.set(both.into_iter()).unwrap();
        assert_eq!(sockets.wait(now).unwrap(), []);
        near.write_all(b"x").unwrap();
        assert_eq!(sockets.wait(now).unwrap(), [('a', PollFlags::POLLIN)]);
        let both = [('a', far.as_fd(), PollFlags::empty()), ('b', quiet.as_fd(), PollFlags::POLLOUT)];
        sockets.set(both.into_iter()).unwrap();
        assert_eq!(sockets.wait(now).unwrap(), [('b', PollFlags::POLLOUT)]);
        drop(quiet);
        sockets.set([('a', far.as_fd(), PollFlags::POLLIN)].into_iter()).unwrap();
        assert_eq!(sockets.wait(now).unwrap(), [('a', PollFlags::POLLIN)]);
        assert_eq!((sockets.known.len(), sockets.owners.len()), (1, 1));
    }
}
