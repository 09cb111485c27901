//! The load generator: flows of a feed as TCP connections of the kernel, each from its start to its end.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tailrace_core::transport::FctEnd;
use tailrace_core::{Bytes, FlowId, FlowRecords, Lag, LiveError, TaskRecord, Time};
use tailrace_workload::FlowSpec;
use tailrace_workload::feed::{Feed, GammaControl};

use super::connections::{Connection, Connections, End, Slot};
use super::settings::Terms;
use super::tags::{InForce, Room, Tagger, Tags, tag, tell};
use crate::clock::Clock;
use crate::hosts::Hosts;
use crate::sys::{TcpInfo, tcp_info};

/// So many flows ahead connections are opened.
const AHEAD: usize = 1_000;
/// So many at once: with more they would be in one another's way, and TCP takes how long that was for its round trip.
const OPENING: usize = 32;
/// What is written, and thrown away, with one call.
const CHUNK: usize = 1 << 16;
/// Longer than TCP waits between two attempts.
const PATIENCE: Time = Time::from_ms(150_000);

/// What flows are to be run.
pub struct Flows<'a> {
    /// In order of start, and told of ends.
    pub feed: Feed,
    /// Decides which of them get deadlines, if the workload leaves that open.
    pub gamma: Option<GammaControl>,
    /// Makes what decides the priority of their packets, on the thread that asks it.
    pub tagger: Box<dyn FnOnce() -> Box<dyn Tagger> + Send + 'a>,
}

/// A flow in progress.
#[derive(Debug)]
struct Flow {
    id: FlowId,
    size: u64,
    /// Bytes that the source's kernel has not taken yet.
    unwritten: u64,
    tags: InForce,
    received: u64,
    /// By which the feed is told of its end; 0 if nobody waits, or it was told.
    ticket: u32,
    /// The destination has read all of it, and that this was all.
    complete: bool,
    acknowledged: bool,
    /// Timeouts of its connection before it started.
    timeouts_before: u16,
}

/// Starts flows, feeds and empties their connections, and writes down how they fared.
pub(super) struct Load<'a> {
    connections: Connections<'a>,
    flows: BTreeMap<Slot, Flow>,
    feed: Feed,
    /// The same flows, as if each ended when it starts: for these connections are opened.
    ahead: Feed,
    gamma: Option<GammaControl>,
    tagger: Box<dyn Tagger>,
    fct_end: FctEnd,
    mss: u64,
    records: FlowRecords,
    /// How late flows started.
    starts: Lag,
    /// When some flow last got something.
    moved: Time,
    happened: Vec<End>,
    zeros: Vec<u8>,
    waste: Vec<u8>,
}

/// What a load leaves behind.
pub(super) struct Loaded {
    pub(super) flows: FlowRecords,
    pub(super) tasks: Vec<TaskRecord>,
    pub(super) starts: Lag,
}

impl<'a> Load<'a> {
    pub(super) fn new(hosts: &'a Hosts, terms: &'a Terms, flows: Flows<'_>) -> Result<Self, LiveError> {
        let Flows { feed, gamma, tagger } = flows;
        Ok(Load {
            connections: Connections::new(hosts, terms)?,
            flows: BTreeMap::new(),
            ahead: feed.clone(),
            feed,
            gamma,
            tagger: tagger(),
            fct_end: terms.fct_end,
            mss: u64::from(terms.mss),
            records: FlowRecords::default(),
            starts: Lag::default(),
            moved: Time::ZERO,
            happened: Vec::new(),
            zeros: vec![0; CHUNK],
            waste: vec![0; CHUNK],
        })
    }

