//! What benchmarks need beside the fabric itself: a flood, and a forwarder that does nothing but forward.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_gettime};
use tailrace_core::{Frames, HostId, LiveError, PortFacts, PortPolicy, Scheme, Time};

use crate::clock::Clock;
use crate::driver::Driver;
use crate::frame::{self, host_of_mac, ipv4_of, mac_of};
use crate::hosts::{Hosts, INTERFACE};
use crate::link::{Links, Wanted, is_full};
use crate::packets::{Priorities, packet_of, write_back};
use crate::slab::Slab;
use crate::sys::{BATCH, HEADROOM, Poll, Punctual, packet_socket, send_frames};

/// How long the forwarder sleeps at most.
const LONGEST_SLEEP: Time = Time::from_ms(20);
/// Frames of a burst: fewer than a pair of interfaces holds.
const BURST: u32 = 192;
/// Turns without a frame after which the rest of a burst is taken as lost.
const MAX_IDLE: u32 = 50;
/// How long a flood at a rate sleeps between looks at the clock.
const FLOOD_SLEEP: Duration = Duration::from_micros(20);

/// Forwards frames between hosts over the same links as a driver, without a fabric: no packet, no port, no policy.
pub struct Forwarder<'a> {
    hosts: &'a Hosts,
    links: Links,
    frames: Frames,
    poll: Poll,
    slab: Slab,
    taken: Vec<u32>,
    leaving: Vec<VecDeque<u32>>,
    forwarded: u64,
    _punctual: Punctual,
}

impl<'a> Forwarder<'a> {
    /// Between these hosts.
    pub fn new(hosts: &'a Hosts, wanted: Wanted) -> Result<Self, LiveError> {
        let (links, slab, frames) = Links::open(hosts.ports(), hosts.namespaces(), wanted)?;
        let poll = Poll::of((0..hosts.len()).map(|host| links.socket(host)))
            .map_err(LiveError::refused("waiting for frames"))?;
        Ok(Forwarder {
            hosts,
            links,
            frames,
            poll,
            slab,
            taken: Vec::new(),
            leaving: (0..hosts.len()).map(|_| VecDeque::new()).collect(),
            forwarded: 0,
            _punctual: Punctual::begin(),
        })
    }

    /// How frames come in and leave.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    fn forward(&mut self) -> io::Result<()> {
        let mut came = false;
        if self.links.tells() {
            for host in 0..self.hosts.len() {
                came |= self.take(host)?;
            }
        } else if self.poll.wait(Time::ZERO)? {
            for place in 0..self.poll.count() {
                came |= self.take(self.poll.number(place) as usize)?;
            }
        }
        for (host, leaving) in self.leaving.iter_mut().enumerate() {
            let before = leaving.len();
            self.links.send(host, &mut self.slab, leaving)?;
            self.forwarded += (before - leaving.len()) as u64;
        }
        if !came {
            self.poll.wait(LONGEST_SLEEP)?;
        }
        Ok(())
    }

    fn take(&mut self, host: usize) -> io::Result<bool> {
        let received = self.links.receive(host, &mut self.slab, &mut self.taken)?;
        for number in self.taken.drain(..) {
            let to = self.slab.bytes(number).get(..6).and_then(host_of_mac).map(|host| host as usize);
            match to.and_then(|to| self.leaving.get_mut(to)) {
                Some(leaving) => leaving.push_back(number),
                None => self.slab.free(number),
            }
        }
        Ok(received.frames > 0)
    }
}

/// What carries frames between hosts, turn by turn, on this thread.
pub trait Carrier {
    /// Carries what has come, or waits a little if nothing has.
    fn turn(&mut self) -> Result<(), LiveError>;
    /// Frames that have left.
    fn carried(&self) -> u64;
}

impl Carrier for Forwarder<'_> {
    fn turn(&mut self) -> Result<(), LiveError> {
        self.forward().map_err(LiveError::refused("forwarding frames"))
    }
    fn carried(&self) -> u64 {
        self.forwarded
    }
}

impl<S: Scheme> Carrier for Driver<'_, S> {
    fn turn(&mut self) -> Result<(), LiveError> {
        // Without a sleep: what is measured is work.
        Driver::turn(self, self.now()).map(drop)
    }
    fn carried(&self) -> u64 {
        self.lag().count()
    }
}

/// Frames, and the CPU time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Frames.
    pub frames: u64,
    /// CPU time of one thread, with all that the kernel did for it.
    pub cpu: Time,
}

