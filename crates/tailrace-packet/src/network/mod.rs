//! The network: ports, links and switches. It moves packets; what hosts do is the edge's business.

mod border;
mod shown;
mod watched;

use std::hint::black_box;

use crate::switch::{Holders, Switching};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Count, Header, HostId, Ledger, LinkRate, Packet, PortFacts, PortPolicy, Reason, SeriesSink, Time,
};
use tailrace_engine::{Agenda, Digest, Due, Entity};
use tailrace_fabric::{Buffer, Fabric, Node, PortId, PortSpec, SwitchId};

use self::border::{Border, Holding};
use crate::failing::Failing;
use crate::port::Port;
use crate::tap::Tapped;

/// What happened next.
pub enum Step<H> {
    /// A packet reached its host.
    Arrival(HostId, Packet<H>),
    /// An entity of the edge was woken; its number counts from 0.
    Wake(Entity),
}

/// What a driver of hosts that stand outside has to carry on.
pub struct Outside<H> {
    /// Packets that the world's transport gives its hosts to send, in order. They are in the network when they
    /// [enter](Network::enter) it.
    pub sent: Vec<(HostId, Packet<H>)>,
    /// Packets that the network has dropped, in order.
    pub lost: Vec<Lost<H>>,
}

/// A packet that the network has dropped.
#[derive(Clone, Copy, Debug)]
pub struct Lost<H> {
    /// When.
    pub at: Time,
    /// Why.
    pub reason: Reason,
    /// The packet.
    pub packet: Packet<H>,
}

/// A running network.
pub struct Network<P, H> {
    pub(crate) now: Time,
    pub(crate) agenda: Agenda,
    digest: Digest,
    /// How many wake-ups the agenda has given out that are no events, or are counted by another logical process.
    uncounted: u64,
    /// The network's own entities begin here: for links that fail, and for ports that lead out.
    first_own: Entity,
    pub(crate) ports: Vec<Port<P, H>>,
    /// The port at the far end of each port's link that sends back over it; empty unless ports want to know.
    reverse: Vec<PortId>,
    switching: Switching,
    tapped: Vec<Tapped>,
    failing: Option<Failing>,
    /// Where hosts stand outside.
    outside: Option<Box<Outside<H>>>,
    /// The border of this logical process, if it is not the whole network.
    pub(crate) border: Option<Border<H>>,
    injected: Count,
    delivered: Count,
    ledger: Ledger,
}

impl<P: PortPolicy<H>, H: Header> Network<P, H> {
    /// A network whose edge has `edge_entities` entities of its own and sends packets and acknowledgements as
    /// long as `transport` has them.
    pub fn new(
        fabric: &Fabric,
        transport: &TransportParams,
        seed: u64,
        edge_entities: usize,
        mut policy: impl FnMut(&PortFacts) -> P,
    ) -> Self {
        let port = |(spec, facts): (&PortSpec, PortFacts)| {
            let to = match spec.to {
                Node::Host(host) => host,
                Node::Switch(switch) => u32::from(switch) | Port::<P, H>::SWITCH,
            };
            Port::new(policy(&facts), LinkRate::new(spec.rate), spec.delay, to)
        };
        let mut ports: Vec<_> = fabric.ports.iter().zip(port_facts(fabric)).map(port).collect();
        // Last, so that they move no other entities.
        let first_own = (ports.len() + edge_entities) as Entity;
        let failing = Failing::new(fabric, first_own, |port| ports[port as usize].to);
        failing
            .iter()
            .flat_map(Failing::ports)
            .for_each(|port| ports[port as usize].to = Port::<P, H>::WATCHED);
        let farthest = fabric.ports.iter().map(|p| p.delay + p.rate.time_for(Bytes::new(1500))).max();
        let entities = ports.len() + edge_entities + 2;
        let mut network = Network {
            now: Time::ZERO,
            agenda: Agenda::new(entities, farthest.unwrap_or_default().as_ps()),
            digest: Digest::default(),
            uncounted: 0,
            first_own,
            ports,
            reverse: if P::REVERSE { fabric.twins.clone() } else { Vec::new() },
            switching: Switching::new(fabric, transport, seed),
            tapped: Vec::new(),
            failing,
            outside: None,
            border: None,
            injected: Count::default(),
            delivered: Count::default(),
            ledger: Ledger::default(),
        };
        network.arm_reroute();
        network
    }

    /// The time of the last event.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Wakes the edge's `entity` at `at` or earlier.
    #[inline]
    pub fn wake(&mut self, entity: Entity, at: Time) {
        self.agenda.wake(self.ports.len() as Entity + entity, at.as_ps());
    }