    /// Flows that have started, and those that have ended.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.records.len(), self.records.len() - self.flows.len())
    }

    /// Opens connections for flows to come, and takes in those that are there, for `span` at most. Returns whether all
    /// that are wanted are there.
    pub(super) fn get_ready(&mut self, span: Time) -> Result<bool, LiveError> {
        let all = self.prepare()?;
        self.connections.wait(span, &mut self.happened)?;
        self.happened.clear();
        Ok(all && self.connections.opening() == 0)
    }

    /// Opens connections for flows to come, as many as may be now. Returns whether these are all that are wanted.
    fn prepare(&mut self) -> Result<bool, LiveError> {
        while self.connections.idle() < AHEAD {
            if self.connections.opening() >= OPENING {
                return Ok(false);
            }
            let Some(spec) = self.ahead.pop() else { break };
            self.ahead.ended(spec.start, spec.ticket);
            self.connections.prepare(spec.src, spec.dst)?;
        }
        Ok(true)
    }

    /// Whether all flows have ended, and none will start.
    pub(super) fn is_over(&mut self) -> bool {
        self.flows.is_empty() && self.feed.is_empty()
    }

    /// Whether the flows in progress have got nothing for longer than TCP waits.
    pub(super) fn is_stalled(&self, now: Time) -> bool {
        !self.flows.is_empty() && now.saturating_sub(self.moved) > PATIENCE
    }

    /// One turn: starts what is due, and waits up to `longest` for the next start or for something to happen.
    pub(super) fn turn(&mut self, clock: &Clock, longest: Time) -> Result<(), LiveError> {
        self.start_flows(clock)?;
        self.prepare()?;
        self.wake_tagger(clock.now());
        let next = [self.feed.peek(), self.tagger.next_wake()].into_iter().flatten().min();
        let due = next.map_or(longest, |at| at.saturating_sub(clock.now()).min(longest));
        let mut happened = std::mem::take(&mut self.happened);
        let waited = self.connections.wait(due, &mut happened);
        let handled = waited.and_then(|()| happened.iter().try_for_each(|&end| self.handle(clock, end)));
        happened.clear();
        self.happened = happened;
        handled
    }

    fn start_flows(&mut self, clock: &Clock) -> Result<(), LiveError> {
        while self.feed.peek().is_some_and(|start| start <= clock.now())
            && let Some(spec) = self.feed.pop()
        {
            self.starts.note(clock.now().saturating_sub(spec.start));
            self.start(spec, clock.now())?;
        }
        Ok(())
    }

    fn wake_tagger(&mut self, now: Time) {
        if self.tagger.next_wake().is_none_or(|at| at > now) {
            return;
        }
        let hosts = self.tagger.wake(now);
        for flow in self.flows.values_mut() {
            let record = self.records.of(flow.id);
            if hosts.contains(&record.src) {
                flow.tags.table = self.tagger.tags(&record).data;
            }
        }
    }

    fn start(&mut self, mut spec: FlowSpec, now: Time) -> Result<(), LiveError> {
        let id = self.records.len() as FlowId;
        if let Some(gamma) = self.gamma.as_mut().filter(|_| spec.controlled) {
            let flows = &self.flows;
            let left =
                |id| flows.values().find(|flow| flow.id == id).map_or(0, |flow| flow.size - flow.received);
            gamma.assign(&mut spec, id, |flow| Bytes::new(left(flow)));
        }
        self.records.push(spec.record(id));
        if self.flows.is_empty() {
            self.moved = now;
        }
        let slot = self.connections.take(spec.src, spec.dst)?;
        let (size, ticket) = (spec.size.get(), spec.ticket);
        let Tags { data, acks } = self.tagger.tags(&self.records.of(id));
        self.tag_acks(slot, acks)?;
        self.tell_agents(slot, id, now)?;
        let tags = InForce::new(data);
        let timeouts_before = self.ask(slot)?.timeouts;
        let flow = Flow {
            id,
            size,
            unwritten: size,
            tags,
            received: 0,
            ticket,
            complete: false,
            acknowledged: false,
            timeouts_before,
        };
        self.flows.insert(slot, flow);
        self.send(slot)
    }

    /// Gives a flow's acknowledgements their priority, if it is another than that of all.
    fn tag_acks(&mut self, slot: Slot, priority: u8) -> Result<(), LiveError> {
        let receiver = self.connections.get(slot).and_then(|connection| connection.receiver.as_ref());
        let tagged = receiver.filter(|_| priority > 0).map_or(Ok(()), |receiver| tag(receiver, priority));
        tagged.map_err(|error| self.connections.failed(slot, &error))
    }

    /// Tells the agents at both ends what is known of a flow that starts: data leaves one of them, acknowledgements the other.
    fn tell_agents(&mut self, slot: Slot, id: FlowId, now: Time) -> Result<(), LiveError> {
        let told = self.tagger.told(&self.records.of(id));
        let (Some(flow), Some(Connection { sender, receiver, .. })) = (told, self.connections.get(slot))
        else {
            return Ok(());
        };
        let said =
            std::iter::once(&*sender).chain(receiver.as_ref()).try_for_each(|end| tell(end, &flow, now));
        said.map_err(|error| self.connections.failed(slot, &error))
    }

    /// Something has happened to an end of a connection.
    fn handle(&mut self, clock: &Clock, end: End) -> Result<(), LiveError> {
        let (End::Sender(slot) | End::Receiver(slot)) = end;
        if !self.flows.contains_key(&slot) {
            return Ok(()); // A connection that is there, but has no flow.
        }
        match end {
            End::Sender(_) => {
                self.send(slot)?;
                self.hear(clock, slot)?;
            }
            End::Receiver(_) => self.receive(clock, slot)?,
        }
        if self.flows.get(&slot).is_some_and(|flow| flow.complete && flow.acknowledged) {
            self.finish(clock.now(), slot)?;
        }
        Ok(())
    }

    /// Gives the source's kernel what it takes, and after the last byte says that it was the last.
    fn send(&mut self, slot: Slot) -> Result<(), LiveError> {
        let Load { connections, flows, zeros, mss, .. } = self;
        let (Some(flow), Some(Connection { sender, .. })) = (flows.get_mut(&slot), connections.get(slot))
        else {
            return Ok(());
        };
        let written = match write(sender, zeros, *mss, flow) {
            Ok(Room::WhenSent) => connections.tell_when_writable(slot),
            Ok(Room::Bytes(_)) => Ok(()),
            Err(error) => Err(error),
        };
        written.map_err(|error| connections.failed(slot, &error))
    }

    /// Finds out whether the source knows that all has arrived.
    fn hear(&mut self, clock: &Clock, slot: Slot) -> Result<(), LiveError> {
        let all = self.ask(slot)?.all_acknowledged;
        let Some(flow) = self.flows.get_mut(&slot) else { return Ok(()) };
        if flow.unwritten == 0 && !flow.acknowledged && all {
            flow.acknowledged = true;
            if self.fct_end == FctEnd::Acked {
                self.note_end(clock.now(), slot);
            }
        }
        Ok(())
    }

    /// Takes what has come to the destination.
    fn receive(&mut self, clock: &Clock, slot: Slot) -> Result<(), LiveError> {
        let now = clock.now();
        let Load { connections, flows, waste, .. } = self;
        let Some(flow) = flows.get_mut(&slot) else { return Ok(()) };
        let receiver = connections.get(slot).and_then(|connection| connection.receiver.as_ref());
        let Some(receiver) = receiver else { return Ok(()) };
        let before = flow.received;
        let read = read(receiver.as_raw_fd(), waste, &mut flow.received);
        flow.complete |= read.map_err(|error| connections.failed(slot, &error))?;
        if flow.received > flow.size || flow.complete && flow.received < flow.size {
            let said = format!("{} bytes of {} came", flow.received, flow.size);
            return Err(connections.failed(slot, &io::Error::other(said)));
        }
        if flow.received > before {
            self.moved = now;
            if flow.received == flow.size && self.fct_end == FctEnd::Receiver {
                self.note_end(now, slot);
            }
        }
        Ok(())
    }

    /// The flow counts as complete.
    fn note_end(&mut self, now: Time, slot: Slot) {
        let Some(flow) = self.flows.get_mut(&slot) else { return };
        self.records.of_mut(flow.id).end = now;
        self.feed.ended(now, std::mem::take(&mut flow.ticket));
    }

    /// Both ends have seen the flow's end.
    fn finish(&mut self, now: Time, slot: Slot) -> Result<(), LiveError> {
        self.note(slot)?;
        if let Some(Flow { id, .. }) = self.flows.remove(&slot) {
            let record = self.records.of(id);
            self.tagger.ended(now, &record);
            if let Some(gamma) = &mut self.gamma {
                gamma.ended(id, record.src, record.dst);
            }
            self.records.close(id);
        }
        self.connections.close(slot);
        Ok(())
    }

    /// Copies what the kernel has counted into the flow's record.
    fn note(&mut self, slot: Slot) -> Result<(), LiveError> {
        let TcpInfo { retransmitted, timeouts, .. } = self.ask(slot)?;
        if let Some(flow) = self.flows.get(&slot) {
            let record = self.records.of_mut(flow.id);
            record.retransmitted = u32::try_from(retransmitted).unwrap_or(u32::MAX);
            record.timeouts = timeouts.saturating_sub(flow.timeouts_before);
        }
        Ok(())
    }

    fn ask(&mut self, slot: Slot) -> Result<TcpInfo, LiveError> {
        let Some(connection) = self.connections.get(slot) else { return Ok(TcpInfo::default()) };
        tcp_info(&connection.sender).map_err(|error| self.connections.failed(slot, &error))
    }

    /// The destination's end of a connection, which is not this value's any more.
    #[cfg(test)]
    pub(super) fn take_receiver(&mut self, slot: Slot) -> Option<TcpStream> {
        self.connections.get(slot)?.receiver.take()
    }

    /// Ends the load at `now`: what is still in progress is written into its record.
    pub(super) fn into_loaded(mut self, now: Time) -> Result<Loaded, LiveError> {
        let unfinished: Vec<Slot> = self.flows.keys().copied().collect();
        unfinished.into_iter().try_for_each(|slot| self.note(slot))?;
        let tasks = self.feed.task_records(now).to_vec();
        Ok(Loaded { flows: self.records, tasks, starts: self.starts })
    }
}

