//! A world whose hosts stand outside and whose clock is a machine's: a driver tells what time it is, carries packets
//! between hosts and network, and sends on what the network delivers.

use tailrace_core::{HostId, Ledger, Packet, PortCounts, PortId, Scheme, SeriesRow, SeriesSource, Time};
use tailrace_engine::Entity;
use tailrace_fabric::Fabric;

use super::{HORIZON, SPECIAL, World};
use crate::{Outside, Step};

/// Why [`World::run_until`] has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// All that was due has happened.
    UpToDate,
    /// The horizon was reached.
    Horizon,
}

impl<S: Scheme> World<S> {
    /// Puts the hosts outside, before anything has happened.
    pub fn outside(mut self) -> Self {
        self.network.open();
        self.begin();
        self
    }

    /// Lets what is due by `now` happen, in order and at its own times, as late as it may be. `deliver` is given what
    /// leaves the network for a host, and when it should have.
    pub fn run_until(
        &mut self,
        now: Time,
        deliver: &mut impl FnMut(Time, HostId, Packet<S::Header>),
    ) -> Pause {
        // The clock is one more entity that is woken.
        let clock = self.clock_entity();
        self.network.wake(clock, now);
        loop {
            match self.network.next() {
                Some(Step::Arrival(host, packet)) => deliver(self.network.now(), host, packet),
                Some(Step::Wake(entity)) if entity == clock => return Pause::UpToDate,
                Some(Step::Wake(entity)) if entity == self.special(HORIZON) => return Pause::Horizon,
                Some(Step::Wake(entity)) => self.on_wake(entity),
                None => panic!("the clock was woken for {now}, and is not on the agenda"),
            }
        }
    }

    /// The time up to which the world has run.
    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// When something is due next.
    pub fn next_event(&self) -> Option<Time> {
        self.network.next_event()
    }

    /// A packet of `host` reaches its network card, at the time up to which the world has run.
    pub fn enter(&mut self, host: HostId, mut packet: Packet<S::Header>) {
        self.network.enter(host, &mut packet);
    }

    /// A packet comes to the switch that its destination hangs on from outside, through no network card, at the time up to
    /// which the world has run.
    pub fn enter_switch(&mut self, packet: Packet<S::Header>) {
        self.network.enter_switch(packet);
    }

    /// Goes on under `scheme`, at the rates and with the memory that `fabric` has; its structure and delays must be the
    /// same. What waits at ports stays; what policies have learned is forgotten.
    pub fn refit(&mut self, scheme: S, fabric: &Fabric) {
        self.network.refit(fabric, |port| scheme.port(port));
        self.scheme = scheme;
        for port in 0..self.watched_port.len() as PortId {
            self.arm_port(port);
        }
    }

    /// A packet has come to the transport of `host`, at the time up to which the world has run.
    pub fn arrive(&mut self, host: HostId, packet: &Packet<S::Header>) {
        if packet.is_ack() { self.on_ack(host, packet) } else { self.on_data(host, packet) }
    }

    /// What hosts are to send, and what the network has dropped, since it was last taken.
    ///
    /// # Panics
    ///
    /// If the hosts do not stand outside.
    pub fn carry_on(&mut self) -> &mut Outside<S::Header> {
        match self.network.outside() {
            Some(outside) => outside,
            None => panic!("the hosts of this world do not stand outside"),
        }
    }

    /// What each port sent, dropped and marked, in order of port number.
    pub fn port_counts(&self) -> impl Iterator<Item = PortCounts> {
        self.network.port_counts()
    }

    /// What was written down since this was last asked.
    pub fn take_series(&mut self) -> Vec<(SeriesSource, SeriesRow)> {
        std::mem::take(&mut self.series.rows)
    }

    /// Where every packet is, of those that have entered the network.
    pub fn ledger(&self) -> Ledger {
        self.network.ledger()
    }

    /// Bytes and packets that wait at a port now, and the bytes in each of its queues.
    pub fn queues(&mut self, port: PortId) -> (u64, usize, [u64; tailrace_core::MAX_PRIORITIES]) {
        self.network.sample(port)
    }

    /// The driver's clock among those that are woken, after the controller.
    fn clock_entity(&self) -> Entity {
        (self.hosts.len() + SPECIAL + self.watched_port.len() + 1) as Entity
    }
}
