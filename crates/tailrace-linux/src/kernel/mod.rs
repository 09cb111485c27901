//! A run whose flows are TCP connections of the machine's kernel.
//!
//! The fabric runs as it does between hosts with programs: in one loop, on the caller's thread. The load generator, which
//! is such a program, has a thread of its own. All connections have been set up before their flows start, as flows of the
//! simulated levels have nothing to set up; the handshakes of the first of them go through a fabric that is thrown away.

mod connections;
mod load;
#[cfg(test)]
mod load_tests;
mod settings;
mod tags;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};

use tailrace_core::{Ending, LiveError, Outcome, Progress, RealTime, Running, Scheme, Time};

use tailrace_packet::{Pause, World};

use self::load::{Load, Loaded};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::hosts::Hosts;
use crate::link::Wanted;
use crate::packets::Priorities;
use crate::run::{Limits, REPORT_EVERY, check_entry, check_lag};
use crate::sys::{Punctual, allow_many_files};

pub use self::load::Flows;
pub use self::settings::Terms;
pub use self::tags::{Tagger, Tags};

/// All connections must be there after this time.
const LONGEST_SETUP: Time = Time::from_ms(30_000);
/// From when both threads know the clock to when it starts.
const LEAD: Time = Time::from_ms(5);
/// The generator sleeps no longer than this, so that it notices when it is to stop.
const LONGEST_SLEEP: Time = Time::from_ms(20);

/// So many times later than packets flows may start: a late start counts once, a late packet in each round trip, and flows
/// that start together are started one after another.
const STARTS: u64 = 10;

/// What the two threads know of one another.
#[derive(Debug, Default)]
struct Shared {
    /// Connections have been set up.
    ready: AtomicBool,
    /// The load is to end.
    stop: AtomicBool,
    started: AtomicUsize,
    finished: AtomicUsize,
}

/// A fabric for the handshakes and one for the run, whose hosts stand outside and whose feeds are empty.
pub struct Fabrics<S: Scheme> {
    /// Carries the first handshakes.
    pub rehearsal: World<S>,
    /// Carries the flows.
    pub run: World<S>,
}

