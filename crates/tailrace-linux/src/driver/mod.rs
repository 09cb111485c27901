//! The real-time driver: one loop that tells a world the machine's time, takes frames off the hosts' links into its
//! network, and puts those that leave the network on them.

mod dispatch;
#[cfg(test)]
mod hostile_tests;
mod intake;
#[cfg(test)]
mod late_tests;
#[cfg(test)]
mod switch_tests;
#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use tailrace_core::{FrameCounters, Frames, HostId, Lag, LiveError, Packet, RealTime, Scheme, Time};

use tailrace_fabric::Fabric;
use tailrace_packet::{Pause, World};

use crate::clock::Clock;
use crate::endpoints::Endpoints;
use crate::forward::Forwarding;
use crate::hosts::Hosts;
use crate::interfaces::{Interfaces, is_down};
use crate::link::{Links, Wanted};
use crate::mac_table::MacTable;
use crate::namespace::Namespace;
use crate::packets::{Priorities, packet_of, sent_at, write_back};
use crate::record::Recorder;
use crate::slab::Slab;
use crate::sys::{Poll, Punctual};

use dispatch::Leaving;

/// The driver sleeps no longer than this, so that it notices when it is to stop.
const LONGEST_SLEEP: Time = Time::from_ms(20);
/// Who sleeps is woken so much later than asked, or less: when something is due so soon, the driver stays awake.
const WAKE_UP: Time = Time::from_us(60);
/// After so much work without a sleep comes a pause: the kernel takes 50 ms in a second at once from those who go
/// before others and leave them less.
const LONGEST_WORK: Time = Time::from_us(800);
const PAUSE: Time = Time::from_us(60);

/// Frames of Tailrace's transport: hosts send others too, such as questions for addresses to those who have them.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    entered: u64,
    left: u64,
}

/// What is around a fabric.
struct Around<'a, H> {
    interfaces: &'a Interfaces,
    /// The hosts that they lead to, if these are this machine's.
    beyond: &'a [Namespace],
    forwarding: Forwarding,
    endpoints: Option<Endpoints<H>>,
}

/// A fabric in real time, between hosts of this machine or interfaces of it.
pub struct Driver<'a, S: Scheme> {
    world: World<S>,
    interfaces: &'a Interfaces,
    forwarding: Forwarding,
    clock: Clock,
    links: Links,
    frames: Frames,
    /// The links are numbered as hosts are, the hosts' own sockets follow.
    poll: Poll,
    /// Whether what the poll has found last is still to be seen to.
    found: bool,
    endpoints: Option<Endpoints<S::Header>>,
    slab: Slab,
    /// Frames for each host that are to leave.
    leaving: Vec<Leaving>,
    /// Frames that have come in, by number: from which host, and to which.
    entering: Vec<(HostId, HostId, u32)>,
    taken: Vec<u32>,
    arriving: Vec<(HostId, Packet<S::Header>)>,
    priorities: Priorities,
    /// Segments that flowcells are counted in.
    mss: u32,
    lag: Lag,
    /// How late packets came into the fabric: since their host's transport has sent them, if that is here and they are
    /// data, or else since they came to the fabric's edge.
    entry_lag: Lag,
    frame_counters: FrameCounters,
    own: Own,
    /// When it last woke from a sleep.
    awake_since: Time,
    /// How long turns have taken in which packets came or left.
    worked: Time,
    recorder: Option<Recorder<S::Header>>,
    _punctual: Punctual,
}

impl<'a, S: Scheme> Driver<'a, S> {
    /// Puts `world`, whose hosts must stand outside, between `hosts`. With `transport` its own flows run over their
    /// sockets. Frames come in and leave as is `wanted`.
    pub fn new(
        world: World<S>,
        hosts: &'a Hosts,
        priorities: Priorities,
        mss: u16,
        transport: bool,
        wanted: Wanted,
    ) -> Result<Self, LiveError> {
        let endpoints = transport.then(|| Endpoints::new(hosts)).transpose()?;
        let forwarding = Forwarding::Hosts(hosts.len());
        let around = Around { interfaces: hosts.ports(), beyond: hosts.namespaces(), forwarding, endpoints };
        Self::with(world, around, priorities, mss, wanted)
    }

    /// Makes `world`, which must be a star whose hosts stand outside, a switch between `interfaces`: each stands for the
    /// host of its number, whose network card is not the fabric's.
    pub fn switch(
        world: World<S>,
        interfaces: &'a Interfaces,
        table: MacTable,
        priorities: Priorities,
        mss: u16,
        wanted: Wanted,
    ) -> Result<Self, LiveError> {
        let forwarding = Forwarding::Switch(table);
        let around = Around { interfaces, beyond: &[], forwarding, endpoints: None };
        Self::with(world, around, priorities, mss, wanted)
    }

