//! A whole run: a network, the scheme's parts at its hosts and ports, and the flows that come and go.

mod capped;
mod control;
mod global_events;
mod life;
mod live;
mod observe;
mod slices;
mod stall;
mod wakes;

pub use live::Pause;
use observe::PortMeter;
pub use observe::Watch;

use std::ops::ControlFlow;

use tailrace_core::transport::{FctEnd, TransportParams};
use tailrace_core::{
    Ending, HEADER_BYTES, HostId, Ledger, Outcome, Packet, PortCounts, PortFacts, PortId, PortView, Progress,
    Running, Scheme, Series, Standing, Time,
};
use tailrace_engine::Entity;
use tailrace_fabric::Fabric;
use tailrace_transport::{Receiver, Sender};
use tailrace_workload::feed::{Feed, GammaControl};

use self::control::Control;
use self::global_events::GlobalEvents;
use self::slices::SliceMeter;
use self::stall::Stall;
use crate::caps::Caps;
use crate::flows::FlowTable;
use crate::partition::ProcessSpec;
use crate::tap::Tap;
use crate::timers::{Timer, Timers};
use crate::{Network, Step};

/// Steps between two looks at the caller.
const STEPS_PER_REPORT: u32 = 1 << 17;

/// Why a stretch of a run is over.
pub(crate) enum Stretch {
    /// The run is.
    Ended(Ending),
    /// What follows is later, if anything does.
    Reached,
    /// It had so many steps.
    Spent,
}

/// What a host is made of.
struct Host<P> {
    policy: P,
    timers: Timers,
    caps: Caps,
}

/// When the timers of a slot's two ends are armed for.
#[derive(Clone, Copy)]
struct Armed {
    sender: Time,
    receiver: Time,
}

const UNARMED: Armed = Armed { sender: Time::MAX, receiver: Time::MAX };

/// When a timer is armed for.
#[inline]
fn armed_for(slots: &[Armed], timer: Timer) -> Time {
    match timer {
        Timer::Sender(slot) => slots[slot as usize].sender,
        Timer::Receiver(slot) => slots[slot as usize].receiver,
    }
}

/// A run of scheme `S`.
pub struct World<S: Scheme> {
    scheme: S,
    network: Network<S::Port, S::Header>,
    hosts: Vec<Host<S::Host>>,
    feed: Feed,
    transport: TransportParams,
    /// Segments of a cell, which receivers put back in order.
    cell: Option<u32>,
    flows: FlowTable,
    senders: Vec<Sender<S::Law, S::Header>>,
    receivers: Vec<Receiver<S::Header>>,
    armed: Vec<Armed>,
    /// Whether the flow in each slot waits for its turn under a cap.
    waits: Vec<bool>,
    /// By which the feed is told of the end of the flow in each slot.
    tickets: Vec<u32>,
    horizon: Time,
    /// Decides which flows get deadlines, if the workload leaves that open.
    gamma: Option<GammaControl>,
    /// Decides for the whole network, if the scheme has such.
    control: Option<Control>,
    /// Counts what slices get, if that is watched.
    meter: Option<SliceMeter>,
    /// Whether the scheme is told what flows do not reveal.
    oracle: bool,
    port_meter: PortMeter,
    watch: Watch,
    watched_port: Vec<bool>,
    watched_host: Vec<bool>,
    series: Series,
    taps: Vec<Tap>,
    global_events: GlobalEvents,
    stall: Stall,
}

impl<S: Scheme> World<S> {
    /// A world at time zero.
    pub fn new(
        scheme: S,
        fabric: &Fabric,
        transport: TransportParams,
        feed: Feed,
        horizon: Option<Time>,
        watch: Watch,
        seed: u64,
    ) -> Self {
        Self::for_process(scheme, fabric, transport, feed, horizon, watch, seed, None)
    }

