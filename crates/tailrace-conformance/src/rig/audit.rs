//! A port, and the books of what went in and what came out.

use std::collections::BTreeMap;

use tailrace_core::{
    Bytes, Ecn, Header, MAX_PRIORITIES, Packet, PortPolicy, QueueUnit, Reason, SeriesRow, Time,
};

use crate::{Verdict, ensure};

/// A port whose every answer is held against the books.
pub(super) struct Audited<P, H> {
    port: P,
    /// What it holds, by ticket. A ticket stands in the packet's place for its send time, which is no port's business.
    held: BTreeMap<u64, Packet<H>>,
    tickets: u64,
    bytes: u64,
    /// What room counts.
    unit: QueueUnit,
    /// New marks on what has left or was dropped.
    marks: u64,
    series: Vec<SeriesRow>,
}

/// What became of a packet that was offered to a port.
pub(super) struct Taken<H> {
    /// What leaves at once.
    pub(super) leaves: Option<Packet<H>>,
    /// What was dropped.
    pub(super) dropped: Vec<(Packet<H>, Reason)>,
}

impl<P: PortPolicy<H>, H: Header> Audited<P, H> {
    /// What becomes of a packet that comes to a link that is idle, or not.
    pub(super) fn way(idle: bool, shortcut: bool) -> Way {
        match (idle && P::WORK_CONSERVING, shortcut) {
            (false, _) => Way::Queue,
            (true, true) => Way::Pass,
            (true, false) => Way::QueueAndAsk,
        }
    }