impl Cost {
    /// Frames in a second of CPU time.
    pub fn frames_per_cpu_second(&self) -> f64 {
        self.frames as f64 / self.cpu.as_secs_f64()
    }
}

/// Has `carrier` carry bursts of a frame that host 0 sends. What sending costs is not counted, nor what the kernel does
/// meanwhile: that is the same for all carriers of these links.
pub fn carry_bursts(
    hosts: &Hosts,
    frame: &[u8],
    bursts: u32,
    carrier: &mut impl Carrier,
) -> Result<Cost, LiveError> {
    let failed = || LiveError::refused::<io::Error>("sending bursts");
    let socket = host_socket(hosts, 0).map_err(failed())?;
    let mut cost = Cost::default();
    for _ in 0..bursts {
        let before = carrier.carried();
        send_burst(&socket, frame).map_err(failed())?;
        let start = cpu_time().map_err(failed())?;
        let mut idle = 0;
        // A frame that was lost, as happens on a busy machine, does not come.
        while carrier.carried() < before + u64::from(BURST) && idle < MAX_IDLE {
            let until_now = carrier.carried();
            carrier.turn()?;
            idle = if carrier.carried() > until_now { 0 } else { idle + 1 };
        }
        cost.cpu += cpu_time().map_err(failed())? - start;
        cost.frames += carrier.carried() - before;
    }
    Ok(cost)
}

/// Sends bursts of a frame from host 0, which the kernel carries on this thread's time, however far.
pub fn send_bursts(hosts: &Hosts, frame: &[u8], bursts: u32) -> Result<Cost, LiveError> {
    let send = || {
        let socket = host_socket(hosts, 0)?;
        let start = cpu_time()?;
        (0..bursts).try_for_each(|_| send_burst(&socket, frame))?;
        Ok(Cost { frames: u64::from(bursts) * u64::from(BURST), cpu: cpu_time()? - start })
    };
    send().map_err(LiveError::refused::<io::Error>("sending bursts"))
}

