//! A run of several logical processes, a thread each.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{panic, thread};

use tailrace_core::{Ending, FlowRecord, Outcome, Progress, Running, Scheme, Time};

use super::mailbox::{END, Mailbox, mailboxes};
use crate::World;
use crate::message::Message;
use crate::partition::{LookAheads, Partition, ProcessSpec};
use crate::world::Stretch;

/// Steps of a process's clock in the shortest round of look-aheads from it back to it: the more, the less processes wait for each other,
/// and the more often they publish their clocks.
const STEPS: u64 = 8;

/// Turns, or events, between two looks at the caller.
const TURNS_PER_REPORT: u32 = 1 << 12;
const EVENTS_PER_REPORT: u64 = 1 << 17;

/// Runs a scenario in the logical processes of `partition`, whose messages to each other count a look-ahead later at the earliest. `build` makes
/// the world of one process at time zero. `report` is called now and then and may end the run.
///
/// # Panics
///
/// If a thread does, with its payload.
pub fn run_parallel<S: Scheme, E: Send>(
    partition: &Arc<Partition>,
    look_aheads: &LookAheads,
    build: &(impl Fn(ProcessSpec) -> Result<World<S>, E> + Sync),
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> Result<(Outcome, Ending), E> {
    let hops: Vec<AtomicU64> = (0..partition.processes()).map(|_| AtomicU64::new(0)).collect();
    let (hops, rounds) = (&hops, look_aheads.rounds());
    let process = |own, mailbox, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>| {
        let world = build(ProcessSpec { partition: Arc::clone(partition), own })?;
        let step = (rounds[own].as_ps() / STEPS).max(1);
        Ok(LogicalProcess { own, world, mailbox, step, clock: 0, hops }.run(report))
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "processes have threads of their own, which end with the run"
    )]
    let done: Vec<Result<(Outcome, Ending), E>> = thread::scope(|scope| {
        let process = &process;
        let to =
            |own| (0..partition.processes()).map(|from| look_aheads.between(from, own).as_ps()).collect();
        let mut mailboxes = mailboxes((0..partition.processes()).map(to).collect()).into_iter().enumerate();
        let first = mailboxes.next();
        let others: Vec<_> = mailboxes
            .map(|(own, mailbox)| {
                scope.spawn(move || process(own, mailbox, &mut |_| ControlFlow::Continue(())))
            })
            .collect();
        let first = first.map(|(own, mailbox)| process(own, mailbox, report));
        let others = others.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(said) => panic::resume_unwind(said),
        });
        first.into_iter().chain(others).collect()
    });
    let mut whole = Vec::new();
    for process in done {
        whole.push(process?);
    }
    let ending = whole[0].1;
    Ok((merge(partition, whole.into_iter().map(|(outcome, _)| outcome)), ending))
}

/// A logical process: the world of its share of the fabric, with a clock of its own.
struct LogicalProcess<'a, S: Scheme> {
    own: usize,
    world: World<S>,
    mailbox: Mailbox<Message<S::Header>>,
    /// How far it simulates before it publishes its clock.
    step: u64,
    /// It has simulated all before this.
    clock: u64,
    /// Packet-hops of each process, as of its last report.
    hops: &'a [AtomicU64],
}

