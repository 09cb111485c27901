//! The border of a logical process: ports whose links lead to other processes, and the messages to these.
//!
//! A port that leads out sleeps: no other code of the process finds it idle, and packets leave it only here. Each packet that leaves becomes a
//! message at once, to the process in which it arrives, which may be this one, too. There the port stands for the link: it
//! holds the packets on it, and is woken when the first of them arrives.
//!
//! Whenever the process is about to advance its clock, ports catch up where a packet waits whose turn may have come. All messages are
//! sent before the others see the new clock, and so before they simulate the time at which the packets arrive: a look-ahead after the clock
//! that they have seen before. Packets to the process itself do not wait for that: their ports are looked at before they arrive.

use std::sync::Arc;

use crate::switch::{Departure, Holders, Switching};
use tailrace_core::{Bytes, Header, HostId, Packet, PortPolicy, QueueUnit, SeriesSink, Time};
use tailrace_fabric::{PortId, SwitchId};

use super::{Lost, Network, note_loss};
use crate::message::{GlobalEvent, Message};
use crate::partition::Partition;
use crate::port::Port;

/// The reason why something cannot be.
const WHOLE: &str = "no port leads out of a whole network";

/// The border of a logical process.
pub(crate) struct Border<H> {
    partition: Arc<Partition>,
    own: usize,
    /// By port.
    exits: Vec<Exit>,
    /// Ports that lead out and where packets wait, or have waited, and when each has sent the present packet: none leaves before.
    waiting: Vec<(Time, PortId)>,
    /// Messages to each process that are not sent yet; to this one, those that are not taken in yet.
    out: Vec<Vec<Message<H>>>,
}

/// The state of a port that leads out.
#[derive(Clone, Copy)]
struct Exit {
    /// When the packet that it sends has left.
    free_at: Time,
    to: To,
    /// Whether it is among those where packets wait.
    waits: bool,
}

/// The process, or processes, that a link leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// This one: the port does not lead out.
    Here,
    /// Another one.
    Process(u8),
    /// Several: that of the port by which the packet leaves this switch.
    Beyond(SwitchId),
}

impl To {
    /// The process in which a packet arrives.
    #[inline(always)]
    fn process<H: Header>(
        self,
        own: usize,
        partition: &Partition,
        switching: &Switching,
        packet: &Packet<H>,
    ) -> usize {
        match self {
            To::Here => own,
            To::Process(process) => usize::from(process),
            To::Beyond(switch) => partition.of_port(switching.leads(switch, packet.dst.into())),
        }
    }
}

impl<H: Header> Border<H> {
    #[inline]
    fn leads_out(&self, port: PortId) -> bool {
        self.exits[port as usize].to != To::Here
    }

    /// When a port is looked at where packets wait that may arrive in this process itself, in picoseconds: when the first of them may have
    /// left, and has not arrived. It takes some picoseconds, and its link's delay.
    #[inline]
    fn first_look(&self, (until, number): (Time, PortId), delay: Time) -> Option<u64> {
        let splits = matches!(self.exits[number as usize].to, To::Beyond(_));
        splits.then(|| (until + delay).as_ps() + 1)
    }

    /// When the packet that a port sends has left, and the function that makes a message of each departure.
    #[inline]
    fn post<'a>(
        &'a mut self,
        port: PortId,
        delay: Time,
        switching: &'a Switching,
    ) -> (Time, impl FnMut(Departure<'_, H>)) {
        let Border { exits, out, partition, own, .. } = self;
        let Exit { free_at, to, .. } = exits[port as usize];
        let post = move |departure: Departure<'_, H>| {
            let process = to.process(*own, partition, switching, departure.packet);
            let at = departure.end + delay;
            out[process].push(Message::Packet { at, port, packet: *departure.packet });
        };
        (free_at, post)
    }

    /// Lets departures of a port that leads out happen that are due by `now`.
    fn catch_up<P: PortPolicy<H>>(
        &mut self,
        number: PortId,
        port: &mut Port<P, H>,
        now: Time,
        switching: &Switching,
    ) {
        let (free_at, mut post) = self.post(number, port.delay(), switching);
        port.egress.awake(free_at);
        port.egress.catch_up(now, &mut post);
        drop(post);
        self.exits[number as usize].free_at = port.egress.sleep();
    }
}

/// The ports of a network, for those that ask how many bytes they hold.
pub(super) struct Holding<'a, P, H> {
    pub(super) ports: &'a mut Vec<Port<P, H>>,
    pub(super) switching: &'a Switching,
    pub(super) border: &'a mut Option<Border<H>>,
}

