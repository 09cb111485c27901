//! Messages under a scheme: its transport at this host, and the socket that carries it.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use tailrace_core::transport::TransportParams;
use tailrace_core::{FlowId, FlowInfo, HostId, Packet, PacketKind, Scheme, TaskId, Time};
use tailrace_packet::Endpoint;

use super::arrivals::{Arrivals, Segment};
use super::label::{Cut, LABEL_BYTES, Label};
use super::{Event, LONGEST_MESSAGE, Messages};
use crate::clock::Clock;
use crate::error::LiveError;
use crate::frame::wire;
use crate::link::is_full;
use crate::outbox::Outbox;
use crate::sys::{BATCH, receive};

/// A host that has said nothing for so long, though it was spoken to, is lost: so many of the transport's shortest timeouts,
/// in which lost packets are repeated a few times, and flows that must wait for others ask again.
const PATIENCE_TIMEOUTS: u64 = 20;
/// But no shorter than this.
const LEAST_PATIENCE: Time = Time::from_ms(2_000);
/// So often at least it is spoken to in that time, whatever round trips and timeouts have been before: a sender that only
/// waits for its own timer is not one that nobody answers.
const LEAST_ASKED: u64 = 8;
/// How often it is seen who is lost, and what may be forgotten.
const SWEEP_EVERY: Time = Time::from_ms(100);
/// Batches that are taken in before something else is done.
const MOST_BATCHES: usize = 8;
/// Bits of a flow's number that count messages; those above are its host's.
const SERIAL_BITS: u32 = 16;

/// A message on its way.
struct Leaving {
    to: HostId,
    /// In `attended` time.
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
        let patience = LEAST_PATIENCE.max(transport.min_rto * PATIENCE_TIMEOUTS);
        let longest_rto = Some(Time::from_ps(patience.as_ps() / LEAST_ASKED));
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
            // Longer than any sender tries.
            arrivals: Arrivals::remembering(patience * 2),
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
            if !self.leaving.contains_key(&flow) {
                return (flow, (self.serial >> SERIAL_BITS) as u32);
            }
        }
    }

    fn take_in(&mut self) -> io::Result<()> {
        for _ in 0..MOST_BATCHES {
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
            let Some(leaving) = self.leaving.get(&packet.flow) else { return Some(()) };
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

    /// Puts what the transport sends into datagrams, with their part of the message.
    fn pack(&mut self) {
        for packet in self.endpoint.sent().drain(..) {
            if packet.is_ack() || packet.kind() == PacketKind::Probe {
                self.outbox.push(&packet);
                continue;
            }
            // It may have been given up.
            let Some(Leaving { label, bytes, .. }) = self.leaving.get(&packet.flow) else { continue };
            let Some(range) = self.cut.range(packet.seq, bytes.len()) else { continue };
            let (at, length) = (self.cut.label_at, range.len());
            let datagram = self.outbox.push(&packet);
            label.encode(&mut datagram[at..]);
            datagram[at + LABEL_BYTES..][..length].copy_from_slice(&bytes[range]);
        }
        // Only now: what has ended in this turn may have sent in it.
        for flow in self.endpoint.ended().drain(..) {
            self.leaving.remove(&flow);
        }
    }

    fn sweep(&mut self, now: Time) {
        let (heard, attended, patience) = (&self.heard, self.attended, self.patience);
        let is_lost = |leaving: &Leaving| attended > leaving.since.max(heard[leaving.to as usize]) + patience;
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
        hosts.dedup();
        self.events.extend(hosts.into_iter().map(Event::Silent));
        self.arrivals.expire(now, |flow| self.endpoint.forget(flow));
        let from = |flow: FlowId| heard[(flow >> SERIAL_BITS) as usize];
        // Twice as long: a sender may only just have given up.
        let is_over = |flow| attended > from(flow) + patience * 2;
        self.arrivals.drop_lost(is_over, |flow| self.endpoint.forget(flow));
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
