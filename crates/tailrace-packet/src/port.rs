//! An egress port with its link: what waits is with the policy, what was sent is in the link's ring.
//!
//! A port needs no event of its own. Whoever looks at it — a packet that arrives at it, the head of its
//! link that arrives at the far end — first lets it catch up: departures that are due happen then, in
//! order and at their own times. While a port is busy its link is never empty, so the arrival of the
//! link's head always comes soon enough to start the next departure. One event a packet-hop is left.

use std::collections::VecDeque;

use tailrace_core::{Bytes, Count, Header, LinkRate, Packet, PortPolicy, Reason, Time};

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
    /// Host number, or switch number with [`Port::SWITCH`] set.
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
            let start = self.free_at;
            match self.policy.dequeue(start) {
                Some(packet) => self.transmit(start, packet),
                None => break,
            }
        }
    }

    /// Takes in a packet at `now`. Returns when the link's head arrives if the link was idle before.
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
        let packet = self.policy.pass(now, packet, room, &mut count_drop)?;
        let was_idle = self.link.is_empty();
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

    /// The link's head arrives at `now`. Returns it and when the next one does.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time) -> (Packet<H>, Option<Time>) {
        self.catch_up(now);
        let Some(head) = self.link.pop_front() else { panic!("a link was woken at {now} but is empty") };
        debug_assert_eq!(head.at, now);
        (head.packet, self.link.front().map(|next| next.at))
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
