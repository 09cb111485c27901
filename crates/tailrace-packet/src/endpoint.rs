//! One host's transport, for flows that nobody has planned: it opens them as somebody asks, and hears of others' as their
//! packets come. [`World`](crate::World) has both ends of each flow in one slot, and an agenda to which both belong; here
//! is one end only, and time and packets come from outside.

use std::collections::BTreeMap;

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Cap, Directive, FlowId, FlowInfo, HostId, HostPolicy, Packet, PacketKind, Refresh, Scheme, Series,
    SeriesSource, Standing, Time,
};
use tailrace_transport::{Receiver, Sender};

use crate::caps::Caps;
use crate::timers::{Timer, Timers};

/// A flow that this host sends.
struct Outgoing<S: Scheme> {
    sender: Sender<S::Law, S::Header>,
    size: Bytes,
    /// When its timer is armed for.
    armed: Time,
    /// Whether it waits for its turn under a cap.
    waits: bool,
}

/// A flow that this host receives.
struct Incoming<H> {
    receiver: Receiver<H>,
    armed: Time,
}

/// The transport of one host under scheme `S`.
pub struct Endpoint<S: Scheme> {
    scheme: S,
    host: HostId,
    transport: TransportParams,
    cell: Option<u32>,
    policy: S::Host,
    timers: Timers,
    caps: Caps,
    outgoing: BTreeMap<FlowId, Outgoing<S>>,
    incoming: BTreeMap<FlowId, Incoming<S::Header>>,
    sent: Vec<Packet<S::Header>>,
    ended: Vec<FlowId>,
    /// The time up to which all that was due has happened.
    reached: Time,
}

impl<S: Scheme> Endpoint<S> {
    /// The transport of `host`. Flows whose `cell`s of so many segments may take several paths are put back in order.
    pub fn new(scheme: S, host: HostId, transport: TransportParams, cell: Option<u32>) -> Self {
        Endpoint {
            policy: scheme.host(),
            scheme,
            host,
            transport,
            cell,
            timers: Timers::default(),
            caps: Caps::default(),
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            sent: Vec::new(),
            ended: Vec::new(),
            reached: Time::ZERO,
        }
    }

    /// Opens a flow of `size` > 0 payload bytes from this host. `info.size` is what the scheme may know; what it declares
    /// unknown it is not told. Returns the directive that the flow obeys, of which its receiver must know `acks`.
    ///
    /// # Panics
    ///
    /// If a flow of this number is open.
    pub fn open(&mut self, now: Time, info: FlowInfo, size: Bytes) -> Directive {
        let info = S::KNOWS.filter(FlowInfo { src: self.host, start: now, ..info });
        let directive = self.policy.directive(&info);
        let (law, ecn) = (self.scheme.law(&info), self.scheme.ecn());
        let sender = Sender::new(law, info, size, ecn, directive, &self.transport);
        let outgoing = Outgoing { sender, size, armed: Time::MAX, waits: false };
        assert!(self.outgoing.insert(info.id, outgoing).is_none(), "flow {} is open", info.id);
        self.go_on(now, info.id);
        directive
    }

    /// Whether this host sends such a flow.
    pub fn is_open(&self, flow: FlowId) -> bool {
        self.outgoing.contains_key(&flow)
    }

    /// Gives up a flow of this host.
    pub fn give_up(&mut self, now: Time, flow: FlowId) {
        if let Some(mut outgoing) = self.outgoing.remove(&flow) {
            self.sent.extend(outgoing.sender.farewell(now));
            self.policy.on_flow_end(now, outgoing.sender.info(), outgoing.size);
        }
    }

    /// Receives a flow of `peer` from now on, as if nothing of it had come before. It is acknowledged in priority `acks`.
    pub fn accept(&mut self, flow: FlowId, peer: HostId, acks: u8) {
        let receiver = Receiver::new(peer, acks, &self.transport).reordering(self.cell);
        self.incoming.insert(flow, Incoming { receiver, armed: Time::MAX });
    }

    /// Receives a flow no more.
    pub fn forget(&mut self, flow: FlowId) {
        self.incoming.remove(&flow);
    }