    pub(super) fn new(port: P, unit: QueueUnit) -> Self {
        Audited { port, held: BTreeMap::new(), tickets: 0, bytes: 0, unit, marks: 0, series: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        self.port.next_wake()
    }

    pub(super) fn marked(&self) -> u64 {
        self.port.marked()
    }

    /// Drivers ask before they let happen what is due: no packet is ignored while others wait.
    pub(super) fn ignores(&self, packet: &Packet<H>, room: Bytes) -> Verdict {
        let overtakes = self.port.ignores(packet, room) && !self.is_empty();
        ensure!(!overtakes, "ignores a packet while it holds {}", self.held.len());
        Ok(())
    }

    /// A packet arrives. On an idle link it passes, or is queued and asked for again.
    pub(super) fn offer(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        way: Way,
    ) -> Result<Taken<H>, String> {
        let (ticket, before) = (self.tickets, self.length());
        self.tickets += 1;
        self.bytes += u64::from(packet.bytes);
        self.held.insert(ticket, packet);
        let ticketed = Packet { sent_ps: ticket, ..packet };
        let mut lost = Vec::new();
        let mut drop = |packet: Packet<H>, reason| lost.push((packet, reason));
        let leaves = match way {
            // Whoever is ignored must change nothing that is seen later.
            Way::Pass if self.port.ignores(&ticketed, room) => Some(ticketed),
            Way::Pass => {
                let mut packet = ticketed;
                self.port.pass(now, &mut packet, room, &mut drop).then_some(packet)
            }
            Way::Queue => {
                self.port.enqueue(now, ticketed, room, &mut drop);
                None
            }
            Way::QueueAndAsk => {
                self.port.enqueue(now, ticketed, room, &mut drop);
                self.port.dequeue(now)
            }
        };
        let mut dropped = Vec::with_capacity(lost.len());
        for (packet, reason) in lost {
            let newcomer = packet.sent_ps == ticket;
            ensure!(
                newcomer == (reason == Reason::Buffer),
                "drops a packet (newcomer: {newcomer}) as {reason:?}"
            );
            dropped.push((self.released(packet)?, reason));
        }
        let length = self.length();
        ensure!(length <= before.max(room), "holds {length} with room for {room}, {before} before");
        let leaves = leaves.map(|packet| self.released(packet)).transpose()?;
        self.balance()?;
        Ok(Taken { leaves, dropped })
    }

    /// What it holds, as room counts it: a packet is 1500 bytes where packets count.
    fn length(&self) -> Bytes {
        Bytes::new(match self.unit {
            QueueUnit::Bytes => self.bytes,
            QueueUnit::Packets => 1500 * self.held.len() as u64,
        })
    }

    /// When the port gives what it holds, on a link that is free from `now` on. One that keeps packets back says when,
    /// or is to be woken first.
    pub(super) fn ready(&self, now: Time) -> Result<Option<Time>, String> {
        if P::WORK_CONSERVING {
            return Ok((!self.is_empty()).then_some(now));
        }
        let ready = self.port.next_ready(now);
        ensure!(ready.is_none() || !self.is_empty(), "ready to give a packet, but holds none");
        ensure!(ready.is_none_or(|at| now <= at && at < Time::MAX), "ready at {ready:?}, asked at {now}");
        let comes = ready.is_some() || self.is_empty() || self.port.next_wake().is_some();
        ensure!(comes, "keeps packets back, and neither says until when nor asks to be woken");
        Ok(ready)
    }

    /// The link is free.
    pub(super) fn ask(&mut self, now: Time) -> Result<Option<Packet<H>>, String> {
        let packet = self.port.dequeue(now).map(|packet| self.released(packet)).transpose()?;
        self.balance()?;
        Ok(packet)
    }

    /// The time that the port has asked for has come.
    pub(super) fn wake(&mut self, now: Time) -> Verdict {
        self.series.clear();
        self.port.on_wake(now, &mut self.series);
        let next = self.port.next_wake();
        ensure!(next.is_none_or(|next| next > now), "woken at {now}, a port asks for the past");
        self.balance()
    }

    /// An acknowledgement comes back over the port's link.
    pub(super) fn reverse(&mut self, now: Time, mut packet: Packet<H>) -> Result<Packet<H>, String> {
        if P::REVERSE {
            let before = packet;
            self.port.on_reverse(now, &mut packet);
            unchanged(&before, &packet)?;
            ensure!(before.ecn() == packet.ecn(), "an acknowledgement that comes back is marked");
            self.balance()?;
        }
        Ok(packet)
    }

    /// Takes a packet off the books.
    fn released(&mut self, mut packet: Packet<H>) -> Result<Packet<H>, String> {
        let Some(before) = self.held.remove(&packet.sent_ps) else {
            return Err(format!("gives or drops a packet that it does not hold: {packet:?}"));
        };
        packet.sent_ps = before.sent_ps;
        unchanged(&before, &packet)?;
        self.bytes -= u64::from(packet.bytes);
        match (before.ecn(), packet.ecn()) {
            (Ecn::Capable, Ecn::Marked) => self.marks += 1,
            (Ecn::NotCapable, Ecn::Marked) => return Err("marks a packet that is not ECN-capable".into()),
            (was, is) => ensure!(was == is, "makes {is:?} of {was:?}"),
        }
        Ok(packet)
    }

    /// The port's counters agree with the books.
    fn balance(&self) -> Verdict {
        let (backlog, packets) = (self.port.backlog().get(), self.port.backlog_packets());
        let held = self.held.len();
        ensure!(
            (backlog, packets) == (self.bytes, held),
            "says that it holds {packets} packets and {backlog} bytes: it holds {held} and {}",
            self.bytes
        );
        let empty = self.port.is_empty();
        ensure!(empty == (held == 0), "says that it is empty: {empty}; it holds {held} packets");
        let by_queue: u64 = (0..MAX_PRIORITIES as u8).map(|queue| self.port.backlog_of(queue).get()).sum();
        ensure!(by_queue == self.bytes, "queues hold {by_queue} bytes, the port {}", self.bytes);
        // What is held may have been marked already.
        let capable = || self.held.values().filter(|packet| packet.ecn() == Ecn::Capable).count() as u64;
        let (counted, marks) = (self.port.marked(), self.marks);
        ensure!(
            counted >= marks && (counted == marks || counted <= marks + capable()),
            "counts {counted} marks: {marks} have left or were dropped, {} may be marked inside",
            capable()
        );
        Ok(())
    }
}

/// How a packet goes through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The link is busy, or the port keeps packets back.
    Queue,
    /// The link is idle and nothing waits.
    Pass,
    /// The same, without a shortcut.
    QueueAndAsk,
}

/// A port writes the scheme's header, the priority and the ECN field, and nothing else.
fn unchanged<H: Header>(before: &Packet<H>, after: &Packet<H>) -> Verdict {
    let fields = |packet: &Packet<H>| {
        let Packet { flow, dst, src, bytes, seq, block_start, block_end, sent_ps, .. } = *packet;
        (packet.kind(), flow, dst, src, bytes, seq, block_start, block_end, sent_ps)
    };
    ensure!(fields(before) == fields(after), "makes {after:?} of {before:?}");
    Ok(())
}
