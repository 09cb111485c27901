//! An egress port with its link: what waits is with the policy, what was sent is in the link's ring.
//!
//! A port needs no event of its own. Whoever looks at it — a packet that arrives at it, the head of its
//! link that arrives at the far end — first lets it catch up: departures that are due happen then, in
//! order and at their own times. While a port is busy its link is never empty, so the arrival of the
//! link's head always comes soon enough to start the next departure. One event a packet-hop is left.
//!
//! A port that is not work-conserving may hold packets beside an empty link. It then has an event of its own, when
//! the next of them is ready.

use std::collections::VecDeque;

use tailrace_core::{Bytes, Count, Header, LinkRate, Packet, PortPolicy, Reason, SeriesSink, Time};

/// A packet on a link.
#[derive(Clone, Copy)]
pub(crate) struct Flight<H> {
    pub(crate) at: Time,
    pub(crate) packet: Packet<H>,
}

/// An egress port and its link.
pub(crate) struct Port<P, H> {
    /// When the packet now being sent has left.
    free_at: Time,
    delay: Time,
    rate: LinkRate,
    /// Host number, switch number with [`Port::SWITCH`] set, or [`Port::TAPPED`].
    pub(crate) to: u32,
    link: VecDeque<Flight<H>>,
    pub(crate) policy: P,
    pub(crate) sent: Count,
    /// Bytes sent in the highest priority.
    pub(crate) sent_urgent: u64,
    pub(crate) dropped: Count,
}

impl<P: PortPolicy<H>, H: Header> Port<P, H> {
    pub(crate) const SWITCH: u32 = 1 << 31;
    /// Stands for where the tapped port leads; no host and no switch.
    pub(crate) const TAPPED: u32 = 1 << 30;

    pub(crate) fn new(policy: P, rate: LinkRate, delay: Time, to: u32) -> Self {
        Port {
            free_at: Time::ZERO,
            delay,
            rate,
            to,
            link: VecDeque::new(),
            policy,
            sent: Count::default(),
            sent_urgent: 0,
            dropped: Count::default(),
        }
    }

    /// Whether departures are due by `now`, or will be.
    #[inline]
    pub(crate) fn is_backlogged(&self) -> bool {
        self.policy.backlog() > Bytes::ZERO
    }

    /// Lets departures that are due by `now` happen. At equal times a departure comes before an arrival.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time) {
        while self.free_at <= now {
            let start = if P::WORK_CONSERVING {
                self.free_at
            } else {
                match self.policy.next_ready(self.free_at) {
                    Some(ready) if ready <= now => ready.max(self.free_at),
                    _ => break,
                }
            };
            match self.policy.dequeue(start) {
                Some(packet) => self.transmit(start, packet),
                None => break,
            }
        }
    }

    /// When the port is to be looked at next: when the link's head arrives, or, beside an empty link, when the
    /// policy has something to send.
    #[inline]
    fn next_look(&self) -> Option<Time> {
        match self.link.front() {
            Some(head) => Some(head.at),
            None if P::WORK_CONSERVING => None,
            None => self.policy.next_ready(self.free_at).map(|ready| ready.max(self.free_at)),
        }
    }

    /// Takes in a packet at `now`. Returns when the port is to be looked at next if the link was idle before.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> Option<Time> {
        self.catch_up(now);
        let dropped = &mut self.dropped;
        let mut count_drop = |lost: Packet<H>, reason| {
            dropped.count(lost.bytes);
            drop(lost, reason);
        };
        if self.free_at > now {
            self.policy.enqueue(now, packet, room, &mut count_drop);
            return None;
        }
        let was_idle = self.link.is_empty();
        if !P::WORK_CONSERVING {
            self.policy.enqueue(now, packet, room, &mut count_drop);
            // Nothing was ready before: what is now, leaves from now on.
            self.free_at = now;
            self.catch_up(now);
            return was_idle.then(|| self.next_look()).flatten();
        }
        let packet = self.policy.pass(now, packet, room, &mut count_drop)?;
        self.transmit(now, packet);
        was_idle.then(|| self.free_at + self.delay)
    }

    #[inline]
    fn transmit(&mut self, start: Time, packet: Packet<H>) {
        self.sent.count(packet.bytes);
        self.sent_urgent += if packet.priority == 0 { u64::from(packet.bytes) } else { 0 };
        self.free_at = start + self.rate.time_for(packet.bytes);
        self.link.push_back(Flight { at: self.free_at + self.delay, packet });
    }

    /// The port is looked at, as it has asked for. Returns the link's head, which arrives at `now`, and when to look
    /// next. The head is always there if the policy is work-conserving.
    #[inline]
    pub(crate) fn look(&mut self, now: Time) -> (Option<Packet<H>>, Option<Time>) {
        self.catch_up(now);
        if !P::WORK_CONSERVING && self.link.front().is_none_or(|head| head.at > now) {
            return (None, self.next_look());
        }
        let Some(head) = self.link.pop_front() else { panic!("a link was woken at {now} but is empty") };
        debug_assert_eq!(head.at, now);
        (Some(head.packet), self.next_look())
    }

    /// Wakes the policy. Returns when the port is to be looked at next, if that may have changed.
    pub(crate) fn wake_policy(&mut self, now: Time, series: &mut dyn SeriesSink) -> Option<Time> {
        self.catch_up(now);
        self.policy.on_wake(now, series);
        if P::WORK_CONSERVING {
            return None;
        }
        // Nothing was ready before: what the policy makes ready, leaves from now on.
        self.free_at = self.free_at.max(now);
        self.catch_up(now);
        self.next_look()
    }

    /// When the transmission of a packet started that arrives at `at`.
    pub(crate) fn started(&self, at: Time, packet: &Packet<H>) -> Time {
        at - self.delay - self.rate.time_for(packet.bytes)
    }

    /// What is on the link, and when each arrives.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = (Time, &Packet<H>)> {
        self.link.iter().map(|flight| (flight.at, &flight.packet))
    }

    /// What is on the link.
    pub(crate) fn in_flight(&self) -> Count {
        let mut count = Count::default();
        self.link.iter().for_each(|flight| count.count(flight.packet.bytes));
        count
    }

    /// What waits.
    pub(crate) fn queued(&self) -> Count {
        Count { packets: self.policy.backlog_packets() as u64, bytes: self.policy.backlog().get() }
    }
}