    /// Whether all of a flow has arrived that this host receives.
    pub fn is_complete(&self, flow: FlowId) -> bool {
        self.incoming.get(&flow).is_some_and(|incoming| incoming.receiver.is_complete())
    }

    /// A packet for this host has come from `peer`. Data of flows that it does not receive are ignored.
    pub fn arrive(&mut self, now: Time, peer: HostId, packet: &Packet<S::Header>) {
        if packet.is_ack() { self.on_ack(now, packet) } else { self.on_data(now, peer, packet) }
    }

    fn on_ack(&mut self, now: Time, packet: &Packet<S::Header>) {
        if let Some(outgoing) = self.outgoing.get_mut(&packet.flow) {
            outgoing.sender.on_ack(now, packet);
            self.go_on(now, packet.flow);
        }
    }

    fn on_data(&mut self, now: Time, peer: HostId, packet: &Packet<S::Header>) {
        let sent = &mut self.sent;
        match self.incoming.get_mut(&packet.flow) {
            Some(incoming) => {
                incoming.receiver.on_data(now, packet, |ack| sent.push(ack));
                self.arm_receiver(packet.flow);
            }
            // The first packet of a flow may be a question to the network, and so may one after its end.
            None if packet.kind() == PacketKind::Probe => {
                Receiver::new(peer, 0, &self.transport).on_data(now, packet, |ack| sent.push(ack));
            }
            None => {}
        }
    }

    /// Lets a flow go on, as its law sees its prospects.
    fn go_on(&mut self, now: Time, flow: FlowId) {
        let Some(outgoing) = self.outgoing.get_mut(&flow) else { return };
        if outgoing.sender.is_done() || outgoing.sender.standing() == Standing::Stopped {
            self.give_up(now, flow);
            self.ended.push(flow);
            return;
        }
        if outgoing.sender.standing() == Standing::Demoted {
            let info = FlowInfo { deadline: None, ..*outgoing.sender.info() };
            outgoing.sender.demote(info);
            outgoing.sender.direct(&self.policy.directive(&info));
        }
        self.pump(now, flow);
    }

    /// Sends what a flow may send, and sees to its timer.
    fn pump(&mut self, now: Time, flow: FlowId) {
        let cap = self.cap(flow);
        let Some(outgoing) = self.outgoing.get_mut(&flow) else { return };
        match cap {
            None => self.sent.extend(std::iter::from_fn(|| outgoing.sender.poll_send(now))),
            Some(cap) => {
                if !std::mem::replace(&mut outgoing.waits, true) {
                    self.caps.ask(cap, flow);
                }
                self.take_turns(now);
            }
        }
        self.arm_sender(flow);
    }

    /// The cap of a flow, if the host's policy may give any.
    fn cap(&self, flow: FlowId) -> Option<Cap> {
        if !S::Host::CAPS {
            return None;
        }
        self.outgoing.get(&flow)?.sender.directive().cap
    }

    /// Lets those send whose turn it is.
    fn take_turns(&mut self, now: Time) {
        while let Some((group, flow)) = self.caps.turn(now) {
            let is_of_group = self.cap(flow).is_some_and(|cap| cap.group == group);
            let outgoing = self.outgoing.get_mut(&flow);
            let packet = outgoing.filter(|_| is_of_group).and_then(|outgoing| outgoing.sender.poll_send(now));
            match &packet {
                Some(packet) => self.caps.sent(group, now, packet.bytes),
                None => self.caps.passed(group),
            }
            let Some(outgoing) = self.outgoing.get_mut(&flow) else { continue };
            outgoing.waits = packet.is_some();
            match packet {
                Some(packet) => self.sent.push(packet),
                None if !is_of_group => self.pump(now, flow),
                None => {}
            }
            self.arm_sender(flow);
        }
    }

    /// While a flow waits for its turn, only the timer of its retransmission counts.
    fn arm_sender(&mut self, flow: FlowId) {
        let Some(Outgoing { sender, armed, waits, .. }) = self.outgoing.get_mut(&flow) else { return };
        let due = if *waits { sender.retransmit_at() } else { sender.next_wake() };
        self.timers.arm(Timer::Sender(flow), due, armed);
    }

