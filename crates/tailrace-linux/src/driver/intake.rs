//! What the driver takes in: frames off the links, and datagrams that have come to its hosts.

use std::io;

use tailrace_core::{HostId, Scheme, Time};

use super::Driver;
use crate::forward::{Way, flood};
use crate::interfaces::is_down;
use crate::link::is_full;

impl<S: Scheme> Driver<'_, S> {
    /// Takes what waits at all sockets, up to a batch each; returns whether anything did.
    pub(super) fn take_in(&mut self) -> io::Result<bool> {
        let (hosts, mut came) = (self.interfaces.len(), false);
        if self.links.tells() {
            for host in 0..hosts {
                came |= self.take_frames(host)?;
            }
            if self.endpoints.is_none() {
                return Ok(came);
            }
        }
        if !std::mem::take(&mut self.found) && !self.poll.wait(Time::ZERO)? {
            return Ok(came);
        }
        for place in 0..self.poll.count() {
            let socket = self.poll.number(place) as usize;
            match socket.checked_sub(hosts) {
                Some(host) => self.take_datagrams(host)?,
                None if self.links.tells() => {}
                None => came |= self.take_frames(socket)?,
            }
            came |= socket >= hosts;
        }
        Ok(came)
    }

    fn take_frames(&mut self, host: usize) -> io::Result<bool> {
        let Driver { links, slab, frame_counters, entering, .. } = self;
        let received = match links.receive(host, slab, &mut self.taken) {
            // Somebody has set it down, or taken it away.
            Err(error) if is_down(&error) && self.interfaces.is_there(host) => return Ok(false),
            received => received.map_err(|error| self.interfaces.failed(host, error))?,
        };
        frame_counters.too_long += received.too_long as u64;
        let (from, now) = (host as HostId, self.clock.now());
        for number in self.taken.drain(..) {
            match self.forwarding.way(slab.bytes(number), from, now) {
                Way::To(to) => {
                    entering.push((from, to, number));
                    continue;
                }
                Way::ToOthers => {
                    let enter = |to, number| entering.push((from, to, number));
                    frame_counters.no_room += flood(slab, number, from, self.interfaces.len(), enter);
                    continue;
                }
                Way::Answer(answer) => {
                    frame_counters.answered += 1;
                    // If it is lost, the host asks again.
                    links.send_bytes(host, slab, &answer)?;
                }
                Way::ToNobody => frame_counters.unroutable += 1,
                Way::Back => frame_counters.back += 1,
            }
            slab.free(number);
        }
        Ok(received.frames > 0)
    }

    fn take_datagrams(&mut self, host: usize) -> io::Result<()> {
        let Some(endpoints) = &mut self.endpoints else { return Ok(()) };
        let arriving = &mut self.arriving;
        match endpoints.receive(host as HostId, |host, packet| arriving.push((host, packet))) {
            Err(error) if is_full(&error) => Ok(()),
            received => received.map(drop),
        }
    }
}
