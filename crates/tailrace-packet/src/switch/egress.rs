//! An egress port: its policy, and its link's rate.
//!
//! A port needs no clock. Whoever looks at it tells it the time, and it first catches up: departures that are due
//! happen then, in order and at their own times. A driver that looks late is told how late by the times of what it
//! is given.

use std::marker::PhantomData;

use tailrace_core::{
    Bytes, Count, Header, LinkRate, Packet, PortCounts, PortPolicy, Reason, SeriesSink, Time,
};

/// Room for whatever a port holds.
const EVERYTHING: Bytes = Bytes::new(u64::MAX >> 1);

/// A packet that leaves a port.
#[derive(Clone, Copy)]
pub struct Departure<'a, H> {
    /// When its last bit has left.
    pub end: Time,
    /// The packet.
    pub packet: &'a Packet<H>,
}

/// An egress port. What every packet touches comes first.
#[repr(C)]
pub struct Egress<P, H> {
    /// What waits is sent then at the earliest; never, once it was found that nothing waits, or while the port sleeps. So most looks need
    /// not ask the policy.
    due: Time,
    /// When the packet now being sent has left.
    free_at: Time,
    rate: LinkRate,
    sent_packets: u64,
    /// Bytes sent in the highest priority, and in all others.
    sent_bytes: [u64; 2],
    policy: P,
    /// What policies before this one have marked.
    marked_before: u64,
    dropped: Count,
    header: PhantomData<H>,
}