    /// The same; that of one logical process, if `process` is given.
    #[allow(clippy::too_many_arguments, reason = "a world's, and one more")]
    pub fn for_process(
        scheme: S,
        fabric: &Fabric,
        transport: TransportParams,
        feed: Feed,
        horizon: Option<Time>,
        watch: Watch,
        seed: u64,
        process: Option<ProcessSpec>,
    ) -> Self {
        let control = scheme.controller().map(Control::new);
        // The controller, the driver's clock, global events and the watch over stalls come last: they move no other entity.
        let entities = fabric.hosts + SPECIAL + fabric.ports.len() + 4;
        let mut network =
            Network::new(fabric, &transport, seed, entities, |port: &PortFacts| scheme.port(port));
        if let Some(ProcessSpec { partition, own }) = process {
            network.confine(partition, own);
        }
        let host = |_| Host { policy: scheme.host(), timers: Timers::default(), caps: Caps::default() };
        let hosts = (0..fabric.hosts).map(host).collect();
        let mut watched_port = vec![false; fabric.ports.len()];
        watch.ports.iter().for_each(|&port| watched_port[port as usize] = true);
        let mut watched_host = vec![false; fabric.hosts];
        watch.hosts.iter().for_each(|&host| watched_host[host as usize] = true);
        let mut world = World {
            scheme,
            network,
            hosts,
            feed,
            cell: fabric.load_balancing.packets_per_cell(transport.mss.saturating_add(HEADER_BYTES)),
            transport,
            flows: FlowTable::default(),
            senders: Vec::new(),
            receivers: Vec::new(),
            armed: Vec::new(),
            waits: Vec::new(),
            tickets: Vec::new(),
            horizon: horizon.unwrap_or(Time::MAX),
            gamma: None,
            control,
            meter: (!watch.slices.is_empty()).then(|| SliceMeter::new(&watch.slices, &fabric.edge_of)),
            oracle: false,
            port_meter: PortMeter::new(fabric, &watch.ports),
            watch,
            watched_port,
            watched_host,
            series: Series::default(),
            taps: Vec::new(),
            global_events: GlobalEvents::new(fabric),
            stall: Stall::new(fabric, &transport),
        };
        world.arm_at_start();
        world
    }

    /// Lets `control` decide which flows get deadlines.
    pub fn controlled(mut self, control: Option<GammaControl>) -> Self {
        self.gamma = control;
        self
    }

    /// Tells the scheme what flows do not reveal, as far as it can use it.
    pub fn omniscient(mut self, oracle: bool) -> Self {
        self.oracle = oracle;
        self
    }

    /// Tells `tap` of all that a port sends, which none else is told of.
    pub fn tapping(mut self, port: PortId, tap: Tap) -> Self {
        self.network.tap(port);
        self.taps.push(tap);
        self
    }

    fn arm_at_start(&mut self) {
        self.arm_source();
        if self.horizon < Time::MAX {
            self.network.wake(self.special(HORIZON), self.horizon);
        }
        if let Some(every) = self.watch.every {
            self.network.wake(self.special(SAMPLER), every);
        }
        for port in 0..self.watched_port.len() as PortId {
            self.arm_port(port);
        }
        for host in (0..self.hosts.len()).map(|host| host as HostId) {
            self.arm_host(host);
        }
        self.arm_control();
    }

    /// Before the first step of a run.
    pub(crate) fn begin(&mut self) {
        self.network.wake(self.stall_entity(), self.stall.every());
    }

    /// Runs to the end. `report` is called now and then and may end the run.
    pub fn run(&mut self, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>) -> Ending {
        let ending = self.run_on(report);
        self.tell_taps(true);
        ending
    }

    fn run_on(&mut self, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>) -> Ending {
        self.begin();
        loop {
            match self.run_before(Time::MAX, STEPS_PER_REPORT) {
                Stretch::Ended(ending) => return ending,
                Stretch::Reached => {
                    return if self.flows.active() == 0 { Ending::Finished } else { Ending::Stalled };
                }
                Stretch::Spent => self.tell_taps(false),
            }
            if report(self).is_break() {
                return Ending::Interrupted;
            }
        }
    }

    /// Goes on up to `end`, or for so many steps.
    #[inline(never)]
    pub(crate) fn run_before(&mut self, end: Time, steps: u32) -> Stretch {
        if self.is_over() {
            return Stretch::Ended(Ending::Finished);
        }
        self.network.run_until(end);
        for _ in 0..steps {
            let Some(step) = self.network.next() else { return Stretch::Reached };
            if let Some(ending) = self.take(step) {
                return Stretch::Ended(ending);
            }
        }
        Stretch::Spent
    }

    /// Takes the next step; returns how the run has ended by it, if it has. Inlined, or the packet would be copied.
    #[inline(always)]
    fn take(&mut self, step: Step<S::Header>) -> Option<Ending> {
        match step {
            Step::Arrival(host, packet) if packet.is_ack() => self.on_ack(host, &packet),
            Step::Arrival(host, packet) => self.on_data(host, &packet),
            Step::Wake(entity) => {
                if entity == self.special(HORIZON) {
                    self.count_once(entity);
                    return Some(Ending::Horizon);
                }
                self.on_wake(entity);
                if self.stall.is_certain() {
                    return Some(Ending::Stalled);
                }
                if self.global_events.is_stopping() {
                    return Some(Ending::Interrupted);
                }
            }
        }
        self.is_over().then_some(Ending::Finished)
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.network.events()
    }

    /// Whether all flows have ended, and none will start.
    #[inline]
    pub fn is_over(&mut self) -> bool {
        self.flows.active() == 0 && self.feed.is_empty()
    }