impl<S: Scheme> LogicalProcess<'_, S> {
    fn run(mut self, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>) -> (Outcome, Ending) {
        self.world.begin();
        let (mut turns, mut events) = (0, EVENTS_PER_REPORT);
        // The clocks when the caller ended the run, until those of all others have advanced.
        let (mut stops, mut stopped) = (None, false);
        let ending = loop {
            let Some(safe_time) = self.wait(self.clock + 1) else {
                return (self.world.into_outcome(), Ending::Interrupted);
            };
            match self.world.idle_until().as_ps() {
                until if until >= safe_time && stops.is_none() => self.mailbox.announce_idle(until),
                _ => self.mailbox.announce_busy(),
            }
            if let Some(ending) = self.simulate_before(safe_time) {
                break ending;
            }
            if stops.take_if(|since: &mut Vec<u64>| self.mailbox.have_advanced(since)).is_some() {
                self.stop();
            }
            turns += 1;
            let looks = turns >= TURNS_PER_REPORT || self.world.events() >= events;
            if looks {
                (turns, events) = (0, self.world.events() + EVENTS_PER_REPORT);
            }
            if looks && self.report(report).is_break() && !stopped {
                stopped = true;
                self.mailbox.announce_busy();
                stops = Some(self.mailbox.clocks());
            }
        };
        // Messages that the others have sent before their ends are in flight, and are counted here.
        self.mailbox.advance(END);
        self.wait(END);
        (self.world.into_outcome(), ending)
    }

    /// Stops all processes. This one must have withdrawn its idle notice, and the clocks of all others must have advanced since: until then
    /// one of them may have detected that all are idle for long, and have gone there.
    fn stop(&mut self) {
        self.world.announce_stop(Time::from_ps(self.clock.max(self.mailbox.quiescent_until())));
    }

    /// Waits until the safe time is `time` or later, and takes in the messages that have arrived. Returns the safe time; `None` if a
    /// thread is gone.
    fn wait(&mut self, time: u64) -> Option<u64> {
        let LogicalProcess { world, mailbox, clock, .. } = self;
        mailbox.wait(time, |message| world.receive(message, Time::from_ps(*clock)))
    }

    /// Simulates all before `safe_time`, and publishes its clock every step. Returns how the run has ended, if it has.
    fn simulate_before(&mut self, safe_time: u64) -> Option<Ending> {
        while self.clock < safe_time {
            let next = self.world.next_event().map_or(END, Time::as_ps);
            self.clock = next.max(self.clock).saturating_add(self.step).min(safe_time);
            let end = Time::from_ps(self.clock);
            if let Stretch::Ended(ending) = self.world.run_before(end, u32::MAX) {
                self.send(self.world.progress().now);
                return Some(ending);
            }
            self.send(end);
            self.mailbox.advance(self.clock);
        }
        None
    }

    /// Sends the messages about all before `end`. While a channel is full, the others may be waiting for room in the channels to this process.
    fn send(&mut self, end: Time) {
        while !self.mailbox.send(self.world.messages(end)) && !self.mailbox.is_broken() {
            thread::yield_now();
            self.wait(0);
        }
    }

    /// Reports the packet-hops of all processes together, and the progress of this one.
    fn report(&self, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>) -> ControlFlow<()> {
        let hops = self.hops;
        hops[self.own].store(self.world.progress().packet_hops, Ordering::Relaxed);
        let packet_hops = hops.iter().map(|hops| hops.load(Ordering::Relaxed)).sum();
        report(&mut Progress { packet_hops, ..self.world.progress() })
    }
}

/// Merges the outcomes of all processes.
fn merge(partition: &Partition, outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    let mut outcomes = outcomes.enumerate();
    let (_, mut whole) = outcomes.next().expect("there is a part");
    for (own, outcome) in outcomes {
        whole.end = whole.end.max(outcome.end);
        whole.digest = whole.digest.wrapping_add(outcome.digest);
        whole.events += outcome.events;
        let merge = |(mine, theirs): (FlowRecord, FlowRecord)| {
            let known = if partition.of_host(theirs.src) == own { theirs } else { mine };
            FlowRecord { end: mine.end.min(theirs.end), ..known }
        };
        assert_eq!(whole.flows.len(), outcome.flows.len(), "every part draws all flows");
        whole.flows = std::iter::zip(whole.flows.iter(), outcome.flows.iter()).map(merge).collect();
        for (port, counts) in (0..).zip(outcome.ports) {
            if partition.of_port(port) == own {
                whole.ports[port as usize] = counts;
            }
        }
        whole.series.rows.extend(outcome.series.rows);
        whole.ledger = whole.ledger.zip(outcome.ledger).map(|(one, other)| one + other);
    }
    whole.settled()
}