impl<P: PortPolicy<H>, H: Header> Egress<P, H> {
    /// A port with this policy on a link of this rate; nothing is sent yet.
    pub fn new(policy: P, rate: LinkRate) -> Self {
        Egress {
            due: Time::MAX,
            free_at: Time::ZERO,
            rate,
            policy,
            marked_before: 0,
            sent_packets: 0,
            sent_bytes: [0; 2],
            dropped: Count::default(),
            header: PhantomData,
        }
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The policy, for what comes back over the link; that releases nothing.
    #[inline]
    pub fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// Whether departures are due, or will be.
    #[inline]
    pub fn is_backlogged(&self) -> bool {
        !self.policy.is_empty()
    }

    /// Lets departures that are due by `now` happen. At equal times a departure comes before an arrival.
    #[inline]
    pub fn catch_up(&mut self, now: Time, send: &mut impl FnMut(Departure<'_, H>)) {
        debug_assert!(self.due <= self.free_at || self.policy.is_empty());
        if self.due <= now {
            self.send_due(now, send);
        }
    }

    /// Sends what is due by `now`. Out of line, for most looks find nothing.
    #[inline(never)]
    fn send_due(&mut self, now: Time, send: &mut impl FnMut(Departure<'_, H>)) {
        // What came last may have been dropped.
        while !self.policy.is_empty() {
            let start = if P::WORK_CONSERVING {
                self.free_at
            } else {
                match self.policy.next_ready(self.free_at) {
                    Some(ready) if ready <= now => ready.max(self.free_at),
                    _ => return,
                }
            };
            match self.policy.dequeue(start) {
                Some(packet) => self.transmit(start, &packet, send),
                None => return,
            }
            if self.policy.is_empty() {
                break;
            }
            self.due = self.free_at;
            if self.free_at > now {
                return;
            }
        }
        self.due = Time::MAX;
    }

    /// Lets departures that are due happen, and sends a packet that then finds the link idle, and of which the policy need not
    /// know. Tells whether it has: otherwise [take it in](Self::take_in).
    #[inline(always)]
    pub fn send_through(
        &mut self,
        now: Time,
        packet: &Packet<H>,
        room: Bytes,
        send: &mut impl FnMut(Departure<'_, H>),
    ) -> bool {
        self.catch_up(now, send);
        let passes = P::WORK_CONSERVING && self.free_at <= now && self.policy.ignores(packet, room);
        if passes {
            debug_assert!(self.policy.is_empty(), "a policy that holds packets ignores one");
            self.transmit(now, packet, send);
        }
        passes
    }

    /// Sends a packet at `now` through a port that [sleeps](Self::sleep), holds nothing and is idle by then, if the policy need not know
    /// of it; returns when its last bit has left. The port sleeps on.
    #[inline]
    pub fn send_asleep(&mut self, now: Time, packet: &Packet<H>, room: Bytes) -> Option<Time> {
        debug_assert!(self.free_at == Time::MAX && self.policy.is_empty());
        if !P::WORK_CONSERVING || !self.policy.ignores(packet, room) {
            return None;
        }
        self.count_sent(packet);
        Some(now + self.rate.time_for(packet.bytes))
    }

    /// Takes in a packet at `now` that was not [sent through](Self::send_through). The port may hold `room` in all, as its unit counts; what does not fit goes to
    /// `drop`. `packet` means nothing afterwards. Returns whether the link was free, so that a packet may have left at once.
    #[inline]
    pub fn take_in(
        &mut self,
        now: Time,
        packet: &mut Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
        send: &mut impl FnMut(Departure<'_, H>),
    ) -> bool {
        debug_assert!(
            !P::WORK_CONSERVING || self.free_at > now || self.policy.is_empty(),
            "it comes after a packet that was not sent through"
        );
        let dropped = &mut self.dropped;
        let mut count_drop = |lost: Packet<H>, reason| {
            dropped.count(lost.bytes);
            drop(lost, reason);
        };
        if self.free_at > now {
            self.policy.enqueue(now, *packet, room, &mut count_drop);
            self.due = self.free_at;
            return false;
        }
        if P::WORK_CONSERVING {
            if self.policy.pass(now, packet, room, &mut count_drop) {
                self.transmit(now, packet, send);
            }
        } else {
            self.policy.enqueue(now, *packet, room, &mut count_drop);
            // Nothing was ready before: what is now, leaves from now on.
            self.free_at = now;
            self.due = self.free_at;
            self.catch_up(now, send);
        }
        true
    }

    #[inline]
    fn transmit(&mut self, start: Time, packet: &Packet<H>, send: &mut impl FnMut(Departure<'_, H>)) {
        self.count_sent(packet);
        self.free_at = start + self.rate.time_for(packet.bytes);
        send(Departure { end: self.free_at, packet });
    }

    #[inline]
    fn count_sent(&mut self, packet: &Packet<H>) {
        self.sent_packets += 1;
        self.sent_bytes[usize::from(packet.priority != 0)] += u64::from(packet.bytes);
    }

    /// When the next packet that waits is to start; `None` if none waits. A driver looks again then.
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        if P::WORK_CONSERVING {
            return self.is_backlogged().then_some(self.free_at);
        }
        self.policy.next_ready(self.free_at).map(|ready| ready.max(self.free_at))
    }

    /// Wakes the policy at `now`, which [`PortPolicy::next_wake`] has asked for.
    pub fn wake_policy(
        &mut self,
        now: Time,
        series: &mut dyn SeriesSink,
        send: &mut impl FnMut(Departure<'_, H>),
    ) {
        self.catch_up(now, send);
        self.policy.on_wake(now, series);
        if !P::WORK_CONSERVING {
            // Nothing was ready before: what the policy makes ready, leaves from now on.
            self.free_at = self.free_at.max(now);
        }
        self.due = self.free_at;
        self.catch_up(now, send);
    }

    /// Gives the port another policy and rate at `now`. What waits stays: the new policy is given it as if it arrived now,
    /// in the order in which the old one would have sent it, and with room for all of it. What is being sent goes on at the
    /// old rate.
    pub fn refit(
        &mut self,
        now: Time,
        policy: P,
        rate: LinkRate,
        drop: &mut impl FnMut(Packet<H>, Reason),
        send: &mut impl FnMut(Departure<'_, H>),
    ) {
        self.catch_up(now, send);
        let mut old = std::mem::replace(&mut self.policy, policy);
        self.rate = rate;
        let dropped = &mut self.dropped;
        let mut count_drop = |lost: Packet<H>, reason| {
            dropped.count(lost.bytes);
            drop(lost, reason);
        };
        let mut at = now;
        while let Some(ready) = old.next_ready(at) {
            at = at.max(ready);
            let Some(packet) = old.dequeue(at) else { break };
            self.policy.enqueue(now, packet, EVERYTHING, &mut count_drop);
        }
        debug_assert_eq!(old.backlog_packets(), 0, "a policy that holds packets says when it will give them");
        self.marked_before += old.marked();
        if !P::WORK_CONSERVING {
            self.free_at = self.free_at.max(now);
        }
        self.due = self.free_at;
        self.catch_up(now, send);
    }

    /// When the packet now being sent has left, or the last one has; not known of a port that sleeps.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// From now on nothing is [sent through](Self::send_through) and nothing leaves, whoever looks, until the port [wakes](Self::awake) with
    /// the time that is returned: when the packet now being sent has left, or the last one has.
    #[inline]
    pub fn sleep(&mut self) -> Time {
        self.due = Time::MAX;
        std::mem::replace(&mut self.free_at, Time::MAX)
    }

    /// The port goes on where it [fell asleep](Self::sleep).
    #[inline]
    pub fn awake(&mut self, free_at: Time) {
        (self.free_at, self.due) = (free_at, free_at);
    }

    /// When the transmission of a packet of so many bytes started that had left at `end`.
    pub fn start_of(&self, end: Time, bytes: u16) -> Time {
        end - self.rate.time_for(bytes)
    }

    /// What the port has sent was lost behind it.
    pub fn count_lost(&mut self, bytes: u16) {
        self.dropped.count(bytes);
    }

    /// What the port has done.
    pub fn counts(&self) -> PortCounts {
        let [urgent_bytes, others] = self.sent_bytes;
        PortCounts {
            sent: Count { packets: self.sent_packets, bytes: urgent_bytes + others },
            urgent_bytes,
            dropped: self.dropped,
            marked: self.marked_before + self.policy.marked(),
        }
    }

    /// What waits.
    pub fn queued(&self) -> Count {
        Count { packets: self.policy.backlog_packets() as u64, bytes: self.policy.backlog().get() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use tailrace_core::Rate;

    use super::*;

    /// First in, first out.
    #[derive(Default)]
    struct Fifo(VecDeque<Packet>);

    impl PortPolicy for Fifo {
        fn enqueue(&mut self, _: Time, packet: Packet, room: Bytes, drop: &mut impl FnMut(Packet, Reason)) {
            if self.backlog().get() + u64::from(packet.bytes) > room.get() {
                drop(packet, Reason::Buffer);
            } else {
                self.0.push_back(packet);
            }
        }
        fn dequeue(&mut self, _: Time) -> Option<Packet> {
            self.0.pop_front()
        }
        fn backlog(&self) -> Bytes {
            Bytes::new(self.0.iter().map(|packet| u64::from(packet.bytes)).sum())
        }
        fn backlog_packets(&self) -> usize {
            self.0.len()
        }
        fn backlog_of(&self, _: u8) -> Bytes {
            self.backlog()
        }
        fn marked(&self) -> u64 {
            0
        }
    }

    const ROOM: Bytes = Bytes::new(4_500);

    /// Departures and drops of packets that arrive at these times, if the port is also looked at at those.
    fn departures(arrivals: &[(u64, u16)], looks: &[u64]) -> Vec<(u32, Time, Time)> {
        let rate = LinkRate::new(Rate::from_gbps(10));
        let mut port = Egress::new(Fifo::default(), rate);
        let mut left = Vec::new();
        let mut dropped = Vec::new();
        let mut send =
            |d: Departure<'_, ()>| left.push((d.packet.flow, d.end - rate.time_for(d.packet.bytes), d.end));
        let mut looks = looks.iter().copied().peekable();
        for (flow, &(at, bytes)) in (0..).zip(arrivals) {
            while let Some(look) = looks.next_if(|look| *look <= at) {
                port.catch_up(Time::from_ns(look), &mut send);
            }
            let mut packet = Packet { flow, bytes, ..Packet::EMPTY };
            let mut drop = |packet: Packet, _| dropped.push((packet.flow, Time::MAX, Time::MAX));
            if !port.send_through(Time::from_ns(at), &packet, ROOM, &mut send) {
                port.take_in(Time::from_ns(at), &mut packet, ROOM, &mut drop, &mut send);
            }
        }
        port.catch_up(Time::from_ms(1_000), &mut send);
        assert_eq!(port.counts().sent.packets as usize + dropped.len(), arrivals.len());
        left.extend(dropped);
        left
    }

    proptest! {
        #[test]
        fn a_late_look_changes_no_departure(
            mut arrivals in prop::collection::vec((0u64..40_000, 64u16..1500), 1..40),
            mut looks in prop::collection::vec(0u64..60_000, 0..40),
        ) {
            arrivals.sort_unstable();
            looks.sort_unstable();
            let exact: Vec<u64> = departures(&arrivals, &[]).iter().map(|d| d.2.as_ns().min(60_000)).collect();
            let punctual = departures(&arrivals, &exact);
            prop_assert_eq!(&departures(&arrivals, &looks), &punctual);
            prop_assert_eq!(&departures(&arrivals, &[]), &punctual);
            // One after the other, in order of arrival, none before it came.
            let sent: Vec<_> = punctual.iter().filter(|d| d.1 < Time::MAX).collect();
            prop_assert!(sent.windows(2).all(|pair| pair[0].2 <= pair[1].1 && pair[0].0 < pair[1].0));
            prop_assert!(sent.iter().all(|d| d.1 >= Time::from_ns(arrivals[d.0 as usize].0)));
        }

        #[test]
        fn another_policy_and_rate_lose_nothing_and_keep_order_and_what_is_being_sent(
            sizes in prop::collection::vec(64u16..1500, 1..40),
            at in 0u64..40_000,
        ) {
            let rate = |gbps| LinkRate::new(Rate::from_gbps(gbps));
            let mut port = Egress::new(Fifo::default(), rate(10));
            let mut left: Vec<(u32, Time)> = Vec::new();
            let mut send = |d: Departure<'_, ()>| left.push((d.packet.flow, d.end));
            let mut never = |packet: Packet, _| panic!("{packet:?} is dropped");
            for (flow, &bytes) in (0..).zip(&sizes) {
                let mut packet = Packet { flow, bytes, ..Packet::EMPTY };
                if !port.send_through(Time::ZERO, &packet, EVERYTHING, &mut send) {
                    port.take_in(Time::ZERO, &mut packet, EVERYTHING, &mut never, &mut send);
                }
            }
            let at = Time::from_ns(at);
            port.refit(at, Fifo::default(), rate(1), &mut never, &mut send);
            let waits = port.queued().packets as usize;
            port.catch_up(Time::from_ms(1_000), &mut send);
            // Those that had started by then left at the old rate, and the others one after the other at the new one.
            let mut end = Time::ZERO;
            for (flow, &bytes) in sizes.iter().enumerate() {
                let started = flow + waits < sizes.len();
                prop_assert_eq!(started, end <= at);
                end += if started { rate(10) } else { rate(1) }.time_for(bytes);
                prop_assert_eq!(left[flow], (flow as u32, end));
            }
            prop_assert_eq!(left.len(), sizes.len());
        }
    }
}
