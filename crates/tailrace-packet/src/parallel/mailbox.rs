//! The exchange between the logical processes of a run: messages, clocks and idle notices.
//!
//! - *Channels.* Each ordered pair of processes has a ring with one writer and one reader, which needs no lock.
//! - *Clocks.* A process publishes its clock after it has sent all messages of before. The others read it from shared memory
//!   where Chandy, Misra and Bryant send null messages: it bounds from below the time of every message to come.
//!   The safe time of a process is the minimum of clock + look-ahead over the others.
//! - *Idle notices.* A process with nothing to do publishes until when, and how many messages it has sent and received. If the notices of all
//!   processes hold at one moment, and as many messages are received as are sent, then no message is in flight and all are
//!   idle until the earliest of these times, and jump there. Termination of distributed programs is detected by counters like these
//!   (Mattern 1987); here it spares null messages over long pauses.

use std::sync::Arc;
use std::thread::{available_parallelism, panicking};

use rtrb::{Consumer, Producer, RingBuffer};

use super::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use super::sync::{hint, thread};
use crate::partition::Partition;

/// Turns for which a thread spins before it yields its processor, if there is a processor for each thread: at most, and after others have
/// turned out to have none. A thread that yields for nothing gets its processor back at once.
const MAX_SPINS: u32 = 1 << 14;
const MIN_SPINS: u32 = 1 << 5;

/// Turns of waiting between two looks at the channels.
const TURNS_PER_RECEIVE: u32 = 64;

/// Messages that may be in flight from a process to all others, and the least and the most that a channel holds: few enough to stay in a
/// core's own cache. A channel holds those of some look-aheads by racks; by stages, on 144 hosts, those of a third of one, and a capacity of
/// 4,096 made no difference beyond noise.
const MESSAGES_IN_FLIGHT: usize = 8_192;
const MIN_CHANNEL_CAPACITY: usize = 256;
const MAX_CHANNEL_CAPACITY: usize = 1_024;

/// The clock of a process that has come to its end.
pub(crate) const END: u64 = u64::MAX;

/// Something that one thread writes and others read, alone in two cache lines, which are fetched as one.
#[repr(align(128))]
#[derive(Default)]
struct CachePadded<T>(T);

/// The published state of a process: its clock, in picoseconds, and its idle notice. All messages from before its clock are sent; later
/// ones count a look-ahead after it at the earliest.
#[derive(Default)]
struct Status {
    clock: AtomicU64,
    idle: IdleCell,
}

/// The idle notice of a process, under a sequence lock: it holds until the process publishes the next one.
#[derive(Default)]
struct IdleCell {
    /// Twice the notices so far; odd while one is being written.
    version: AtomicU64,
    until: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

/// An idle notice: the process has nothing to do until then unless it gets messages, and has sent and received so many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IdleNotice {
    until: u64,
    sent: u64,
    received: u64,
}

/// The notice of a process that has something to do.
const BUSY: IdleNotice = IdleNotice { until: 0, sent: 0, received: 0 };

