//! The real-time driver: one loop that tells a world the machine's time, takes frames off the hosts' links into its
//! network, and puts those that leave the network on them.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use tailrace_core::{Ecn, Header, HostId, Packet, Scheme, SwitchPlan, Time};
use tailrace_packet::{Pause, World};

use crate::clock::Clock;
use crate::endpoints::Endpoints;
use crate::error::LiveError;
use crate::frame::{self, Frame, host_of_mac, wire};
use crate::hosts::Hosts;
use crate::lag::Lag;
use crate::outbox::is_full;
use crate::slab::Slab;
use crate::sys::{Poll, Punctual, send_frames};

/// The driver sleeps no longer than this, so that it notices when it is to stop.
const LONGEST_SLEEP: Time = Time::from_ms(20);
/// A shorter sleep costs more than looking again.
const SHORTEST_SLEEP: Time = Time::from_us(3);
/// After so much work without a sleep comes a pause: the kernel takes 50 ms in a second at once from those who go
/// before others and leave them less.
const LONGEST_WORK: Time = Time::from_us(800);
const PAUSE: Time = Time::from_us(60);

/// Frames that are neither delivered nor dropped by a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// For no host of the fabric, such as those for all.
    pub unroutable: u64,
    /// Longer than the hosts' links carry.
    pub too_long: u64,
    /// Questions for addresses, which the fabric has answered.
    pub answered: u64,
    /// For a host whose link was down, after they had left the fabric.
    pub link_down: u64,
}

/// Frames of Tailrace's transport: hosts send others too, such as questions for addresses to those who have them.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    entered: u64,
    left: u64,
}

/// What is known of DSCPs: the priority that each stands for.
#[derive(Clone, Debug)]
pub struct Priorities([u8; 64]);

impl Priorities {
    /// As a scheme's plan says; without one, as Tailrace's transport tags. A DSCP that is not among these is for the
    /// last queue.
    pub fn new(plan: Option<&SwitchPlan>) -> Self {
        let mut of_dscp = [tailrace_core::MAX_PRIORITIES as u8 - 1; 64];
        match plan {
            Some(plan) => {
                of_dscp = [plan.queues.len().saturating_sub(1) as u8; 64];
                for (priority, queue) in (0..).zip(&plan.queues) {
                    of_dscp[usize::from(queue.dscp)] = priority;
                }
            }
            None => (0..).zip(of_dscp.iter_mut().take(8).rev()).for_each(|(priority, of)| *of = priority),
        }
        Priorities(of_dscp)
    }

    fn of(&self, dscp: u8) -> u8 {
        self.0[usize::from(dscp)]
    }

    /// Of what is not IP.
    fn last(&self) -> u8 {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

/// A fabric in real time, between the hosts of this machine.
pub struct Driver<'a, S: Scheme> {
    world: World<S>,
    /// The namespaces last as long as what runs in them.
    hosts: &'a Hosts,
    clock: Clock,
    /// The fabric's end of each host's link.
    ports: Vec<OwnedFd>,
    endpoints: Option<Endpoints<S::Header>>,
    /// The fabric's sockets are numbered as hosts are, the hosts' own follow.
    poll: Poll,
    slab: Slab,
    /// Frames for each host that are to leave, by number.
    leaving: Vec<VecDeque<u32>>,
    /// Frames that have come in, and from which host.
    entering: Vec<(HostId, u32)>,
    taken: Vec<u32>,
    arriving: Vec<(HostId, Packet<S::Header>)>,
    priorities: Priorities,
    /// Segments that flowcells are counted in.
    mss: u32,
    lag: Lag,
    strays: Strays,
    own: Own,
    /// When it last woke from a sleep.
    awake_since: Time,
    _punctual: Punctual,
}

impl<'a, S: Scheme> Driver<'a, S> {
    /// Puts `world`, whose hosts must stand outside, between `hosts`. With `transport` its own flows run over their
    /// sockets.
    pub fn new(
        world: World<S>,
        hosts: &'a Hosts,
        priorities: Priorities,
        mss: u16,
        transport: bool,
    ) -> Result<Self, LiveError> {
        let ports = hosts.fabric_sockets()?;
        let endpoints = transport.then(|| Endpoints::new(hosts)).transpose()?;
        let poll = poll_of(&ports, endpoints.as_ref()).map_err(LiveError::refused("waiting for frames"))?;
        Ok(Driver {
            world,
            hosts,
            clock: Clock::start()?,
            leaving: ports.iter().map(|_| VecDeque::new()).collect(),
            ports,
            endpoints,
            poll,
            slab: Slab::new(hosts.mtu()),
            entering: Vec::new(),
            taken: Vec::new(),
            arriving: Vec::new(),
            priorities,
            mss: u32::from(mss),
            lag: Lag::default(),
            strays: Strays::default(),
            own: Own::default(),
            awake_since: Time::ZERO,
            _punctual: Punctual::begin(),
        })
    }

