//! A run of several parts, a thread each.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{panic, thread};

use tailrace_core::{Ending, FlowRecord, Outcome, Progress, Running, Scheme, Time};

use super::mail::{END, Mail, mail};
use crate::World;
use crate::cut::{Cut, LookAheads, PartOf};
use crate::message::Message;
use crate::world::Stretch;

/// Steps of a part's clock in the shortest round of look-aheads from it back to it: the more, the less parts wait for each other, and
/// the more often they write.
const STEPS: u64 = 8;

/// Turns, or events, between two looks at the caller.
const TURNS_PER_REPORT: u32 = 1 << 12;
const EVENTS_PER_REPORT: u64 = 1 << 17;

/// Runs a scenario in the parts of `cut`, which concern each other a look-ahead later at the earliest. `build` makes the
/// world of one part at time zero. `report` is called now and then and may end the run.
///
/// # Panics
///
/// If a thread does, with what it said.
pub fn run_parts<S: Scheme, E: Send>(
    cut: &Arc<Cut>,
    ahead: &LookAheads,
    build: &(impl Fn(PartOf) -> Result<World<S>, E> + Sync),
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> Result<(Outcome, Ending), E> {
    let hops: Vec<AtomicU64> = (0..cut.parts()).map(|_| AtomicU64::new(0)).collect();
    let (hops, rounds) = (&hops, ahead.rounds());
    let part = |own, mail, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>| {
        let world = build(PartOf { cut: Arc::clone(cut), own })?;
        let step = (rounds[own].as_ps() / STEPS).max(1);
        Ok(Part { own, world, mail, step, done: 0, hops }.run(report))
    };
    #[expect(clippy::disallowed_methods, reason = "parts have threads of their own, which end with the run")]
    let done: Vec<Result<(Outcome, Ending), E>> = thread::scope(|scope| {
        let part = &part;
        let to = |own| (0..cut.parts()).map(|from| ahead.between(from, own).as_ps()).collect();
        let mut mail = mail((0..cut.parts()).map(to).collect()).into_iter().enumerate();
        let first = mail.next();
        let others: Vec<_> = mail
            .map(|(own, mail)| scope.spawn(move || part(own, mail, &mut |_| ControlFlow::Continue(()))))
            .collect();
        let first = first.map(|(own, mail)| part(own, mail, report));
        let others = others.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(said) => panic::resume_unwind(said),
        });
        first.into_iter().chain(others).collect()
    });
    let mut whole = Vec::new();
    for part in done {
        whole.push(part?);
    }
    let ending = whole[0].1;
    Ok((join(cut, whole.into_iter().map(|(outcome, _)| outcome)), ending))
}

/// One part of a run.
struct Part<'a, S: Scheme> {
    own: usize,
    world: World<S>,
    mail: Mail<Message<S::Header>>,
    /// How far it goes before others may know.
    step: u64,
    /// It is done up to here.
    done: u64,
    /// Packet-hops of each part, now and then.
    hops: &'a [AtomicU64],
}

impl<S: Scheme> Part<'_, S> {
    fn run(mut self, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>) -> (Outcome, Ending) {
        self.world.begin();
        let (mut turns, mut events) = (0, EVENTS_PER_REPORT);
        // The clocks when somebody wanted no more, until all know.
        let (mut stops, mut stopped) = (None, false);
        let ending = loop {
            let Some(limit) = self.wait(self.done + 1) else {
                return (self.world.into_outcome(), Ending::Interrupted);
            };
            match self.world.idle_until().as_ps() {
                until if until >= limit && stops.is_none() => self.mail.rest(until),
                _ => self.mail.stir(),
            }
            if let Some(ending) = self.go_on(limit) {
                break ending;
            }
            if stops.take_if(|since: &mut Vec<u64>| self.mail.have_moved(since)).is_some() {
                self.stop();
            }
            turns += 1;
            let looks = turns >= TURNS_PER_REPORT || self.world.events() >= events;
            if looks {
                (turns, events) = (0, self.world.events() + EVENTS_PER_REPORT);
            }
            if looks && self.report(report).is_break() && !stopped {
                stopped = true;
                self.mail.stir();
                stops = Some(self.mail.clocks());
            }
        };
        // What the others have sent until their ends is on its way, and is counted here.
        self.mail.advance(END);
        self.wait(END);
        (self.world.into_outcome(), ending)
    }

    /// Has all stop. That this part rests it must have taken back, and all others must have moved since: until then somebody may
    /// have found that nobody has anything to do for long, and have gone there.
    fn stop(&mut self) {
        self.world.announce_stop(Time::from_ps(self.done.max(self.mail.quiet())));
    }

    /// Waits until nothing that others do concerns this part before `time`, and takes in what they have sent. Returns until when
    /// that holds; `None` if somebody is gone.
    fn wait(&mut self, time: u64) -> Option<u64> {
        let Part { world, mail, done, .. } = self;
        mail.wait(time, |message| world.receive(message, Time::from_ps(*done)))
    }

    /// Goes on up to `limit`, and lets others know every now and then. Returns how the run has ended, if it has.
    fn go_on(&mut self, limit: u64) -> Option<Ending> {
        while self.done < limit {
            let next = self.world.next_event().map_or(END, Time::as_ps);
            self.done = next.max(self.done).saturating_add(self.step).min(limit);
            let end = Time::from_ps(self.done);
            if let Stretch::Ended(ending) = self.world.run_before(end, u32::MAX) {
                self.send(self.world.progress().now);
                return Some(ending);
            }
            self.send(end);
            self.mail.advance(self.done);
        }
        None
    }

    /// Sends what others are to know of what was before `end`. While there is no room, they may wait for room here.
    fn send(&mut self, end: Time) {
        while !self.mail.send(self.world.messages(end)) && !self.mail.is_broken() {
            thread::yield_now();
            self.wait(0);
        }
    }

    /// Adds up what all parts have done; the first one tells.
    fn report(&self, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>) -> ControlFlow<()> {
        let hops = self.hops;
        hops[self.own].store(self.world.progress().packet_hops, Ordering::Relaxed);
        let packet_hops = hops.iter().map(|hops| hops.load(Ordering::Relaxed)).sum();
        report(&mut Progress { packet_hops, ..self.world.progress() })
    }
}

/// What comes of all parts together.
fn join(cut: &Cut, parts: impl Iterator<Item = Outcome>) -> Outcome {
    let mut parts = parts.enumerate();
    let (_, mut whole) = parts.next().expect("there is a part");
    for (own, part) in parts {
        whole.end = whole.end.max(part.end);
        whole.digest = whole.digest.wrapping_add(part.digest);
        whole.events += part.events;
        let join = |(mine, theirs): (FlowRecord, FlowRecord)| {
            let known = if cut.of_host(theirs.src) == own { theirs } else { mine };
            FlowRecord { end: mine.end.min(theirs.end), ..known }
        };
        assert_eq!(whole.flows.len(), part.flows.len(), "every part draws all flows");
        whole.flows = std::iter::zip(whole.flows.iter(), part.flows.iter()).map(join).collect();
        for (port, counts) in (0..).zip(part.ports) {
            if cut.of_port(port) == own {
                whole.ports[port as usize] = counts;
            }
        }
        whole.series.rows.extend(part.series.rows);
        whole.ledger = whole.ledger.zip(part.ledger).map(|(one, other)| one + other);
    }
    whole.settled()
}