impl<P: PortPolicy<H>, H: Header> Holders for Holding<'_, P, H> {
    #[inline]
    fn catch_up(&mut self, number: PortId, now: Time) {
        let port = &mut self.ports[number as usize];
        match self.border {
            Some(border) if border.leads_out(number) => border.catch_up(number, port, now, self.switching),
            _ => port.catch_up(now),
        }
    }

    #[inline]
    fn held(&self, port: PortId, unit: QueueUnit) -> Bytes {
        unit.held(self.ports[port as usize].egress.policy())
    }
}

impl<P: PortPolicy<H>, H: Header> Network<P, H> {
    /// Confines this network to one logical process.
    pub(crate) fn confine(&mut self, partition: Arc<Partition>, own: usize) {
        let exit = |(port, number): (&mut Port<P, H>, PortId)| {
            let mut leads = partition.leads_to(number);
            let to = match (leads.next(), leads.next()) {
                _ if partition.of_port(number) != own => To::Here,
                (Some(process), None) if process != own => To::Process(process as u8),
                (_, None) => To::Here,
                _ => To::Beyond((port.to & !Port::<P, H>::SWITCH) as SwitchId),
            };
            let free_at = if to == To::Here { Time::ZERO } else { port.egress.sleep() };
            Exit { free_at, to, waits: false }
        };
        let exits = self.ports.iter_mut().zip(0..).map(exit).collect();
        self.agenda.thin_out(partition.processes());
        self.agenda.break_ties_by(partition.order_of(own));
        let out = (0..partition.processes()).map(|_| Vec::new()).collect();
        self.border = Some(Border { exits, waiting: Vec::new(), out, partition, own });
    }

    /// Whether a port's link leads to other processes.
    #[inline]
    pub(super) fn leads_out(&self, port: PortId) -> bool {
        self.border.as_ref().is_some_and(|border| border.leads_out(port))
    }

    /// A packet comes to a port that leads out. Most find it idle.
    #[inline(never)]
    pub(super) fn forward_out(&mut self, number: PortId, packet: &mut Packet<H>, room: Bytes) {
        let Network { now, ports, switching, border: Some(border), .. } = self else {
            unreachable!("{WHOLE}")
        };
        let port = &mut ports[number as usize];
        let exit = &mut border.exits[number as usize];
        if exit.waits || exit.free_at > *now {
            return self.take_in_out(number, packet, room);
        }
        let Some(end) = port.egress.send_asleep(*now, packet, room) else {
            return self.take_in_out(number, packet, room);
        };
        exit.free_at = end;
        let process = exit.to.process(border.own, &border.partition, switching, packet);
        border.out[process].push(Message::Packet { at: end + port.delay(), port: number, packet: *packet });
        if process == border.own {
            self.import_own();
        }
    }

    /// A packet comes to a port that leads out, and waits there, or the port's policy is asked of it.
    #[inline(never)]
    fn take_in_out(&mut self, number: PortId, packet: &mut Packet<H>, room: Bytes) {
        let Network { now, ports, switching, border, ledger, outside, .. } = self;
        let (port, Some(border)) = (&mut ports[number as usize], border) else { unreachable!("{WHOLE}") };
        let (free_at, mut post) = border.post(number, port.delay(), switching);
        port.egress.awake(free_at);
        if !port.egress.send_through(*now, packet, room, &mut post) {
            let mut lose = |packet, reason| note_loss(ledger, outside, Lost { at: *now, reason, packet });
            port.egress.take_in(*now, packet, room, &mut lose, &mut post);
        }
        drop(post);
        self.close(number);
    }

    /// Wakes the policy of a port that leads out.
    pub(super) fn wake_policy_out(&mut self, number: PortId, series: &mut dyn SeriesSink) {
        let Network { now, ports, switching, border: Some(border), .. } = self else {
            unreachable!("{WHOLE}")
        };
        let port = &mut ports[number as usize];
        let (free_at, mut post) = border.post(number, port.delay(), switching);
        port.egress.awake(free_at);
        port.egress.wake_policy(*now, series, &mut post);
        drop(post);
        self.close(number);
    }

    /// A port that leads out goes to sleep again.
    #[inline]
    fn close(&mut self, number: PortId) {
        let Network { ports, border: Some(border), agenda, first_own, .. } = self else { return };
        let (port, exit) = (&mut ports[number as usize], &mut border.exits[number as usize]);
        exit.free_at = port.egress.sleep();
        if port.egress.is_backlogged() && !std::mem::replace(&mut exit.waits, true) {
            let waits = (exit.free_at, number);
            border.waiting.push(waits);
            if let Some(at) = border.first_look(waits, port.delay()) {
                agenda.wake(*first_own + 1, at);
            }
        }
        if !border.out[border.own].is_empty() {
            self.import_own();
        }
    }