    fn with(
        world: World<S>,
        around: Around<'a, S::Header>,
        priorities: Priorities,
        mss: u16,
        wanted: Wanted,
    ) -> Result<Self, LiveError> {
        let Around { interfaces, beyond, forwarding, endpoints } = around;
        let (links, slab, frames) = Links::open(interfaces, beyond, wanted)?;
        let hosts = interfaces.len();
        let ends = endpoints.iter().flat_map(|ends| (0..hosts).map(|host| ends.socket(host)));
        let poll = Poll::of((0..hosts).map(|host| links.socket(host)).chain(ends))
            .map_err(LiveError::refused("waiting for frames"))?;
        Ok(Driver {
            world,
            interfaces,
            forwarding,
            clock: Clock::start()?,
            leaving: (0..hosts).map(|_| Leaving::default()).collect(),
            links,
            frames,
            poll,
            found: false,
            endpoints,
            slab,
            entering: Vec::new(),
            taken: Vec::new(),
            arriving: Vec::new(),
            priorities,
            mss: u32::from(mss),
            lag: Lag::default(),
            entry_lag: Lag::default(),
            frame_counters: FrameCounters::default(),
            own: Own::default(),
            awake_since: Time::ZERO,
            worked: Time::ZERO,
            recorder: None,
            _punctual: Punctual::begin(),
        })
    }

    /// The world, to be asked how it is.
    pub fn world(&mut self) -> &mut World<S> {
        &mut self.world
    }

    /// How late frames were handed over so far.
    pub fn lag(&self) -> &Lag {
        &self.lag
    }

    /// How late packets came into the fabric so far.
    pub(crate) fn entry_lag(&self) -> &Lag {
        &self.entry_lag
    }

    /// Frames that no port has seen. Some of the newest that were lost may be missing.
    pub fn frame_counters(&mut self) -> FrameCounters {
        self.count_lost(false)
    }

    /// The same with all that were lost, which takes longer.
    pub fn exact_frame_counters(&mut self) -> FrameCounters {
        self.count_lost(true)
    }

    fn count_lost(&mut self, exact: bool) -> FrameCounters {
        // What could be counted at the start can be counted later.
        self.frame_counters.lost = self.links.lost(exact).unwrap_or(self.frame_counters.lost);
        self.frame_counters.strange = self.endpoints.as_ref().map_or(0, |ends| ends.strange);
        self.frame_counters
    }

    /// How late it was so far, and what went by.
    pub(crate) fn real_time(&mut self) -> RealTime {
        let (left, entered) = (self.lag.clone(), self.entry_lag.clone());
        RealTime { left, entered, started: Lag::default(), frame_counters: self.exact_frame_counters() }
    }

    /// How frames come in and leave.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Begins time anew, in so long from now. Nothing may have happened yet.
    pub(crate) fn start_in(&mut self, span: Time) -> Result<Clock, LiveError> {
        self.clock = Clock::start_in(span)?;
        Ok(self.clock)
    }

    /// Packets that have left the fabric in a second, and those that would in a second of nothing but work.
    pub(crate) fn pace(&self) -> (f64, f64) {
        let per = |span: Time| self.lag.count() as f64 / span.as_secs_f64().max(f64::MIN_POSITIVE);
        (per(self.clock.now()), per(self.worked))
    }

    /// The time since the start.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Datagrams that hosts have sent and that have not reached the fabric, and such that have left it and not reached
    /// their host: on their way, or lost where the machine was too slow.
    pub fn between(&self) -> (u64, u64) {
        let Some(ends) = &self.endpoints else { return (0, 0) };
        (ends.sent.saturating_sub(self.own.entered), self.own.left.saturating_sub(ends.received))
    }

    /// Writes down from now on, which should be the beginning, every packet that enters the network, leaves it or is
    /// dropped.
    pub fn record(&mut self, recorder: Recorder<S::Header>) {
        self.recorder = Some(recorder);
    }

    /// The world, when the run is over. Fails if a record could not be written.
    pub fn into_world(self) -> Result<World<S>, LiveError> {
        if let Some(recorder) = self.recorder {
            recorder.finish(self.world.now()).map_err(LiveError::refused("writing the record"))?;
        }
        Ok(self.world)
    }