    /// The world, to be asked how it is.
    pub fn world(&mut self) -> &mut World<S> {
        &mut self.world
    }

    /// How late frames left so far.
    pub fn lag(&self) -> &Lag {
        &self.lag
    }

    /// Frames that no port has seen.
    pub fn strays(&self) -> Strays {
        self.strays
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

    /// The world, when the run is over.
    pub fn into_world(self) -> World<S> {
        self.world
    }

    /// One turn: takes in what has come, lets happen what is due, sends what leaves, and sleeps until something comes
    /// or is due, or `until`.
    pub fn turn(&mut self, until: Time) -> Result<Pause, LiveError> {
        let came = self.take_in().map_err(LiveError::refused("receiving from the hosts"))?;
        let pause = self.let_happen();
        self.send_off().map_err(LiveError::refused("sending to the hosts"))?;
        if !came && pause == Pause::UpToDate {
            self.sleep(until).map_err(LiveError::refused("waiting for frames"))?;
        }
        self.rest();
        Ok(pause)
    }

    /// Takes what waits at all sockets, up to a batch each; returns whether anything did.
    fn take_in(&mut self) -> io::Result<bool> {
        if !self.poll.wait(Time::ZERO)? {
            return Ok(false);
        }
        let hosts = self.ports.len();
        for place in 0..self.poll.count() {
            let socket = self.poll.number(place) as usize;
            match socket.checked_sub(hosts) {
                None => self.take_frames(socket)?,
                Some(host) => self.take_datagrams(host)?,
            }
        }
        Ok(true)
    }

    fn take_frames(&mut self, host: usize) -> io::Result<()> {
        let (_, too_long) = match self.slab.receive(self.ports[host].as_fd(), &mut self.taken) {
            Err(error) if is_full(&error) => return Ok(()),
            // Somebody has set it down, or taken it away.
            Err(error) if is_down(&error) && self.hosts.is_linked(host as HostId) => return Ok(()),
            received => received.map_err(|error| of_link(host, error))?,
        };
        self.strays.too_long += too_long as u64;
        for slot in self.taken.drain(..) {
            let to = self.slab.get(slot).bytes().get(..6).and_then(host_of_mac);
            if to.is_some_and(|to| usize::from(to) < self.ports.len()) {
                self.entering.push((host as HostId, slot));
                continue;
            }
            match frame::answer(self.slab.get(slot).bytes(), self.ports.len()) {
                Some(answer) => {
                    self.strays.answered += 1;
                    // If it is lost, the host asks again.
                    let _ = send_frames(self.ports[host].as_fd(), std::iter::once(&answer[..]));
                }
                None => self.strays.unroutable += 1,
            }
            self.slab.free(slot);
        }
        Ok(())
    }

    fn take_datagrams(&mut self, host: usize) -> io::Result<()> {
        let Some(endpoints) = &mut self.endpoints else { return Ok(()) };
        let arriving = &mut self.arriving;
        match endpoints.receive(host as HostId, |host, packet| arriving.push((host, packet))) {
            Err(error) if is_full(&error) => Ok(()),
            received => received.map(drop),
        }
    }

    /// Lets happen what is due, and what has come.
    fn let_happen(&mut self) -> Pause {
        let now = self.clock.now();
        let (slab, leaving, lag, own) = (&mut self.slab, &mut self.leaving, &mut self.lag, &mut self.own);
        let mut deliver = |due: Time, host: HostId, packet: Packet<S::Header>| {
            lag.note(now.saturating_sub(due));
            let slot = packet.sent_ps as u32;
            write_back(slab, slot, &packet);
            own.left += u64::from(slab.get(slot).own);
            leaving[usize::from(host)].push_back(slot);
        };
        let pause = self.world.run_until(now, &mut deliver);
        for (host, packet) in self.arriving.drain(..) {
            self.world.arrive(host, &packet);
        }
        for (host, slot) in self.entering.drain(..) {
            let packet = packet_of(&mut self.slab, slot, &self.priorities, self.mss);
            self.own.entered += u64::from(self.slab.get(slot).own);
            self.world.enter(host, packet);
        }
        let outside = self.world.carry_on();
        for lost in outside.lost.drain(..) {
            self.slab.free(lost.sent_ps as u32);
        }
        if let Some(endpoints) = &mut self.endpoints {
            for (host, packet) in outside.sent.drain(..) {
                endpoints.push(host, &packet);
            }
        }
        pause
    }

    fn send_off(&mut self) -> io::Result<()> {
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.flush()?;
        }
        for (host, (port, leaving)) in self.ports.iter().zip(&mut self.leaving).enumerate() {
            while !leaving.is_empty() {
                let frames = leaving.iter().map(|&slot| self.slab.get(slot).bytes());
                match send_frames(port.as_fd(), frames) {
                    Ok(sent) => {
                        for slot in leaving.drain(..sent) {
                            self.slab.free(slot);
                        }
                    }
                    Err(error) if is_full(&error) => break,
                    Err(error) if is_down(&error) => {
                        self.strays.link_down += leaving.len() as u64;
                        leaving.drain(..).for_each(|slot| self.slab.free(slot));
                    }
                    Err(error) => return Err(of_link(host, error)),
                }
            }
        }
        Ok(())
    }