    /// Takes in the messages of this process to itself.
    #[inline(never)]
    fn import_own(&mut self) {
        let Network { now, ports, agenda, border: Some(border), .. } = self else { return };
        for message in border.out[border.own].drain(..) {
            let Message::Packet { at, port, packet } = message else { continue };
            assert!(at >= *now, "a packet that arrives at {at} has left unseen until {now}");
            if ports[port as usize].put_flight(at, &packet) {
                agenda.wake(port, at.as_ps());
            }
        }
    }

    /// Lets packets that wait at ports that lead out leave before `end`, as far as their turn comes.
    fn catch_up_exits(&mut self, end: Time) {
        let Network { ports, switching, border: Some(border), .. } = self else { return };
        let mut place = 0;
        while let Some(&(until, number)) = border.waiting.get(place) {
            if until >= end {
                place += 1;
                continue;
            }
            // Events at `end` itself are yet to come.
            let port = &mut ports[number as usize];
            border.catch_up(number, port, end.saturating_sub(Time::from_ps(1)), switching);
            let exit = &mut border.exits[number as usize];
            if port.egress.is_backlogged() {
                border.waiting[place].0 = exit.free_at;
                place += 1;
            } else {
                exit.waits = false;
                border.waiting.swap_remove(place);
            }
        }
        if !border.out[border.own].is_empty() {
            self.import_own();
        }
    }

    /// Looks at ports where packets wait that may arrive in this process itself: none that has left since has arrived yet.
    pub(super) fn wake_border(&mut self) {
        self.catch_up_exits(self.now);
        let Network { ports, border: Some(border), agenda, first_own, .. } = self else { return };
        let look = |&waits: &(Time, PortId)| border.first_look(waits, ports[waits.1 as usize].delay());
        if let Some(at) = border.waiting.iter().filter_map(look).min() {
            agenda.wake(*first_own + 1, at);
        }
    }

    /// Ends the border, at the end of the run: a port that leads out is one as any other, and packets that leave it are on its link.
    pub(super) fn open_border(&mut self) {
        let Some(border) = &self.border else { return };
        let exits = self.ports.iter_mut().zip(&border.exits).filter(|(_, exit)| exit.to != To::Here);
        exits.for_each(|(port, exit)| port.egress.awake(exit.free_at));
    }

    /// Whether a host is of this process.
    #[inline]
    pub(crate) fn has_host(&self, host: HostId) -> bool {
        self.border.as_ref().is_none_or(|border| border.partition.of_host(host) == border.own)
    }

    /// Whether a port is of this process.
    pub(crate) fn has_port(&self, port: PortId) -> bool {
        self.border.as_ref().is_none_or(|border| border.partition.of_port(port) == border.own)
    }

    /// Whether this is one of several logical processes.
    pub(crate) fn is_logical_process(&self) -> bool {
        self.border.is_some()
    }

    /// Whether events that happen in every process are counted here: one process counts them.
    pub(crate) fn counts_global_events(&self) -> bool {
        self.border.as_ref().is_none_or(|border| border.own == 0)
    }

    /// When the next event is; now, if messages are to be sent, or ports that lead out may have some without an event.
    pub(crate) fn next_event_or_message(&self) -> Option<Time> {
        let busy =
            |border: &Border<H>| !border.waiting.is_empty() || border.out.iter().any(|out| !out.is_empty());
        if self.border.as_ref().is_some_and(busy) { Some(self.now) } else { self.next_event() }
    }

    /// Messages to the other processes, by process: the global events `unsent`, and packets that have left before `end`. All events before it
    /// must have happened.
    pub(crate) fn messages(&mut self, end: Time, unsent: &mut Vec<GlobalEvent>) -> &mut [Vec<Message<H>>] {
        self.catch_up_exits(end);
        let Some(border) = &mut self.border else { return &mut [] };
        for event in unsent.drain(..) {
            let others = border.out.iter_mut().enumerate().filter(|(process, _)| *process != border.own);
            others.for_each(|(_, out)| out.push(Message::GlobalEvent(event)));
        }
        &mut border.out
    }

    /// A packet comes over the link of a port of another process.
    pub(crate) fn import(&mut self, at: Time, port: PortId, packet: &Packet<H>) {
        if self.ports[port as usize].put_flight(at, packet) {
            self.agenda.wake(port, at.as_ps());
        }
    }
}