fn send_burst(socket: &OwnedFd, frame: &[u8]) -> io::Result<()> {
    let mut left = BURST as usize;
    while left > 0 {
        match send_frames(socket.as_fd(), std::iter::repeat_n(frame, left)) {
            Ok(sent) => left -= sent,
            Err(error) if is_full(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn host_socket(hosts: &Hosts, host: HostId) -> io::Result<OwnedFd> {
    hosts.namespace(host).inside(|| packet_socket(if_nametoindex(INTERFACE)?))
}

/// CPU time of this thread.
fn cpu_time() -> io::Result<Time> {
    let cpu = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
    Ok(Time::from_ns(cpu.tv_sec() as u64 * 1_000_000_000 + cpu.tv_nsec() as u64))
}

/// Sends a frame again and again from a host, so many in a second, until `stop`.
pub fn flood(
    hosts: &Hosts,
    host: HostId,
    frame: &[u8],
    per_second: f64,
    stop: &AtomicBool,
) -> Result<(), LiveError> {
    let act = || {
        let socket = host_socket(hosts, host)?;
        // Or it would send at whatever rate others leave it.
        let _punctual = Punctual::begin();
        let clock = Clock::start().map_err(io::Error::other)?;
        let mut sent = 0u64;
        while !stop.load(Ordering::Relaxed) {
            let due = (clock.now().as_secs_f64() * per_second) as u64;
            // What could not be sent in time is not made up for: that would be another rate.
            sent = sent.max(due.saturating_sub(BURST.into()));
            let batch = (due - sent).min(BATCH as u64);
            if batch == 0 {
                std::thread::sleep(FLOOD_SLEEP);
                continue;
            }
            match send_frames(socket.as_fd(), std::iter::repeat_n(frame, batch as usize)) {
                Ok(done) => sent += done as u64,
                Err(error) if is_full(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    act().map_err(LiveError::refused("sending a flood"))
}

/// A UDP datagram in a frame from one host to another, which carries an IPv4 packet of `ip_bytes`. UDP says that it is
/// longer, so that the host that gets it has little to do with it and does not answer.
pub fn flood_frame(from: HostId, to: HostId, ip_bytes: u16) -> Vec<u8> {
    let mut frame = [mac_of(to), mac_of(from)].concat();
    frame.extend([0x08, 0, 0x45, 0]);
    frame.extend(ip_bytes.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend(ipv4_of(from).octets());
    frame.extend(ipv4_of(to).octets());
    frame.extend([0x10, 0, 0x20, 0]);
    frame.extend(u16::MAX.to_be_bytes());
    let words = frame[frame::ETHERNET_BYTES..frame::ETHERNET_BYTES + 20].chunks_exact(2);
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&folded.to_be_bytes());
    frame.resize(frame::ETHERNET_BYTES + usize::from(ip_bytes), 0);
    frame
}

/// Joins the links of all hosts by a bridge of the kernel, instead of a fabric.
pub fn bridge(hosts: &Hosts) -> Result<(), LiveError> {
    hosts.join_by_bridge().map_err(LiveError::refused("setting up a bridge"))
}

/// Frames that have come to a host's interface.
pub fn arrived(hosts: &Hosts, host: HostId) -> Result<u64, LiveError> {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
    let text =
        hosts.namespace(host).inside(read).map_err(LiveError::refused("reading an interface's counters"))?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(INTERFACE)?.strip_prefix(':'));
    let count = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok());
    Ok(count.unwrap_or(0))
}

/// Takes frames through a scheme's port, without links: each is read, queued, taken out and written back. Of so many
/// flows, 32 at a time, until `frames` have passed.
pub fn through_port<S: Scheme>(
    scheme: &S,
    facts: &PortFacts,
    priorities: &Priorities,
    flows: u16,
    frames: u64,
) -> Result<(), LiveError> {
    const MSS: u32 = 1460;
    let mut slab = Slab::new(u32::from(flows), 1500).map_err(LiveError::refused("memory for frames"))?;
    let mut ring = VecDeque::new();
    for flow in 0..flows {
        let Some(number) = slab.take() else { break };
        let mut bytes = flood_frame(0, 1, 1500);
        bytes[15] = (flow as u8 % 8) << 2;
        bytes[34..36].copy_from_slice(&flow.to_be_bytes());
        slab.put(number, HEADROOM, bytes.len());
        slab.bytes_mut(number).copy_from_slice(&bytes);
        ring.push_back(number);
    }
    let mut port = scheme.port(facts);
    let (mut batch, mut passed, mut now) = (Vec::new(), 0, Time::ZERO);
    while passed < frames {
        batch.extend(ring.drain(..BATCH.min(ring.len())));
        for number in batch.drain(..) {
            // A frame that has just come is known as little as the first time.
            let (start, length) = slab.place(number);
            slab.put(number, start, length);
            let packet = packet_of(&mut slab, number, 1, true, priorities, MSS);
            port.enqueue(now, packet, facts.buffer, &mut |lost, _| ring.push_back(lost.sent_ps as u32));
            now += Time::from_ns(100);
        }
        while let Some(packet) = port.dequeue(now) {
            ring.push_back(write_back(&mut slab, &packet));
            passed += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Option<Hosts> {
        if !nix::unistd::geteuid().is_root() {
            crate::skip_test("network namespaces need root");
            return None;
        }
        Some(Hosts::new(2, 1500, None).unwrap())
    }

    #[test]
    fn a_forwarder_carries_what_a_host_sends() {
        let Some(hosts) = hosts() else { return };
        let frame = flood_frame(0, 1, 1500);
        for wanted in [Wanted::Packet, Wanted::Best] {
            let mut forwarder = Forwarder::new(&hosts, wanted).unwrap();
            let cost = carry_bursts(&hosts, &frame, 5, &mut forwarder).unwrap();
            assert!(cost.frames > 0 && cost.cpu > Time::ZERO, "{cost:?}");
            assert!(cost.frames >= 5 * u64::from(BURST) / 2, "{} of {:?}", forwarder.frames(), cost);
        }
    }

    #[test]
    fn a_bridge_carries_frames_and_is_counted_at_the_other_host() {
        let Some(hosts) = hosts() else { return };
        let frame = flood_frame(0, 1, 1500);
        send_bursts(&hosts, &frame, 2).unwrap();
        assert!(arrived(&hosts, 1).unwrap() < 10, "nobody forwards yet");
        bridge(&hosts).unwrap();
        let before = arrived(&hosts, 1).unwrap();
        let cost = send_bursts(&hosts, &frame, 5).unwrap();
        assert_eq!(cost.frames, 5 * u64::from(BURST));
        assert!(arrived(&hosts, 1).unwrap() - before > cost.frames / 2);
    }
}