/// Writes until nothing is left or no more is taken, or until what comes next has another priority than what is not
/// sent yet.
fn write(mut to: &TcpStream, zeros: &[u8], mss: u64, flow: &mut Flow) -> io::Result<Room> {
    if flow.unwritten == 0 {
        return Ok(Room::Bytes(0));
    }
    while flow.unwritten > 0 {
        let room = flow.tags.room(to, flow.size - flow.unwritten, mss)?;
        let Room::Bytes(room) = room else { return Ok(Room::WhenSent) };
        let length = room.min(flow.unwritten).min(zeros.len() as u64) as usize;
        match to.write(&zeros[..length]) {
            Ok(written) => flow.unwritten -= written as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Room::Bytes(0)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // Soon enough that the last segment says so.
    to.shutdown(Shutdown::Write)?;
    Ok(Room::Bytes(0))
}

/// Throws away what has come; returns whether that was all.
fn read(from: i32, waste: &mut [u8], received: &mut u64) -> io::Result<bool> {
    loop {
        // Of TCP, nothing is copied with this flag.
        match recv(from, waste, MsgFlags::MSG_TRUNC) {
            Ok(0) => return Ok(true),
            Ok(count) => *received += count as u64,
            Err(Errno::EAGAIN) => return Ok(false),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