    /// Puts the hosts outside: from now on a driver carries packets between them and their network cards.
    pub fn open(&mut self) {
        self.outside = Some(Box::new(Outside { sent: Vec::new(), lost: Vec::new() }));
    }

    /// What has to be carried on, if hosts stand outside.
    pub fn outside(&mut self) -> Option<&mut Outside<H>> {
        self.outside.as_deref_mut()
    }

    /// The last event happens in other logical processes as well, and is counted in one of them.
    pub(crate) fn uncount(&mut self, entity: Entity) {
        self.digest.remove(self.now.as_ps(), self.ports.len() as Entity + entity);
        self.uncounted += 1;
    }

    /// When the next event is.
    pub fn next_event(&self) -> Option<Time> {
        self.agenda.peek().map(Time::from_ps)
    }

    /// Hands a packet to `host` to be sent: to its network card, unless hosts stand outside.
    #[inline]
    pub fn inject(&mut self, host: HostId, mut packet: Packet<H>) {
        match &mut self.outside {
            None => self.enter(host, &mut packet),
            Some(outside) => outside.sent.push((host, packet)),
        }
    }

    /// A packet reaches the network card of `host`.
    #[inline]
    pub fn enter(&mut self, host: HostId, packet: &mut Packet<H>) {
        packet.src = Packet::address(host);
        self.injected.count(packet.bytes);
        self.forward(PortId::from(host), packet);
    }

    /// A packet comes to the switch that its destination hangs on from outside, through no network card.
    #[inline]
    pub fn enter_switch(&mut self, mut packet: Packet<H>) {
        self.injected.count(packet.bytes);
        self.forward(self.switching.port_to(packet.dst.into()), &mut packet);
    }

    /// Gives every port another policy, and the rate and the memory that `fabric` has; its structure and delays must be the
    /// same. What waits at ports stays.
    pub fn refit(&mut self, fabric: &Fabric, mut policy: impl FnMut(&PortFacts) -> P) {
        self.switching.refit(fabric);
        let (ledger, outside, at) = (&mut self.ledger, &mut self.outside, self.now);
        for ((port, facts), number) in self.ports.iter_mut().zip(port_facts(fabric)).zip(0..) {
            let mut drop = |packet, reason| note_loss(ledger, outside, Lost { at, reason, packet });
            let next = port.refit(at, policy(&facts), LinkRate::new(facts.rate), &mut drop);
            if let Some(next) = next {
                self.agenda.wake(number, next.as_ps());
            }
        }
    }

    /// Nothing from `end` on happens, until a later end is set.
    pub(crate) fn run_until(&mut self, end: Time) {
        self.agenda.run_until(end.as_ps());
    }

    /// Runs until something concerns the edge; `None` when nothing is pending before the end.
    #[inline(always)]
    pub fn next(&mut self) -> Option<Step<H>> {
        loop {
            let ports = &self.ports;
            let (at, entity) = self.agenda.next_and(|coming| fetch(ports, coming))?;
            self.now = Time::from_ps(at);
            let Some(port) = self.ports.get_mut(entity as usize) else {
                self.agenda.wake_again(entity, None);
                if entity >= self.first_own {
                    self.wake_own(entity);
                    continue;
                }
                self.digest.add(at, entity);
                return Some(Step::Wake(entity - self.ports.len() as Entity));
            };
            if !port.has_arrival(self.now) {
                // That a port was looked at is no event: how often depends on who looks.
                self.uncounted += 1;
                self.agenda.wake_again(entity, port.look(self.now).map(Time::as_ps));
                continue;
            }
            let (mut packet, next) = port.arrive(self.now);
            let mut to = port.to;
            self.digest.add(at, entity);
            self.agenda.wake_again(entity, next.map(Time::as_ps));
            if P::REVERSE && packet.is_ack() && to != Port::<P, H>::WATCHED {
                self.reverse(entity, &mut packet);
            }
            if to & Port::<P, H>::SWITCH == 0 {
                if to == Port::<P, H>::WATCHED {
                    let Some(known) = self.pass_watched(entity, &mut packet) else { continue };
                    to = known;
                }
                if to & Port::<P, H>::SWITCH == 0 {
                    self.delivered.count(packet.bytes);
                    return Some(Step::Arrival(to as HostId, packet));
                }
            }
            let switch = (to & !Port::<P, H>::SWITCH) as SwitchId;
            match self.switching.route(self.now, switch, &packet) {
                Some(out) => self.forward(out, &mut packet),
                None => self.lose(packet),
            }
        }
    }