    fn arm_receiver(&mut self, flow: FlowId) {
        let Some(Incoming { receiver, armed }) = self.incoming.get_mut(&flow) else { return };
        self.timers.arm(Timer::Receiver(flow), receiver.next_wake(), armed);
    }

    /// When [`Self::wake`] is due; [`Time::MAX`] for never.
    pub fn next_wake(&mut self) -> Time {
        let (outgoing, incoming) = (&self.outgoing, &self.incoming);
        let timer = self.timers.next(|timer| armed_for(outgoing, incoming, timer)).unwrap_or(Time::MAX);
        let turn = if S::Host::CAPS { self.caps.next_turn() } else { Time::MAX };
        timer.min(turn).min(self.policy.next_wake().unwrap_or(Time::MAX))
    }

    /// Lets what is due happen, in order and at its own times, as late as it may be: a packet that leaves late delays none
    /// that follows.
    pub fn wake(&mut self, now: Time) {
        loop {
            let due = self.next_wake();
            if due > now {
                break;
            }
            self.reached = self.reached.max(due);
            self.wake_at(self.reached);
        }
        self.reached = self.reached.max(now);
    }

    fn wake_at(&mut self, now: Time) {
        loop {
            let (outgoing, incoming) = (&self.outgoing, &self.incoming);
            match self.timers.pop_due(now, |timer| armed_for(outgoing, incoming, timer)) {
                Some(Timer::Sender(flow)) => self.wake_sender(now, flow),
                Some(Timer::Receiver(flow)) => self.wake_receiver(now, flow),
                None => break,
            }
        }
        if self.policy.next_wake().is_some_and(|at| at <= now) {
            let mut unwatched = Series::default();
            if self.policy.on_wake(now, &mut unwatched.at(SeriesSource::Host(self.host), false))
                == Refresh::All
            {
                self.redirect();
            }
        }
        if S::Host::CAPS {
            self.take_turns(now);
        }
    }

    fn wake_sender(&mut self, now: Time, flow: FlowId) {
        let Some(Outgoing { sender, armed, .. }) = self.outgoing.get_mut(&flow) else { return };
        *armed = Time::MAX;
        if sender.next_wake() <= now && sender.on_wake(now) {
            let (view, timeouts) = (sender.view(), sender.consecutive_timeouts());
            let directive = self.policy.on_timeout(sender.info(), &view, timeouts, sender.directive());
            directive.iter().for_each(|directive| sender.direct(directive));
        }
        self.go_on(now, flow);
    }

    fn wake_receiver(&mut self, now: Time, flow: FlowId) {
        let Some(Incoming { receiver, armed }) = self.incoming.get_mut(&flow) else { return };
        *armed = Time::MAX;
        let sent = &mut self.sent;
        receiver.on_wake(now, |ack| sent.push(ack));
        self.arm_receiver(flow);
    }

    /// Gives all flows the directives that the policy now has for them.
    fn redirect(&mut self) {
        for outgoing in self.outgoing.values_mut() {
            let directive = self.policy.directive(outgoing.sender.info());
            outgoing.sender.direct(&directive);
            if let Some(cap) = directive.cap.filter(|_| S::Host::CAPS) {
                self.caps.set(cap);
            }
        }
    }

    /// Packets that are to leave, in order. Whoever takes them must take all.
    pub fn sent(&mut self) -> &mut Vec<Packet<S::Header>> {
        &mut self.sent
    }

    /// Flows of this host that have ended: all of them is acknowledged, or their law has given them up.
    pub fn ended(&mut self) -> &mut Vec<FlowId> {
        &mut self.ended
    }
}

fn armed_for<S: Scheme>(
    outgoing: &BTreeMap<FlowId, Outgoing<S>>,
    incoming: &BTreeMap<FlowId, Incoming<S::Header>>,
    timer: Timer,
) -> Time {
    match timer {
        Timer::Sender(flow) => outgoing.get(&flow).map_or(Time::MAX, |outgoing| outgoing.armed),
        Timer::Receiver(flow) => incoming.get(&flow).map_or(Time::MAX, |incoming| incoming.armed),
    }
}