impl IdleCell {
    fn store(&self, notice: IdleNotice) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.until.store(notice.until, Ordering::SeqCst);
        self.sent.store(notice.sent, Ordering::SeqCst);
        self.received.store(notice.received, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// The notice and its version; `None` if the process is busy, or its notice is being written.
    fn load(&self) -> Option<(IdleNotice, u64)> {
        let version = self.version.load(Ordering::SeqCst);
        let [until, sent, received] =
            [&self.until, &self.sent, &self.received].map(|field| field.load(Ordering::SeqCst));
        (version.is_multiple_of(2) && until > 0).then_some((IdleNotice { until, sent, received }, version))
    }
}

/// The memory that all processes share.
struct Shared {
    processes: Vec<CachePadded<Status>>,
    /// All processes are idle until then, by what one of them has detected.
    quiescent_until: CachePadded<AtomicU64>,
    broken: AtomicBool,
    max_spins: u32,
}

/// The mailbox of one logical process.
pub(crate) struct Mailbox<T> {
    own: usize,
    shared: Arc<Shared>,
    /// The look-ahead from each process to this one; its own does not count.
    look_aheads: Vec<u64>,
    /// The channel to each other process.
    outgoing: Vec<(usize, Producer<T>)>,
    /// The channel from each other process.
    incoming: Vec<Consumer<T>>,
    /// Messages so far.
    sent: u64,
    received: u64,
    /// The notice that it has published last.
    notice: IdleNotice,
    /// For how many turns it spins at present before it yields its processor.
    spins: u32,
}

/// Mailboxes of processes whose clocks are at zero; `look_aheads` has, for each, the look-ahead from each of all to it.
pub(crate) fn mailboxes<T>(look_aheads: Vec<Vec<u64>>) -> Vec<Mailbox<T>> {
    let processes = look_aheads.len();
    let processors = available_parallelism().map_or(1, usize::from);
    let shared = Arc::new(Shared {
        processes: (0..processes).map(|_| CachePadded::default()).collect(),
        quiescent_until: CachePadded::default(),
        broken: AtomicBool::new(false),
        max_spins: if processes <= processors { MAX_SPINS } else { 0 },
    });
    let mailbox = |(own, look_aheads)| {
        let shared = Arc::clone(&shared);
        let spins = shared.max_spins;
        Mailbox {
            own,
            shared,
            look_aheads,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            sent: 0,
            received: 0,
            notice: BUSY,
            spins,
        }
    };
    let mut mailboxes: Vec<Mailbox<T>> = look_aheads.into_iter().enumerate().map(mailbox).collect();
    for sender in 0..processes {
        for receiver in (0..processes).filter(|&receiver| receiver != sender) {
            let (producer, consumer) = RingBuffer::new(
                (MESSAGES_IN_FLIGHT / processes).clamp(MIN_CHANNEL_CAPACITY, MAX_CHANNEL_CAPACITY),
            );
            mailboxes[sender].outgoing.push((receiver, producer));
            mailboxes[receiver].incoming.push(consumer);
        }
    }
    mailboxes
}

impl<T: Copy> Mailbox<T> {
    /// Sends messages, by receiver, in their order, as many as there is room for, and removes them. Returns whether all are
    /// sent.
    pub(crate) fn send(&mut self, messages: &mut [Vec<T>]) -> bool {
        let mut all = true;
        for (receiver, outgoing) in &mut self.outgoing {
            let messages = &mut messages[*receiver];
            if messages.is_empty() {
                continue;
            }
            let (sent, rest) = outgoing.push_partial_slice(messages);
            self.sent += sent.len() as u64;
            if rest.is_empty() {
                messages.clear();
            } else {
                messages.drain(..sent.len());
                all = false;
            }
        }
        all
    }

    /// Receives all messages that have arrived.
    pub(crate) fn receive(&mut self, mut receive: impl FnMut(&T)) {
        for from in &mut self.incoming {
            let Ok(chunk) = from.read_chunk(from.slots()) else { continue };
            let (first, rest) = chunk.as_slices();
            for messages in [first, rest] {
                messages.iter().for_each(&mut receive);
            }
            self.received += chunk.len() as u64;
            chunk.commit_all();
        }
    }

    /// Publishes the clock of this process. All messages of before are sent: to the others this is a null message.
    pub(crate) fn advance(&self, clock: u64) {
        self.shared.processes[self.own].0.clock.store(clock, Ordering::Release);
    }

    /// Announces that this process has nothing to do before `until` unless it gets messages. It has taken in all that it has received.
    ///
    /// Then detects whether all processes are idle. Notices that have not changed between two looks held at the same time, and a process
    /// withdraws its notice before it does anything and might send messages. So if the processes have received as many messages as
    /// they have sent, all of them are idle until the earliest time in their notices.
    pub(crate) fn announce_idle(&mut self, until: u64) {
        self.announce(IdleNotice { until, sent: self.sent, received: self.received });
        // Others see this process's clock as it is, before their notices are loaded: one that withdraws its notice and does not see this
        // clock yet has a notice that is not loaded any more, and does not take this clock for a later one (`have_advanced`).
        fence(Ordering::SeqCst);
        let shared = &*self.shared;
        let (mut earliest, mut sent, mut received) = (END, 0, 0);
        let mut versions = [0; Partition::MAX_PROCESSES];
        for (process, version) in shared.processes.iter().zip(&mut versions) {
            let Some((notice, of_this)) = process.0.idle.load() else { return };
            *version = of_this;
            (earliest, sent, received) =
                (earliest.min(notice.until), sent + notice.sent, received + notice.received);
        }
        let holds = |(process, version): (&CachePadded<Status>, &u64)| {
            process.0.idle.version.load(Ordering::SeqCst) == *version
        };
        if sent == received && shared.processes.iter().zip(&versions).all(holds) {
            shared.quiescent_until.0.fetch_max(earliest, Ordering::AcqRel);
        }
    }