    /// An acknowledgement reaches its sender. Within [`Self::take`], as [`Self::on_data`]: one packet-hop in four ends in one of them.
    #[inline(always)]
    fn on_ack(&mut self, host: HostId, packet: &Packet<S::Header>) {
        let Some(slot) = self.flows.slot(packet.flow) else { return };
        let now = self.network.now();
        self.senders[slot].on_ack(now, packet);
        if self.watch.every_flow.is_some_and(|n| packet.flow.is_multiple_of(n)) {
            self.trace(packet.flow, slot);
        }
        if self.senders[slot].is_done() {
            self.finish(host, slot);
        } else {
            self.go_on(host, slot);
        }
    }

    /// Lets the flow in `slot` go on, as its law sees its prospects.
    #[inline]
    fn go_on(&mut self, host: HostId, slot: usize) {
        match self.senders[slot].standing() {
            Standing::Going => self.pump(host, slot),
            Standing::Demoted => self.demote(host, slot),
            Standing::Stopped => self.finish(host, slot),
        }
    }

    /// Data reach their receiver.
    #[inline(always)]
    fn on_data(&mut self, host: HostId, packet: &Packet<S::Header>) {
        let Some(slot) = self.flows.slot_of_receiver(packet.flow) else { return };
        let now = self.network.now();
        let receiver = &mut self.receivers[slot];
        let was_complete = receiver.is_complete();
        let network = &mut self.network;
        receiver.on_data(now, packet, |ack| network.inject(host, ack));
        if receiver.is_complete() && !was_complete && self.transport.fct_end == FctEnd::Receiver {
            self.flows.record_mut(packet.flow).end = now;
            self.tell_end(slot);
        }
        let due = self.receivers[slot].next_wake();
        let timers = &mut self.hosts[host as usize].timers;
        if timers.arm(Timer::Receiver(slot as u32), due, &mut self.armed[slot].receiver) {
            self.network.wake(Entity::from(host), due);
        }
    }

    /// Sends what the flow in `slot` may send, and sees to its timer.
    #[inline]
    fn pump(&mut self, host: HostId, slot: usize) {
        if let Some(cap) = self.cap(slot) {
            return self.pump_capped(host, slot, cap);
        }
        let now = self.network.now();
        let sender = &mut self.senders[slot];
        while let Some(packet) = sender.poll_send(now) {
            self.network.inject(host, packet);
        }
        let due = sender.next_wake();
        let timers = &mut self.hosts[host as usize].timers;
        if timers.arm(Timer::Sender(slot as u32), due, &mut self.armed[slot].sender) {
            self.network.wake(Entity::from(host), due);
        }
    }

    fn special(&self, which: usize) -> Entity {
        (self.hosts.len() + which) as Entity
    }

    /// Tells whoever has tapped ports what they have sent.
    fn tell_taps(&mut self, at_end: bool) {
        for (number, tap) in self.taps.iter_mut().enumerate() {
            for (start, packet) in self.network.take_tapped(number, at_end) {
                let flow = self.flows.record(packet.flow);
                tap(start, &packet, if packet.is_ack() { flow.dst } else { flow.src });
            }
        }
    }

    /// Ends the run: what is still in progress is written into its record.
    pub fn into_outcome(mut self) -> Outcome {
        let unfinished: Vec<_> = self.flows.in_progress().collect();
        unfinished.into_iter().for_each(|(id, slot)| self.note(id, slot));
        let end = self.network.now();
        self.network.catch_up();
        let outcome = Outcome {
            end,
            digest: self.network.digest(),
            events: self.network.events(),
            tasks: self.feed.task_records(end).to_vec(),
            ports: self.network.port_counts().collect(),
            series: self.series,
            updates: self.control.as_ref().map(Control::heard),
            ledger: Some(self.network.ledger()),
            real_time: None,
            flows: self.flows.into_records(),
        };
        outcome.settled()
    }
}

impl<S: Scheme> Running for World<S> {
    fn progress(&self) -> Progress {
        Progress {
            now: self.network.now(),
            started: self.flows.len(),
            finished: self.flows.len() - self.flows.active(),
            packet_hops: self.network.packet_hops(),
        }
    }

    fn ports(&mut self) -> Vec<PortView> {
        let counts: Vec<PortCounts> = self.network.port_counts().collect();
        let view = |(port, counts)| PortView { counts, queues: self.network.sample(port).2 };
        (0..).zip(counts).map(view).collect()
    }

    fn ledger(&self) -> Option<Ledger> {
        Some(self.network.ledger())
    }
}

/// Entities beside hosts and ports.
const SPECIAL: usize = 3;
const SOURCE: usize = 0;
const SAMPLER: usize = 1;
const HORIZON: usize = 2;
