//! A port with real flows over it: senders and receivers as in the simulator, on a clock of its own.
//!
//! ```text
//! senders ─▶ the port ─▶ link ─▶ receivers ─▶ acknowledgements, past the port ─▶ senders
//! ```
//!
//! For a while there is [trouble](Setting::trouble): packets are lost, the buffer shrinks and grows as where others
//! share it, and packets of strangers pass. When it is over, every flow must end.

mod audit;
mod flows;

use std::collections::BTreeMap;

use audit::{Audited, Taken, Way};
use tailrace_core::random::Stream;
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, CongestionLaw, FlowId, HostPolicy, LinkRate, Packet, PortFacts, PortPlace, QueueUnit, Rate,
    Refresh, Scheme, SeriesRow, Time,
};
use tailrace_transport::{Receiver, Sender};

use crate::{Verdict, ensure, setting};

/// What decides a run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Where the port is.
    pub place: PortPlace,
    /// The rate of its link.
    pub rate: Rate,
    /// What it may hold.
    pub buffer: Bytes,
    /// What the buffer counts.
    pub unit: QueueUnit,
    /// Whether packets that need not wait take the port's shortcuts ([`tailrace_core::PortPolicy::pass`], and where the port
    /// [ignores](tailrace_core::PortPolicy::ignores) them).
    pub shortcut: bool,
    /// Until when there is trouble.
    pub trouble: Time,
    /// Seed of everything random.
    pub seed: u64,
}

impl Setting {
    /// A port towards a host, of 10 Gbps and 30 KB, with trouble for five milliseconds.
    pub fn new(seed: u64) -> Self {
        Setting {
            place: PortPlace::SwitchToHost,
            rate: Rate::from_gbps(10),
            buffer: Bytes::new(30_000),
            unit: QueueUnit::Bytes,
            shortcut: true,
            trouble: Time::from_ms(5),
            seed,
        }
    }
}

/// From the port to the receivers, and back.
const DELAY: Time = Time::from_us(39);
/// A flow that needs longer, once trouble is over, will not end. Retransmission timers may have grown to a minute.
const PATIENCE: Time = Time::from_ms(300_000);
/// Longer than any policy remembers what has ended.
const PAUSE: Time = Time::from_ms(1_000);
/// More packets at one instant than any window allows.
const AT_ONCE: usize = 10_000;

/// What is on the way.
enum Event<H> {
    AtReceiver(Packet<H>),
    AtSender(Packet<H>),
}

/// What has happened in a run.
pub struct Log<H> {
    /// In words.
    pub events: Vec<String>,
    /// Headers that a port has seen, before and after, and those of acknowledgements.
    pub headers: Vec<H>,
}

/// Headers that are kept: the first ones.
const HEADERS: usize = 2_000;

/// A flow in progress.
struct Flow<S: Scheme> {
    sender: Sender<S::Law, S::Header>,
    receiver: Receiver<S::Header>,
}

/// The run of one port.
pub struct Rig<S: Scheme> {
    setting: Setting,
    scheme: S,
    transport: TransportParams,
    stream: Stream,
    now: Time,
    port: Audited<S::Port, S::Header>,
    link: LinkRate,
    free_at: Time,
    host: S::Host,
    flows: BTreeMap<FlowId, Flow<S>>,
    begun: FlowId,
    wire: BTreeMap<(Time, u64), Event<S::Header>>,
    sent: u64,
    next_stranger: Time,
    series: Vec<SeriesRow>,
    /// What happened, if that is asked for.
    log: Option<Log<S::Header>>,
    instants: u64,
}

impl<S: Scheme> Rig<S> {
    /// A run at its beginning.
    pub fn new(setting: Setting) -> Result<Self, String> {
        let scheme: S = setting::scheme()?;
        let Setting { place, rate, buffer, unit, .. } = setting;
        let port = scheme.port(&PortFacts { unit, ..PortFacts::new(7, place, rate, buffer) });
        Ok(Rig {
            setting,
            transport: setting::facts()?.transport,
            stream: Stream::new(setting.seed, "rig", 0),
            now: Time::ZERO,
            port: Audited::new(port, unit),
            link: LinkRate::new(rate),
            free_at: Time::ZERO,
            host: scheme.host(),
            scheme,
            flows: BTreeMap::new(),
            begun: 0,
            wire: BTreeMap::new(),
            sent: 0,
            next_stranger: Time::ZERO,
            series: Vec::new(),
            log: None,
            instants: 0,
        })
    }