    fn sleep(&mut self, until: Time) -> io::Result<()> {
        let behind = self.endpoints.as_ref().is_some_and(Endpoints::is_behind);
        if behind || self.leaving.iter().any(|leaving| !leaving.is_empty()) {
            return Ok(());
        }
        let due = self.world.next_event().unwrap_or(Time::MAX).min(until);
        let span = due.saturating_sub(self.clock.now()).min(LONGEST_SLEEP);
        if span > SHORTEST_SLEEP {
            self.poll.wait(span)?;
            self.awake_since = self.clock.now();
        }
        Ok(())
    }

    /// Pauses after much work.
    fn rest(&mut self) {
        if self.clock.now().saturating_sub(self.awake_since) > LONGEST_WORK {
            std::thread::sleep(Duration::from_nanos(PAUSE.as_ns()));
            self.awake_since = self.clock.now();
        }
    }
}

fn poll_of<H: Header>(ports: &[OwnedFd], endpoints: Option<&Endpoints<H>>) -> io::Result<Poll> {
    let poll = Poll::new()?;
    let ends = endpoints.iter().flat_map(|ends| (0..ports.len()).map(|host| ends.socket(host)));
    let sockets = ports.iter().map(AsFd::as_fd).chain(ends);
    (0..).zip(sockets).try_for_each(|(number, socket)| poll.add(socket, number))?;
    Ok(poll)
}

/// Whether an interface is down. A packet socket says so once more when its interface is taken away.
fn is_down(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENETDOWN)
}

/// A failure at the link of a host.
fn of_link(host: usize, error: io::Error) -> io::Error {
    let gone = [libc::ENETDOWN, libc::ENXIO, libc::ENODEV].map(Some).contains(&error.raw_os_error());
    let message = match gone {
        true => format!(
            "the interface of host h{host} is gone; somebody has deleted it, or its end in the fabric"
        ),
        false => format!("at the link of host h{host}: {error}"),
    };
    io::Error::new(error.kind(), message)
}

/// The packet that a port policy sees of a frame.
fn packet_of<H: Header>(slab: &mut Slab, number: u32, priorities: &Priorities, mss: u32) -> Packet<H> {
    let slot = slab.get_mut(number);
    let to = slot.bytes().get(..6).and_then(host_of_mac).unwrap_or(0);
    let Some(frame) = slot.read else {
        let bytes = slot.bytes().len().saturating_sub(frame::ETHERNET_BYTES) as u16;
        let (dst, priority, sent_ps) = (to, priorities.last(), u64::from(number));
        return Packet { dst, bytes, priority, sent_ps, ..Packet::EMPTY };
    };
    if let Some(packet) = own_packet(slot.bytes(), &frame).filter(|packet| packet.dst == to) {
        slot.own = true;
        return Packet { sent_ps: u64::from(number), ..packet };
    }
    let mut packet = Packet {
        flow: frame.flow,
        dst: to,
        bytes: frame.ip_bytes,
        priority: priorities.of(frame.dscp()),
        seq: frame.transport.map_or(0, |transport| transport.seq / mss),
        sent_ps: u64::from(number),
        ..Packet::EMPTY
    };
    packet.set(frame.kind(), frame.ecn());
    packet
}

/// The packet of Tailrace's transport in a frame, if it is one.
fn own_packet<H: Header>(bytes: &[u8], frame: &Frame) -> Option<Packet<H>> {
    let udp = frame.transport.filter(|udp| udp.is_udp() && udp.ports == (wire::PORT, wire::PORT))?;
    wire::decode(bytes.get(udp.payload_at..)?, frame.tos)
}

/// Writes into a frame what ports have made of its packet.
fn write_back<H: Header>(slab: &mut Slab, number: u32, packet: &Packet<H>) {
    let slot = slab.get_mut(number);
    let (Some(frame), own) = (slot.read, slot.own) else { return };
    if own {
        if let Some(udp) = frame.transport {
            wire::encode_header(&packet.header, &mut slot.bytes_mut()[udp.payload_at..]);
        }
        let tos = wire::tos(packet);
        if tos != frame.tos {
            frame.set_tos(slot.bytes_mut(), tos);
        }
    } else if packet.ecn() == Ecn::Marked && frame.ecn() != Ecn::Marked {
        frame.mark(slot.bytes_mut());
    }
}
