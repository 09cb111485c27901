//! Messages under a scheme: its transport at this host, and the socket that carries it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Ecn, FlowId, FlowInfo, HEADER_BYTES, Header, HostId, LiveError, Packet, PacketKind, Scheme, TaskId, Time,
};
use tailrace_packet::Endpoint;

use super::arrivals::{Arrivals, Segment};
use super::label::{Cut, LABEL_BYTES, Label};
use super::{Event, LONGEST_MESSAGE, Messages};
use crate::clock::Clock;
use crate::frame::wire;
use crate::link::is_full;
use crate::outbox::Outbox;
use crate::sys::{BATCH, receive};

/// A host that has said nothing for so long, though it was spoken to, is lost: so many of the transport's shortest timeouts,
/// in which lost packets are repeated a few times, and flows that must wait for others ask again.
const PATIENCE_TIMEOUTS: u64 = 20;
/// But no shorter than this.
const MIN_PATIENCE: Time = Time::from_ms(2_000);
/// So often it is asked in that time whether it is there: a transport that has had long round trips speaks more rarely than
/// that, and one that waits for its turn or for leave not at all.
const QUESTIONS: u64 = 8;
/// What is lost is sent again as often within it, however long round trips have been: after a pause of a second a timeout by
/// them would be several, and twice that after the next loss.
const REPEATS: u64 = 4;
/// So many times that long a message that has arrived is known: its sender repeats no packet later, unless its law had it wait.
const REMEMBERED_PATIENCES: u64 = 32;
/// A message of which a host acknowledges nothing for so many times that long is lost, though the host be there: no turn under a
/// scheme takes so long.
const MAX_PATIENCES: u64 = 300;
/// How often it is seen who is lost, and what may be forgotten.
const SWEEP_EVERY: Time = Time::from_ms(100);
/// Batches that are taken in before something else is done.
const MAX_BATCHES: usize = 8;
/// Bits of a flow's number that count messages; those above are its host's.
const SERIAL_BITS: u32 = 16;

/// A question whether a host is there: a header of a flow that is nothing else, so that no law hears the answer.
struct Question {
    flow: FlowId,
    /// When it was asked last, in `attended` time.
    at: Time,
}

/// A message on its way.
struct Leaving {
    to: HostId,
    /// When it was given to the transport, or when any of it was last acknowledged, in `attended` time.
    since: Time,
    label: Label,
    bytes: Vec<u8>,
}

/// The messages of one host, under scheme `S`.
pub struct Messenger<S: Scheme> {
    host: HostId,
    clock: Clock,
    socket: UdpSocket,
    endpoint: Endpoint<S>,
    cut: Cut,
    outbox: Outbox,
    buffers: Vec<Box<[u8]>>,
    lengths: [(usize, u8); BATCH],
    /// Counts messages, from one on that no earlier process of this host has counted to.
    serial: u64,
    leaving: BTreeMap<FlowId, Leaving>,
    /// To hosts that have said nothing for a while.
    questions: BTreeMap<HostId, Question>,
    /// After which a silent host is lost.
    patience: Time,
    arrivals: Arrivals,
    /// When something last came from each host, in `attended` time.
    heard: Vec<Time>,
    events: VecDeque<Event>,
    next_sweep: Time,
    /// How long this process has attended to its socket. While the machine does not let it, nobody is silent.
    attended: Time,
    /// Datagrams that were none of this transport.
    strange: u64,
}

impl<S: Scheme> Messenger<S> {
    /// The messages of `host`, one of `hosts`, over its [socket](super::open_socket). Flows whose `cell`s of so many
    /// segments may take several paths are put back in order.
    pub fn new(
        scheme: S,
        socket: UdpSocket,
        host: HostId,
        hosts: usize,
        transport: TransportParams,
        cell: Option<u32>,
    ) -> Result<Self, LiveError> {
        let mtu = wire::longest_ip_packet::<S::Header>(transport.mss);
        let cut = Cut::new::<S::Header>(transport.mss).ok_or_else(|| {
            LiveError::SetUp(format!(
                "transport.mss is {}, and segments so short have no room for a message under {}",
                transport.mss,
                S::NAME
            ))
        })?;
        let clock = Clock::start()?;
        let patience = MIN_PATIENCE.max(transport.min_rto * PATIENCE_TIMEOUTS);
        let longest_rto = Some(Time::from_ps(patience.as_ps() / REPEATS));
        let transport = TransportParams { longest_rto, ..transport };
        Ok(Messenger {
            host,
            clock,
            socket,
            endpoint: Endpoint::new(scheme, host, transport, cell),
            cut,
            outbox: Outbox::new(mtu),
            buffers: (0..BATCH).map(|_| vec![0; mtu].into()).collect(),
            lengths: [(0, 0); BATCH],
            serial: clock.start_us(),
            leaving: BTreeMap::new(),
            questions: BTreeMap::new(),
            arrivals: Arrivals::remembering(patience * REMEMBERED_PATIENCES),
            patience,
            heard: vec![Time::ZERO; hosts],
            events: VecDeque::new(),
            next_sweep: Time::ZERO,
            attended: Time::ZERO,
            strange: 0,
        })
    }

