//! A port whose router reads and writes the packets that arrive, in front of ordinary queues.

use tailrace_core::{Bytes, Header, Packet, PortPolicy, Reason, SeriesSink, Time};

use crate::MultiQueue;

/// The part of a port that deals with headers, and sets priorities by them.
pub trait Router<H> {
    /// See [`PortPolicy::REVERSE`].
    const REVERSE: bool = false;
    /// See [`PortPolicy::WORK_CONSERVING`].
    const WORK_CONSERVING: bool = true;
    /// From when on the packet may leave that the queues would send next: `now` or later. `None` if that is open until
    /// [`Self::on_wake`].
    #[inline]
    fn next_ready(&self, now: Time, _queues: &MultiQueue<H>) -> Option<Time> {
        Some(now)
    }
    /// A packet arrives at the port, which holds `backlog`. It may still be dropped.
    fn on_arrival(&mut self, now: Time, packet: &mut Packet<H>, backlog: Bytes);
    /// A packet leaves the port and is no longer in `queues`, in which it may never have been.
    #[inline]
    fn on_departure(&mut self, _now: Time, _packet: &mut Packet<H>, _queues: &MultiQueue<H>) {}
    /// Packets that it has marked itself.
    fn marked(&self) -> u64 {
        0
    }
    /// See [`PortPolicy::on_reverse`].
    fn on_reverse(&mut self, _now: Time, _packet: &mut Packet<H>) {}
    /// See [`PortPolicy::next_wake`].
    fn next_wake(&self) -> Option<Time> {
        None
    }
    /// See [`PortPolicy::on_wake`].
    fn on_wake(&mut self, _now: Time, _series: &mut dyn SeriesSink) {}
}

/// A router and the queues behind it.
#[derive(Clone, Debug)]
pub struct RoutedPort<R, H> {
    router: R,
    queues: MultiQueue<H>,
}

impl<R, H> RoutedPort<R, H> {
    /// A port that starts empty.
    pub fn new(router: R, queues: MultiQueue<H>) -> Self {
        RoutedPort { router, queues }
    }

    /// The part that deals with headers.
    pub fn router(&self) -> &R {
        &self.router
    }
}

// Clippy reports a method of `PortPolicy` that is missing here.
#[deny(clippy::missing_trait_methods)]
impl<R: Router<H>, H: Header> PortPolicy<H> for RoutedPort<R, H> {
    const REVERSE: bool = R::REVERSE;
    const WORK_CONSERVING: bool = R::WORK_CONSERVING;

    #[inline]
    fn next_ready(&self, now: Time) -> Option<Time> {
        (!self.queues.is_empty()).then(|| self.router.next_ready(now, &self.queues)).flatten()
    }
    #[inline]
    fn on_reverse(&mut self, now: Time, packet: &mut Packet<H>) {
        self.router.on_reverse(now, packet);
    }
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) {
        self.router.on_arrival(now, &mut packet, self.queues.backlog());
        self.queues.enqueue(now, packet, room, drop);
    }
    /// The router sees them all.
    #[inline]
    fn ignores(&self, _packet: &Packet<H>, _room: Bytes) -> bool {
        false
    }
    #[inline]
    fn pass(
        &mut self,
        now: Time,
        packet: &mut Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> bool {
        self.router.on_arrival(now, packet, Bytes::ZERO);
        let leaves = self.queues.pass(now, packet, room, drop);
        if leaves {
            self.router.on_departure(now, packet, &self.queues);
        }
        leaves
    }
    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<Packet<H>> {
        let mut packet = self.queues.dequeue(now)?;
        self.router.on_departure(now, &mut packet, &self.queues);
        Some(packet)
    }
    #[inline]
    fn backlog(&self) -> Bytes {
        self.queues.backlog()
    }
    fn backlog_packets(&self) -> usize {
        self.queues.backlog_packets()
    }
    #[inline]
    fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
    fn backlog_of(&self, priority: u8) -> Bytes {
        self.queues.backlog_of(priority)
    }
    fn marked(&self) -> u64 {
        self.queues.marked() + self.router.marked()
    }
    fn next_wake(&self) -> Option<Time> {
        self.router.next_wake()
    }
    fn on_wake(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.router.on_wake(now, series);
    }
}