    /// An entity of the network's own is woken, which is no event.
    #[cold]
    fn wake_own(&mut self, entity: Entity) {
        self.uncounted += 1;
        if entity == self.first_own { self.reroute() } else { self.wake_border() }
    }

    /// Tells the port that sends back over the link of `port` what has come.
    #[inline]
    fn reverse(&mut self, port: PortId, packet: &mut Packet<H>) {
        let back = self.reverse[port as usize];
        self.settle(back);
        self.ports[back as usize].egress.policy_mut().on_reverse(self.now, packet);
    }

    /// A packet comes to a port. Most find an idle link: that is within the loop over events, all else is not.
    #[inline(always)]
    fn forward(&mut self, port: PortId, packet: &mut Packet<H>) {
        let room = self.switching.own_room().unwrap_or_else(|| self.shared_room(port));
        let out = &mut self.ports[port as usize];
        if !out.send_through(self.now, packet, room) {
            return if self.leads_out(port) {
                self.forward_out(port, packet, room);
            } else {
                self.take_in(port, packet, room);
            };
        }
        if let Some(at) = out.alone() {
            self.agenda.wake(port, at.as_ps());
        }
    }

    /// What a port may hold of what its switch has for all.
    #[inline(never)]
    fn shared_room(&mut self, port: PortId) -> Bytes {
        let Network { now, ports, switching, border, .. } = self;
        switching.shared_room(*now, port, Holding { ports, switching, border })
    }

    /// A packet that was not sent through waits, or the port's policy is asked of it.
    #[inline(never)]
    fn take_in(&mut self, port: PortId, packet: &mut Packet<H>, room: Bytes) {
        let (ledger, outside, at) = (&mut self.ledger, &mut self.outside, self.now);
        let mut drop = |packet, reason| note_loss(ledger, outside, Lost { at, reason, packet });
        if let Some(at) = self.ports[port as usize].take_in(self.now, packet, room, &mut drop) {
            self.agenda.wake(port, at.as_ps());
        }
    }

    /// A packet is lost with its link, or at a switch that has no way for it.
    #[cold]
    fn lose(&mut self, packet: Packet<H>) {
        let lost = Lost { at: self.now, reason: Reason::Failure, packet };
        note_loss(&mut self.ledger, &mut self.outside, lost);
    }

    /// When a port's policy wants to be woken.
    pub fn policy_wake(&self, port: PortId) -> Option<Time> {
        self.ports[port as usize].egress.policy().next_wake()
    }

    /// Wakes a port's policy.
    pub fn wake_policy(&mut self, port: PortId, series: &mut dyn SeriesSink) {
        if self.leads_out(port) {
            return self.wake_policy_out(port, series);
        }
        let next = self.ports[port as usize].wake_policy(self.now, series);
        if let Some(at) = next {
            self.agenda.wake(port, at.as_ps());
        }
    }

    /// Lets departures of a port that are due happen.
    #[inline]
    fn settle(&mut self, port: PortId) {
        let Network { now, ports, switching, border, .. } = self;
        Holding { ports, switching, border }.catch_up(port, *now);
    }

    /// Lets all that is due at ports happen, at the end, whether or not somebody would have looked.
    pub(crate) fn catch_up(&mut self) {
        self.open_border();
        self.ports.iter_mut().for_each(|port| port.catch_up(self.now));
    }
}

/// Loads what the next events will ask for, of all of them together.
#[inline(always)]
fn fetch<P: PortPolicy<H>, H: Header>(ports: &[Port<P, H>], coming: &[Due]) {
    let ports = coming.iter().filter_map(|due| ports.get(due.entity as usize));
    black_box(ports.map(Port::fetch).fold(0, |all, one| all ^ one));
}

/// Counts a packet that is lost, and keeps it for whoever stands outside.
#[inline(always)]
fn note_loss<H: Header>(ledger: &mut Ledger, outside: &mut Option<Box<Outside<H>>>, lost: Lost<H>) {
    ledger.drop(lost.packet.bytes, lost.reason);
    if let Some(outside) = outside {
        outside.lost.push(lost);
    }
}

/// What the policy of each port is told of it.
fn port_facts(fabric: &Fabric) -> impl Iterator<Item = PortFacts> {
    let (Buffer::PerPort(room) | Buffer::Shared { total: room, .. }) = fabric.buffer;
    let rules = fabric.port_rules;
    fabric.ports.iter().zip(0..).map(move |(spec, number)| PortFacts {
        unit: rules.queue_unit,
        marking: rules.marking(spec.place()),
        ..PortFacts::new(number, spec.place(), spec.rate, room)
    })
}
