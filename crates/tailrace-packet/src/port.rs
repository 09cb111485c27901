//! An egress port with the link behind it, as the simulator has them.
//!
//! A port needs no event of its own. Whoever looks at it — a packet that arrives at it, the head of its
//! link that arrives at the far end — first lets it catch up. While a port is busy its link is never empty, so the
//! arrival of the link's head always comes soon enough to start the next departure (links that lead to another logical
//! process: `network/border.rs`). One event a packet-hop is left.
//!
//! A port that is not work-conserving may hold packets beside an empty link. It then has an event of its own, when
//! the next of them is ready.

use crate::switch::{Departure, Egress};
use tailrace_core::{Bytes, Count, Header, LinkRate, Packet, PortPolicy, Reason, SeriesSink, Time};

use crate::ring::Ring;

/// A packet on a link.
#[derive(Clone, Copy)]
struct Flight<H> {
    at: Time,
    packet: Packet<H>,
}

impl<H: Header> Default for Flight<H> {
    fn default() -> Self {
        Flight { at: Time::ZERO, packet: Packet::EMPTY }
    }
}

/// A link: what is on it arrives after its delay, in order.
struct Link<H> {
    delay: Time,
    flights: Ring<Flight<H>>,
}

impl<H: Header> Link<H> {
    #[inline]
    fn take(&mut self, departure: Departure<'_, H>) {
        self.flights.push_back(Flight { at: departure.end + self.delay, packet: *departure.packet });
    }
}

/// An egress port and its link. What every arrival touches is in the first line of memory.
#[repr(C, align(64))]
pub(crate) struct Port<P, H> {
    link: Link<H>,
    /// Host number, switch number with [`Port::SWITCH`] set, or [`Port::WATCHED`].
    pub(crate) to: u32,
    pub(crate) egress: Egress<P, H>,
}

impl<P: PortPolicy<H>, H: Header> Port<P, H> {
    pub(crate) const SWITCH: u32 = 1 << 31;
    /// Stands for where a port leads that is tapped, or whose link fails; no host and no switch.
    pub(crate) const WATCHED: u32 = 1 << 30;

    pub(crate) fn new(policy: P, rate: LinkRate, delay: Time, to: u32) -> Self {
        Port { egress: Egress::new(policy, rate), link: Link { delay, flights: Ring::new() }, to }
    }

    /// Reads what an arrival will ask for, so that it is in the caches. What it returns means nothing, but must be used, or nothing
    /// is read.
    #[inline]
    pub(crate) fn fetch(&self) -> u64 {
        self.link.flights.first_place().map_or(0, |head| head.at.as_ps())
    }

    /// When the port is to be looked at next: when the link's head arrives, or, beside an empty link, when the
    /// policy has something to send.
    #[inline]
    fn next_look(&self) -> Option<Time> {
        match self.link.flights.front() {
            Some(head) => Some(head.at),
            None if P::WORK_CONSERVING => None,
            None => self.egress.next_departure(),
        }
    }

    /// Sends a packet at `now` that finds an idle link, if it need not be [taken in](Self::take_in); tells whether it has.
    #[inline(always)]
    pub(crate) fn send_through(&mut self, now: Time, packet: &Packet<H>, room: Bytes) -> bool {
        let link = &mut self.link;
        self.egress.send_through(now, packet, room, &mut |departure| link.take(departure))
    }

    /// When what was sent last arrives, if it is alone on its link.
    #[inline]
    pub(crate) fn alone(&self) -> Option<Time> {
        (self.link.flights.len() == 1).then(|| self.egress.free_at() + self.link.delay)
    }

    /// Takes in a packet at `now` that was not [sent through](Self::send_through). Returns when the port is to be looked at next, if that may have changed.
    #[inline]
    pub(crate) fn take_in(
        &mut self,
        now: Time,
        packet: &mut Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> Option<Time> {
        let link = &mut self.link;
        let free = self.egress.take_in(now, packet, room, drop, &mut |departure| link.take(departure));
        if !P::WORK_CONSERVING {
            return self.next_look();
        }
        // Alone on its link, it is the one that has just left.
        if free { self.alone() } else { None }
    }

    /// Whether the link's head arrives at `now`. A port whose policy is work-conserving asks to be looked at for
    /// nothing else.
    #[inline]
    pub(crate) fn has_arrival(&self, now: Time) -> bool {
        P::WORK_CONSERVING || self.link.flights.front().is_some_and(|head| head.at <= now)
    }

    /// The policy has something to send, as it has said. Returns when to look next.
    pub(crate) fn look(&mut self, now: Time) -> Option<Time> {
        self.catch_up(now);
        self.next_look()
    }

    /// The link's head arrives at `now`. Returns it, and when to look next.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time) -> (Packet<H>, Option<Time>) {
        self.catch_up(now);
        let Some(head) = self.link.flights.pop_front() else {
            panic!("a link was woken at {now} but is empty")
        };
        debug_assert_eq!(head.at, now);
        (head.packet, self.next_look())
    }

    /// Wakes the policy. Returns when the port is to be looked at next, if that may have changed.
    pub(crate) fn wake_policy(&mut self, now: Time, series: &mut dyn SeriesSink) -> Option<Time> {
        let link = &mut self.link;
        self.egress.wake_policy(now, series, &mut |departure| link.take(departure));
        if P::WORK_CONSERVING { None } else { self.next_look() }
    }

    /// Gives the port another policy and rate; what waits stays. Returns when the port is to be looked at next, if that
    /// may have changed.
    pub(crate) fn refit(
        &mut self,
        now: Time,
        policy: P,
        rate: LinkRate,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> Option<Time> {
        let link = &mut self.link;
        self.egress.refit(now, policy, rate, drop, &mut |departure| link.take(departure));
        self.next_look()
    }

    /// When the transmission of a packet started that arrives at `at`.
    pub(crate) fn started(&self, at: Time, packet: &Packet<H>) -> Time {
        self.egress.start_of(at - self.link.delay, packet.bytes)
    }

    /// How long what has left takes over the link.
    #[inline]
    pub(crate) fn delay(&self) -> Time {
        self.link.delay
    }

    /// Puts a packet on the link that another logical process has sent over it. Returns whether it is the only one.
    pub(crate) fn put_flight(&mut self, at: Time, packet: &Packet<H>) -> bool {
        self.link.flights.push_back(Flight { at, packet: *packet });
        self.link.flights.len() == 1
    }

    /// Lets departures that are due by `now` happen.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time) {
        let link = &mut self.link;
        self.egress.catch_up(now, &mut |departure| link.take(departure));
    }

    /// What is on the link, and when each arrives.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = (Time, &Packet<H>)> {
        self.link.flights.iter().map(|flight| (flight.at, &flight.packet))
    }

    /// What is on the link, counted.
    pub(crate) fn in_flight(&self) -> Count {
        let mut count = Count::default();
        self.under_way().for_each(|(_, packet)| count.count(packet.bytes));
        count
    }
}

#[cfg(test)]
mod tests {
    use tailrace_queues::MultiQueue;

    use super::*;

    /// Most schemes have such ports. What grows beyond a line costs every packet-hop: look what it is that grew.
    #[test]
    fn a_port_of_eight_queues_has_six_lines_of_memory() {
        assert_eq!(size_of::<Port<MultiQueue, ()>>(), 6 * 64);
    }
}