    /// A number that no flow of this host has now, and the generation of the message that is to have it.
    fn number(&mut self) -> (FlowId, u32) {
        loop {
            self.serial += 1;
            let low = self.serial as u32 & ((1 << SERIAL_BITS) - 1);
            let flow = self.host << SERIAL_BITS | low;
            let asks = self.questions.values().any(|question| question.flow == flow);
            if !asks && !self.leaving.contains_key(&flow) {
                return (flow, (self.serial >> SERIAL_BITS) as u32);
            }
        }
    }

    fn take_in(&mut self) -> io::Result<()> {
        for _ in 0..MAX_BATCHES {
            let count = match receive(self.socket.as_fd(), &mut self.buffers, &mut self.lengths) {
                Err(error) if is_full(&error) => return Ok(()),
                received => received?,
            };
            let now = self.clock.now();
            let buffers = std::mem::take(&mut self.buffers);
            for (place, buffer) in buffers.iter().enumerate().take(count) {
                let (length, tos) = self.lengths[place];
                if self.take_datagram(now, &buffer[..length.min(buffer.len())], tos).is_none() {
                    self.strange += 1;
                }
            }
            self.buffers = buffers;
            if count < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// A datagram has come; `None` if it is none of this transport.
    fn take_datagram(&mut self, now: Time, datagram: &[u8], tos: u8) -> Option<()> {
        let packet: Packet<S::Header> =
            wire::decode(datagram, tos).filter(|packet| packet.dst == Packet::address(self.host))?;
        if packet.is_ack() {
            // It may be of a message that is over.
            let Some(leaving) = self.leaving.get_mut(&packet.flow) else {
                self.note_answer(packet.flow);
                return Some(());
            };
            leaving.since = self.attended;
            self.heard[leaving.to as usize] = self.attended;
            self.endpoint.arrive(now, self.host, &packet);
            return Some(());
        }
        let from = (packet.flow >> SERIAL_BITS) as HostId;
        *self.heard.get_mut(from as usize)? = self.attended;
        if packet.kind() != PacketKind::Probe {
            let (label, payload) = Label::decode(datagram.get(self.cut.label_at..)?)?;
            let segment = self.arrivals.take(&self.cut, packet.flow, packet.seq, label, payload)?;
            if segment == Segment::First {
                self.endpoint.accept(packet.flow, from, label.acks);
            }
        }
        self.endpoint.arrive(now, from, &packet);
        if self.endpoint.is_complete(packet.flow)
            && let Some(bytes) = self.arrivals.complete(now, packet.flow)
        {
            self.events.push_back(Event::Message { from, bytes });
        }
        Some(())
    }

    /// A host has answered, perhaps to a question.
    fn note_answer(&mut self, flow: FlowId) {
        if let Some((&host, _)) = self.questions.iter().find(|(_, question)| question.flow == flow) {
            self.heard[host as usize] = self.attended;
            self.questions.remove(&host);
        }
    }

    /// Asks hosts that are to take messages, and have said nothing for a while, whether they are there.
    fn ask_the_silent(&mut self, now: Time) {
        let listeners: BTreeSet<HostId> = self.leaving.values().map(|leaving| leaving.to).collect();
        self.questions.retain(|host, _| listeners.contains(host));
        let often = Time::from_ps(self.patience.as_ps() / QUESTIONS);
        for host in listeners {
            let asked = self.questions.get(&host);
            let last = self.heard[host as usize].max(asked.map_or(Time::ZERO, |question| question.at));
            if self.attended < last + often {
                continue;
            }
            let flow = match asked {
                Some(question) => question.flow,
                None => self.number().0,
            };
            self.questions.insert(host, Question { flow, at: self.attended });
            let header = S::Header::NONE;
            let bytes = HEADER_BYTES + header.wire_bytes();
            let mut packet = Packet {
                flow,
                dst: Packet::address(host),
                bytes,
                sent_ps: now.as_ps(),
                header,
                ..Packet::EMPTY
            };
            packet.set(PacketKind::Probe, Ecn::NotCapable);
            self.outbox.push(&packet);
        }
    }

    /// Puts what the transport sends into datagrams, with their part of the message.
    fn pack(&mut self) {
        // What has ended in this turn may have sent in it, which a host that has forgotten the message would take for another.
        for flow in self.endpoint.ended().drain(..) {
            self.leaving.remove(&flow);
        }
        for packet in self.endpoint.sent().drain(..) {
            if packet.is_ack() || packet.kind() == PacketKind::Probe {
                self.outbox.push(&packet);
                continue;
            }
            // It may have ended, or been given up.
            let Some(Leaving { label, bytes, .. }) = self.leaving.get(&packet.flow) else { continue };
            let Some(range) = self.cut.range(packet.seq, bytes.len()) else { continue };
            let (at, length) = (self.cut.label_at, range.len());
            let datagram = self.outbox.push(&packet);
            label.encode(&mut datagram[at..]);
            datagram[at + LABEL_BYTES..][..length].copy_from_slice(&bytes[range]);
        }
    }

    fn sweep(&mut self, now: Time) {
        let (heard, attended, patience) = (&self.heard, self.attended, self.patience);
        let is_lost = |leaving: &Leaving| {
            let is_silent = attended > leaving.since.max(heard[leaving.to as usize]) + patience;
            is_silent || attended > leaving.since + patience * MAX_PATIENCES
        };
        let lost: Vec<(FlowId, HostId)> = self
            .leaving
            .iter()
            .filter(|(_, leaving)| is_lost(leaving))
            .map(|(&flow, leaving)| (flow, leaving.to))
            .collect();
        for &(flow, _) in &lost {
            self.endpoint.give_up(now, flow);
            self.leaving.remove(&flow);
        }
        let mut hosts: Vec<HostId> = lost.into_iter().map(|(_, host)| host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        self.events.extend(hosts.into_iter().map(Event::Silent));
        self.arrivals.expire(now, |flow| self.endpoint.forget(flow));
        let from = |flow: FlowId| heard[(flow >> SERIAL_BITS) as usize];
        // As long as a sender may try, and as long again: it may have been stopped itself.
        let is_over = |flow| attended > from(flow) + patience * MAX_PATIENCES * 2;
        self.arrivals.drop_lost(is_over, |flow| self.endpoint.forget(flow));
        self.ask_the_silent(now);
    }
}

impl<S: Scheme> Messages for Messenger<S> {
    fn host(&self) -> HostId {
        self.host
    }

    fn hosts(&self) -> usize {
        self.heard.len()
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn strange(&self) -> u64 {
        self.strange
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn send(&mut self, to: HostId, task: TaskId, message: Vec<u8>) {
        let (host, hosts) = (self.host, self.heard.len());
        assert!(message.len() <= LONGEST_MESSAGE, "a message of {} bytes", message.len());
        assert!(to != host && (to as usize) < hosts, "a message of host {host} to {to} of {hosts}");
        let (now, size) = (self.clock.now(), self.cut.flow_bytes(message.len()));
        let (flow, generation) = self.number();
        let info = FlowInfo {
            id: flow,
            src: host,
            dst: to,
            size: Some(size),
            start: now,
            deadline: None,
            slice: 0,
            task,
        };
        let acks = self.endpoint.open(now, info, size).acks;
        let label = Label { generation, length: message.len() as u32, acks };
        self.leaving.insert(flow, Leaving { to, since: self.attended, label, bytes: message });
    }

    fn turn(&mut self) -> Result<(), LiveError> {
        self.endpoint.wake(self.clock.now());
        self.take_in().map_err(LiveError::refused("receiving from the fabric"))?;
        let now = self.clock.now();
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP_EVERY;
            self.attended += SWEEP_EVERY;
            self.sweep(now);
        }
        self.pack();
        self.outbox.flush(&self.socket, usize::MAX).map_err(LiveError::refused("sending to the fabric"))?;
        Ok(())
    }

    fn next(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn next_turn(&mut self) -> Time {
        let is_behind = self.outbox.is_behind() || !self.endpoint.sent().is_empty();
        if is_behind { Time::ZERO } else { self.endpoint.next_wake().min(self.next_sweep) }
    }
}