    /// Runs until trouble is over and all flows have ended, and tells what happened.
    pub fn tell(mut self) -> Result<Log<S::Header>, String> {
        self.log = Some(Log { events: Vec::new(), headers: Vec::new() });
        self.run()?;
        self.log.ok_or_else(|| "no log".into())
    }

    /// So many instants of trouble, the end of all flows, and a pause after which old ones need not be remembered.
    /// Another stretch may follow.
    pub fn stretch(&mut self, instants: u64) -> Verdict {
        self.setting.trouble = Time::MAX;
        (0..instants).try_for_each(|_| self.step())?;
        self.setting.trouble = self.now;
        self.run()?;
        let over = self.now + PAUSE;
        let next = |rig: &Self| [rig.port.next_wake(), rig.host.next_wake()].into_iter().flatten().min();
        while let Some(at) = next(self).filter(|&at| at < over) {
            self.now = self.now.max(at);
            self.wake_policies()?;
        }
        self.now = over;
        Ok(())
    }

    /// Runs until trouble is over, all flows have ended, and nothing is left of them.
    pub fn run(&mut self) -> Verdict {
        let over = self.setting.trouble;
        while self.now < over || !self.is_at_rest() {
            self.step()?;
            ensure!(
                self.now < over + PATIENCE,
                "flows {:?} do not end",
                self.flows.keys().collect::<Vec<_>>()
            );
        }
        Ok(())
    }

    fn is_at_rest(&self) -> bool {
        self.flows.is_empty() && self.wire.is_empty() && self.port.is_empty()
    }

    /// The next instant at which something happens.
    fn step(&mut self) -> Verdict {
        self.begin_flows();
        self.pump_all()?;
        if !self.trouble() && self.is_at_rest() {
            return Ok(());
        }
        let next = self.next_instant()?;
        ensure!(
            next < Time::MAX,
            "flows {:?} are stuck: nothing is on its way, nothing is waited for",
            self.flows.keys()
        );
        self.instants = if next > self.now { 0 } else { self.instants + 1 };
        ensure!(self.instants < AT_ONCE as u64, "time stands still at {}", self.now);
        self.now = self.now.max(next);
        self.wake_policies()?;
        self.catch_up()?;
        self.arrivals()?;
        self.timers()?;
        self.strangers()
    }

    fn trouble(&self) -> bool {
        self.now < self.setting.trouble
    }