/// Runs `flows` between `hosts` as TCP connections that keep to `terms`, over a fabric that takes packets for what
/// `priorities` says. `report` is called now and then and may end the run. Fails if the machine was too slow for its
/// numbers to say anything, or a connection broke.
pub fn run_on_kernel<S: Scheme>(
    fabrics: Fabrics<S>,
    flows: Flows<'_>,
    hosts: &Hosts,
    priorities: &Priorities,
    terms: &Terms,
    limits: Limits,
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> Result<(Outcome, Ending), LiveError> {
    terms.apply(hosts)?;
    allow_many_files();
    let shared = Shared::default();
    let driver = |world| Driver::new(world, hosts, priorities.clone(), terms.mss, false, Wanted::Best);
    // What hosts send before there is a fabric is lost.
    let rehearsal = driver(fabrics.rehearsal)?;
    #[expect(clippy::disallowed_methods, reason = "what programs do must not hold up the fabric")]
    thread::scope(|scope| {
        let (start, started) = channel();
        let generator = scope.spawn(|| generate(hosts, terms, flows, &shared, started));
        let carried = carry_handshakes(rehearsal, &shared, &generator, report)
            .and_then(|()| driver(fabrics.run))
            .and_then(|driver| carry(driver, start, &shared, &generator, report));
        shared.stop.store(true, Ordering::Release);
        let loaded = generator.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        finish(carried, loaded, hosts, limits)
    })
}

type Generator<'scope> = ScopedJoinHandle<'scope, Result<(Loaded, Ending), LiveError>>;

/// The generator's thread.
fn generate(
    hosts: &Hosts,
    terms: &Terms,
    flows: Flows<'_>,
    shared: &Shared,
    start: Receiver<Clock>,
) -> Result<(Loaded, Ending), LiveError> {
    let _punctual = Punctual::begin();
    let stop = || shared.stop.load(Ordering::Acquire);
    let mut load = Load::new(hosts, terms, flows)?;
    while !load.get_ready(LONGEST_SLEEP)? && !stop() {}
    shared.ready.store(true, Ordering::Release);
    // Without a clock there is no run: the driver says why.
    let Ok(clock) = start.recv() else { return Ok((load.into_loaded(Time::ZERO)?, Ending::Interrupted)) };
    while clock.until_start() > Time::ZERO {
        load.get_ready(clock.until_start())?;
    }
    let ending = loop {
        load.turn(&clock, LONGEST_SLEEP)?;
        let (started, finished) = load.counts();
        shared.started.store(started, Ordering::Relaxed);
        shared.finished.store(finished, Ordering::Relaxed);
        if load.is_over() {
            break Ending::Finished;
        }
        if load.is_stalled(clock.now()) {
            break Ending::Stalled;
        }
        if stop() {
            break Ending::Horizon;
        }
    };
    Ok((load.into_loaded(clock.now())?, ending))
}

/// Runs a fabric until the generator has its connections.
fn carry_handshakes<S: Scheme>(
    mut driver: Driver<'_, S>,
    shared: &Shared,
    generator: &Generator<'_>,
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> Result<(), LiveError> {
    let mut next_report = REPORT_EVERY;
    while !shared.ready.load(Ordering::Acquire) && !generator.is_finished() {
        driver.turn(next_report)?;
        if driver.now() >= next_report {
            next_report = driver.now() + REPORT_EVERY;
            if report(&mut Progress::default()).is_break() {
                return Err(LiveError::Interrupted);
            }
        }
        if driver.now() > LONGEST_SETUP {
            let message = format!("the connections of the first flows were not there after {LONGEST_SETUP}");
            return Err(LiveError::TooSlow(message));
        }
    }
    Ok(())
}

/// Runs the fabric until the load has ended, or the horizon is reached.
fn carry<S: Scheme>(
    mut driver: Driver<'_, S>,
    start: Sender<Clock>,
    shared: &Shared,
    generator: &Generator<'_>,
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> Result<Carried, LiveError> {
    // What was lost while nobody took anything in was none of a flow's.
    let before = driver.exact_frame_counters().lost;
    // A generator that has failed says why later.
    let _ = start.send(driver.start_in(LEAD)?);
    let mut next_report = REPORT_EVERY;
    while !generator.is_finished() {
        if driver.turn(next_report)? == Pause::Horizon {
            break;
        }
        let now = driver.now();
        if now >= next_report {
            next_report = now + REPORT_EVERY;
            let started = shared.started.load(Ordering::Relaxed);
            let finished = shared.finished.load(Ordering::Relaxed);
            if report(&mut Progress { started, finished, ..driver.world().progress() }).is_break() {
                return Err(LiveError::Interrupted);
            }
        }
    }
    let mut real_time = driver.real_time();
    real_time.frame_counters.lost = real_time.frame_counters.lost.saturating_sub(before);
    Ok(Carried { outcome: driver.into_world()?.into_outcome(), real_time })
}

/// What the fabric leaves behind.
struct Carried {
    outcome: Outcome,
    real_time: RealTime,
}

fn finish(
    carried: Result<Carried, LiveError>,
    loaded: Result<(Loaded, Ending), LiveError>,
    hosts: &Hosts,
    limits: Limits,
) -> Result<(Outcome, Ending), LiveError> {
    // Where the generator has failed, the fabric has only stopped.
    let (Loaded { flows, tasks, starts }, ending) = loaded?;
    let Carried { outcome, real_time } = carried?;
    check_losses(real_time.frame_counters.lost, hosts.lost_on_links()?)?;
    check_lag("packet", &real_time.left, limits)?;
    check_entry(&real_time.entered, limits)?;
    check_lag("flow's start", &starts, Limits { lag: limits.lag * STARTS, stall: Time::MAX })?;
    let real_time = Some(RealTime { started: starts, ..real_time });
    Ok((Outcome { flows, tasks, real_time, ..outcome }, ending))
}

fn check_losses(overrun: u64, lost: u64) -> Result<(), LiveError> {
    if overrun + lost == 0 {
        return Ok(());
    }
    let message = format!(
        "the machine was too slow: {overrun} packets were lost between hosts and fabric, {lost} between fabric and \
         hosts, where nothing may be lost; ask for fewer hosts, lower rates or less load"
    );
    Err(LiveError::TooSlow(message))
}
