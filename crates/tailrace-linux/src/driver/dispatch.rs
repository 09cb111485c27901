//! What the driver hands over: frames to the links, and datagrams to its hosts' sockets.

use std::collections::VecDeque;
use std::io;

use tailrace_core::{LiveError, Scheme, Time};

use super::Driver;
use crate::endpoints::Endpoints;
use crate::interfaces::is_down;
use crate::packets::packet_of;

/// Frames that are to leave for a host.
#[derive(Default)]
pub(super) struct Leaving {
    /// Their numbers.
    pub(super) frames: VecDeque<u32>,
    /// When each should have left.
    dues: VecDeque<Time>,
}

impl Leaving {
    pub(super) fn push(&mut self, number: u32, due: Time) {
        self.frames.push_back(number);
        self.dues.push_back(due);
    }

    /// When those should have left that have left.
    fn gone(&mut self) -> impl Iterator<Item = Time> {
        // A link that is down gives frames back that it had taken.
        let gone = self.dues.len().saturating_sub(self.frames.len());
        self.dues.drain(..gone)
    }
}

impl<S: Scheme> Driver<'_, S> {
    /// Hands over all that leaves.
    pub(super) fn send_off(&mut self) -> Result<(), LiveError> {
        let flushed = self.endpoints.as_mut().map_or(Ok(()), Endpoints::flush);
        flushed.and_then(|()| self.hand_over()).map_err(LiveError::refused("sending frames"))
    }

    /// Hands frames to the links.
    fn hand_over(&mut self) -> io::Result<()> {
        for (host, leaving) in self.leaving.iter_mut().enumerate() {
            match self.links.send(host, &mut self.slab, &mut leaving.frames) {
                Err(error) if is_down(&error) => {
                    self.frame_counters.link_down += leaving.frames.len() as u64;
                    leaving.frames.drain(..).for_each(|number| self.slab.free(number));
                    leaving.dues.clear();
                }
                sent => sent.map_err(|error| self.interfaces.failed(host, error))?,
            }
            if leaving.dues.len() > leaving.frames.len() {
                let now = self.clock.now();
                leaving.gone().for_each(|due| self.lag.note(now.saturating_sub(due)));
            }
        }
        Ok(())
    }

    /// Waits up to `until` for what is between hosts and fabric, which stand still: nothing enters any more, and hosts
    /// send nothing.
    pub(crate) fn settle(&mut self, until: Time) -> Result<(), LiveError> {
        while self.between() != (0, 0) && self.clock.now() < until {
            let came = self.take_in().map_err(LiveError::refused("receiving frames"))?;
            let between_hosts = self.forwarding.is_between_hosts();
            let mut entering = std::mem::take(&mut self.entering);
            for (_, to, slot) in entering.drain(..) {
                packet_of::<S::Header>(&mut self.slab, slot, to, between_hosts, &self.priorities, self.mss);
                self.own.entered += u64::from(self.slab.slot(slot).own);
                self.slab.free(slot);
            }
            self.entering = entering;
            self.arriving.clear();
            self.hand_over().map_err(LiveError::refused("sending frames"))?;
            if !came {
                let span = until.saturating_sub(self.clock.now());
                self.found = self.poll.wait(span).map_err(LiveError::refused("waiting for frames"))?;
            }
        }
        Ok(())
    }
}