    /// One turn: takes in what has come, lets happen what is due, sends what leaves, and sleeps until something comes
    /// or is due, or `until`.
    pub fn turn(&mut self, until: Time) -> Result<Pause, LiveError> {
        let (begin, left) = (self.clock.now(), self.lag.count());
        let came = self.take_in().map_err(LiveError::refused("receiving frames"))?;
        let pause = self.let_happen();
        self.send_off()?;
        if came || self.lag.count() > left {
            self.worked += self.clock.now() - begin;
        }
        if !came && pause == Pause::UpToDate {
            self.sleep(until).map_err(LiveError::refused("waiting for frames"))?;
        }
        self.rest();
        Ok(pause)
    }

    /// Lets happen what is due, and what has come.
    fn let_happen(&mut self) -> Pause {
        let now = self.clock.now();
        let (slab, leaving) = (&mut self.slab, &mut self.leaving);
        let (recorder, own) = (&mut self.recorder, &mut self.own);
        let mut deliver = |due: Time, host: HostId, packet: Packet<S::Header>| {
            if let Some(recorder) = recorder.as_mut() {
                recorder.left(due, host, &packet);
            }
            let number = write_back(slab, &packet);
            own.left += u64::from(slab.slot(number).own);
            leaving[host as usize].push(number, due);
        };
        let pause = self.world.run_until(now, &mut deliver);
        let entering_at = self.world.now();
        for (host, packet) in self.arriving.drain(..) {
            self.world.arrive(host, &packet);
        }
        let between_hosts = self.forwarding.is_between_hosts();
        let mut entering = std::mem::take(&mut self.entering);
        for (from, to, slot) in entering.drain(..) {
            let packet = packet_of(&mut self.slab, slot, to, between_hosts, &self.priorities, self.mss);
            self.own.entered += u64::from(self.slab.slot(slot).own);
            if let Some(since) = self.due_in(slot, &packet) {
                self.entry_lag.note(entering_at.saturating_sub(since));
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.entered(entering_at, from, &packet);
            }
            match between_hosts {
                true => self.world.enter(from, packet),
                false => self.world.enter_switch(packet),
            }
        }
        self.entering = entering;
        let outside = self.world.carry_on();
        for lost in outside.lost.drain(..) {
            if let Some(recorder) = &mut self.recorder {
                recorder.dropped(&lost);
            }
            self.slab.free(lost.packet.sent_ps as u32);
        }
        if let Some(endpoints) = &mut self.endpoints {
            for (host, packet) in outside.sent.drain(..) {
                endpoints.push(host, &packet);
            }
        }
        pause
    }

    /// Since when a packet that enters should have been in the fabric, as far as that is known.
    fn due_in(&self, slot: u32, packet: &Packet<S::Header>) -> Option<Time> {
        // Other processes have other clocks.
        let sent = self.endpoints.as_ref().and_then(|_| sent_at(&self.slab, packet));
        let came_ns = self.slab.slot(slot).came_ns;
        sent.or_else(|| (came_ns > 0).then(|| self.clock.at_ns(came_ns)))
    }

    fn sleep(&mut self, until: Time) -> io::Result<()> {
        let behind = self.endpoints.as_ref().is_some_and(Endpoints::is_behind);
        if behind || self.leaving.iter().any(|leaving| !leaving.frames.is_empty()) {
            return Ok(());
        }
        let due = self.world.next_event().unwrap_or(Time::MAX).min(until);
        let span = due.saturating_sub(self.clock.now()).saturating_sub(WAKE_UP).min(LONGEST_SLEEP);
        if span > Time::ZERO {
            let asleep_since = self.clock.now();
            self.found = self.poll.wait(span)?;
            let now = self.clock.now();
            // The kernel counts by what others had.
            if now - asleep_since >= PAUSE {
                self.awake_since = now;
            }
        }
        for place in 0..self.poll.count() {
            let socket = self.poll.number(place) as usize;
            if self.poll.has_failed(place) && socket < self.interfaces.len() {
                match self.links.failure(socket) {
                    Err(error) if is_down(&error) && self.interfaces.is_there(socket) => {}
                    failure => failure.map_err(|error| self.interfaces.failed(socket, error))?,
                }
            }
        }
        Ok(())
    }

    /// Finds out whether all interfaces are still there.
    pub(crate) fn check_links(&self) -> Result<(), LiveError> {
        self.interfaces.check()
    }

    /// Goes on under `scheme`, at the rates and with the memory that `fabric` has; see [`World::refit`].
    pub fn refit(&mut self, scheme: S, fabric: &Fabric, priorities: Priorities) {
        self.world.refit(scheme, fabric);
        self.priorities = priorities;
    }

    /// Pauses after much work.
    fn rest(&mut self) {
        if self.clock.now().saturating_sub(self.awake_since) > LONGEST_WORK {
            std::thread::sleep(Duration::from_nanos(PAUSE.as_ns()));
            self.awake_since = self.clock.now();
        }
    }
}