    fn next_instant(&self) -> Result<Time, String> {
        let wire = self.wire.first_key_value().map(|(&(at, _), _)| at);
        let policies = [self.port.next_wake(), self.host.next_wake()];
        // A port that keeps packets back may need to be woken first.
        let departure = self.port.ready(self.free_at)?;
        let woken = self.port.next_wake().filter(|_| departure.is_none() && !self.port.is_empty());
        let stranger = self.trouble().then_some(self.next_stranger);
        let timers = self.flows.values().map(|flow| flow.sender.next_wake().min(flow.receiver.next_wake()));
        // Policies that wake up for ever do not help flows that are stuck.
        let flows = wire
            .into_iter()
            .chain(departure)
            .chain(woken)
            .chain(stranger)
            .chain(timers)
            .min()
            .unwrap_or(Time::MAX);
        let policies = policies.into_iter().flatten().min().unwrap_or(Time::MAX);
        Ok(if flows == Time::MAX { flows } else { flows.min(policies) })
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.events.push(what());
        }
    }

    fn keep(&mut self, header: S::Header) {
        if let Some(log) = self.log.as_mut().filter(|log| log.headers.len() < HEADERS) {
            log.headers.push(header);
        }
    }

    /// A packet comes to the port.
    fn send(&mut self, packet: Packet<S::Header>) -> Verdict {
        self.port.ignores(&packet, self.setting.buffer)?;
        self.catch_up()?;
        self.keep(packet.header);
        let shared = [Bytes::ZERO, Bytes::new(1_000), Bytes::new(4_500), Bytes::new(15_000)];
        let room = match self.stream.below(8) as usize {
            few if self.trouble() && few < shared.len() => shared[few],
            _ => self.setting.buffer,
        };
        let (now, idle) = (self.now, self.free_at <= self.now);
        let way = Audited::<S::Port, S::Header>::way(idle, self.setting.shortcut);
        let Taken { leaves, dropped } = self.port.offer(now, packet, room, way)?;
        for (lost, reason) in dropped {
            self.note(|| format!("{now} drop {reason:?} {lost:?}"));
        }
        match leaves {
            Some(packet) => self.transmit(now, packet),
            None if way != Way::Queue => {
                ensure!(self.port.is_empty(), "holds a packet while its link is idle")
            }
            // Nothing was ready before: what is now, leaves from now on.
            None if idle => {
                self.free_at = now;
                self.catch_up()?;
            }
            None => {}
        }
        let marked = self.port.marked();
        self.note(|| format!("{now} marks {marked}"));
        Ok(())
    }

    /// Lets departures that are due happen.
    fn catch_up(&mut self) -> Verdict {
        while self.free_at <= self.now
            && let Some(start) = self.port.ready(self.free_at)?.filter(|&ready| ready <= self.now)
        {
            let Some(packet) = self.port.ask(start)? else {
                return Err("holds packets while its link is idle, but gives none".into());
            };
            self.transmit(start, packet);
        }
        Ok(())
    }

    fn transmit(&mut self, start: Time, packet: Packet<S::Header>) {
        self.note(|| format!("{start} sent {packet:?}"));
        self.keep(packet.header);
        self.free_at = start + self.link.time_for(packet.bytes);
        if !(self.trouble() && self.stream.below(20) == 0) && self.flows.contains_key(&packet.flow) {
            self.sent += 1;
            self.wire.insert((self.free_at + DELAY, self.sent), Event::AtReceiver(packet));
        }
    }

    fn arrivals(&mut self) -> Verdict {
        while self.wire.first_key_value().is_some_and(|(&(at, _), _)| at <= self.now) {
            match self.wire.pop_first() {
                Some((_, Event::AtReceiver(packet))) => {
                    let mut acks = Vec::new();
                    if let Some(flow) = self.flows.get_mut(&packet.flow) {
                        flow.receiver.on_data(self.now, &packet, |ack| acks.push(ack));
                    }
                    self.answer(acks)?;
                }
                Some((_, Event::AtSender(packet))) => {
                    if let Some(flow) = self.flows.get_mut(&packet.flow) {
                        flow.sender.on_ack(self.now, &packet);
                        flow.sender.law_mut().trace(self.now, &mut self.series);
                        self.series.clear();
                        self.pump(packet.flow)?;
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Acknowledgements go back, past the port.
    fn answer(&mut self, acks: Vec<Packet<S::Header>>) -> Verdict {
        for ack in acks {
            if !(self.trouble() && self.stream.below(20) == 0) {
                let ack = self.port.reverse(self.now, ack)?;
                self.keep(ack.header);
                self.sent += 1;
                self.wire.insert((self.now + DELAY, self.sent), Event::AtSender(ack));
            }
        }
        Ok(())
    }

    fn wake_policies(&mut self) -> Verdict {
        if self.host.next_wake().is_some_and(|at| at <= self.now) {
            let refresh = self.host.on_wake(self.now, &mut self.series);
            self.series.clear();
            let next = self.host.next_wake();
            ensure!(
                next.is_none_or(|next| next > self.now),
                "woken at {}, a host asks for the past",
                self.now
            );
            if refresh == Refresh::All {
                for flow in self.flows.values_mut() {
                    let directive = self.host.directive(flow.sender.info());
                    flow.sender.direct(&directive);
                    flow.receiver.acknowledge_in(directive.acks);
                }
            }
        }
        if self.port.next_wake().is_some_and(|at| at <= self.now) {
            self.catch_up()?;
            self.port.wake(self.now)?;
            if self.free_at < self.now {
                // Nothing was ready before: what the policy makes ready, leaves from now on.
                self.free_at = self.now;
                self.catch_up()?;
            }
        }
        Ok(())
    }
}
