//! What happens when somebody is woken: hosts with their timers, ports, what starts flows; and who is woken when.

use tailrace_core::{HostId, HostPolicy, PortId, Refresh, Scheme, SeriesSource, Time};
use tailrace_engine::Entity;

use super::{SAMPLER, SOURCE, SPECIAL, World, armed_for};
use crate::timers::Timer;

impl<S: Scheme> World<S> {
    pub(super) fn on_wake(&mut self, entity: Entity) {
        let hosts = self.hosts.len() as Entity;
        if entity < hosts {
            return self.wake_host(entity as HostId);
        }
        let ports = hosts + SPECIAL as Entity..self.control_entity();
        if ports.contains(&entity) {
            return self.wake_port(entity - ports.start);
        }
        self.count_once(entity);
        if entity == self.special(SOURCE) {
            self.start_flows();
        } else if entity == self.special(SAMPLER) {
            self.sample();
        } else if entity == self.global_events_entity() {
            self.wake_global_events();
        } else if entity == self.control_entity() {
            self.wake_control();
        } else if entity == self.stall_entity() {
            self.look_for_a_stall();
        }
    }

    /// Every logical process is woken for this, and one of them counts it.
    pub(super) fn count_once(&mut self, entity: Entity) {
        if !self.network.counts_global_events() {
            self.network.uncount(entity);
        }
    }

    pub(super) fn wake_host(&mut self, host: HostId) {
        let now = self.network.now();
        while let Some(timer) =
            self.hosts[host as usize].timers.pop_due(now, |timer| armed_for(&self.armed, timer))
        {
            match timer {
                Timer::Sender(slot) => self.wake_sender(host, slot as usize),
                Timer::Receiver(slot) => self.wake_receiver(host, slot as usize),
            }
        }
        if self.hosts[host as usize].policy.next_wake().is_some_and(|at| at <= now) {
            let watched = self.watched_host[host as usize];
            let mut sink = self.series.at(SeriesSource::Host(host), watched);
            if self.hosts[host as usize].policy.on_wake(now, &mut sink) == Refresh::All {
                self.redirect(host);
            }
        }
        if S::Host::CAPS {
            self.take_turns(host);
        }
        self.arm_host(host);
    }

    pub(super) fn wake_sender(&mut self, host: HostId, slot: usize) {
        self.armed[slot].sender = Time::MAX;
        let now = self.network.now();
        if self.senders[slot].next_wake() <= now && self.senders[slot].on_wake(now) {
            self.on_timeout(host, slot);
        }
        self.go_on(host, slot);
    }

    pub(super) fn wake_receiver(&mut self, host: HostId, slot: usize) {
        self.armed[slot].receiver = Time::MAX;
        let network = &mut self.network;
        self.receivers[slot].on_wake(network.now(), |ack| network.inject(host, ack));
        let due = self.receivers[slot].next_wake();
        let timers = &mut self.hosts[host as usize].timers;
        timers.arm(Timer::Receiver(slot as u32), due, &mut self.armed[slot].receiver);
    }

    pub(super) fn wake_port(&mut self, port: PortId) {
        let mut sink = self.series.at(SeriesSource::Port(port), self.watched_port[port as usize]);
        self.network.wake_policy(port, &mut sink);
        self.arm_port(port);
    }

    pub(super) fn arm_source(&mut self) {
        if let Some(start) = self.feed.peek() {
            self.network.wake(self.special(SOURCE), start);
        }
    }

    pub(super) fn arm_host(&mut self, host: HostId) {
        if !self.network.has_host(host) {
            return;
        }
        let this = &mut self.hosts[host as usize];
        let timer = this.timers.next(|timer| armed_for(&self.armed, timer));
        if let Some(at) = [timer, this.policy.next_wake()].into_iter().flatten().min() {
            self.network.wake(Entity::from(host), at);
        }
    }

    pub(super) fn arm_port(&mut self, port: PortId) {
        if !self.network.has_port(port) {
            return;
        }
        if let Some(at) = self.network.policy_wake(port) {
            // A policy that came later than the world begins at zero all the same.
            let at = at.max(self.network.now());
            self.network.wake((self.hosts.len() + SPECIAL) as Entity + port, at);
        }
    }
}