    /// Withdraws the idle notice: this process has something to do from now on.
    #[inline]
    pub(crate) fn announce_busy(&mut self) {
        if self.notice != BUSY {
            self.announce(BUSY);
        }
    }

    fn announce(&mut self, notice: IdleNotice) {
        if self.notice != notice {
            self.notice = notice;
            self.shared.processes[self.own].0.idle.store(notice);
        }
    }

    /// The clocks of all processes.
    pub(crate) fn clocks(&self) -> Vec<u64> {
        self.shared.processes.iter().map(|process| process.0.clock.load(Ordering::SeqCst)).collect()
    }

    /// Whether the clock of each other process has advanced since, or is at its end. A process that had detected before then that all are
    /// idle has published that, since it does so before its clock advances.
    pub(crate) fn have_advanced(&self, since: &[u64]) -> bool {
        let others = self.clocks().into_iter().zip(since).enumerate().filter(|(other, _)| *other != self.own);
        others.map(|(_, both)| both).all(|(clock, before)| clock == END || clock != *before)
    }

    /// Until when all processes are idle, by what has been detected.
    pub(crate) fn quiescent_until(&self) -> u64 {
        self.shared.quiescent_until.0.load(Ordering::Acquire)
    }

    /// Waits until the safe time of this process is `time` or later, and receives what has arrived: all messages from before the
    /// safe time, at least. Returns the safe time; `None` if a thread is gone.
    pub(crate) fn wait(&mut self, time: u64, mut receive: impl FnMut(&T)) -> Option<u64> {
        let mut turns = 0;
        loop {
            let safe_time = self.safe_time();
            if safe_time >= time {
                self.adapt_spins(turns);
                self.receive(&mut receive);
                return Some(safe_time);
            }
            if self.is_broken() {
                return None;
            }
            turns += 1;
            // The others may be waiting for room in these channels.
            if turns % TURNS_PER_RECEIVE == 0 {
                self.receive(&mut receive);
            }
            if turns < self.spins { hint::spin_loop() } else { thread::yield_now() }
        }
    }

    /// The time before which no further message counts: the minimum of clock + look-ahead over the other processes.
    pub(super) fn safe_time(&self) -> u64 {
        let quiescent_until = self.quiescent_until();
        let others = self.shared.processes.iter().zip(&self.look_aheads).enumerate();
        let others = others.filter(|(other, _)| *other != self.own);
        let known = others.map(|(_, (other, look_ahead))| {
            other.0.clock.load(Ordering::Acquire).max(quiescent_until).saturating_add(*look_ahead)
        });
        known.min().unwrap_or(END)
    }

    /// Learns for how long to spin: a thread that was waited for longer than that had no processor, and may lack one again.
    fn adapt_spins(&mut self, turns: u32) {
        let max = self.shared.max_spins;
        if turns >= self.spins {
            self.spins = MIN_SPINS.min(max);
        } else if turns > 0 && self.spins < max {
            self.spins = (self.spins + self.spins / 16).min(max);
        }
    }

    /// Whether a thread is gone whose process had not come to its end.
    pub(crate) fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Relaxed)
    }
}

/// No process waits for one that is gone before its end, by a panic or an error.
impl<T> Drop for Mailbox<T> {
    fn drop(&mut self) {
        if self.shared.processes[self.own].0.clock.load(Ordering::Relaxed) < END || panicking() {
            self.shared.broken.store(true, Ordering::Relaxed);
        }
    }
}
