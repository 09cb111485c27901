//! A controller that runs.
#![expect(
    clippy::disallowed_methods,
    reason = "a controller decides in real time, and who asks must not hold it up"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::SIGTERM;
use tailrace_console::complain;
use tailrace_core::{HostId, MAX_PRIORITIES, Time};
use tailrace_linux::{bind, notice, serve};

use super::brain::Brain;
use super::meeting;
use super::metrics::{self, Doing};
use crate::error::in_file;
use crate::etcd::{Candidate, Decision};
use crate::{ControlConfig, Error, FleetPart};

/// How often it is looked for what there is to do.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// As a shell reports a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// How a controller runs, beyond what its file has.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its file.
    pub file: PathBuf,
    /// It ends by itself after this time.
    pub lasts: Option<Time>,
    /// Where it answers Prometheus.
    pub metrics: Option<SocketAddr>,
}

/// Runs a controller until it is to end; returns the exit status of its command.
pub fn run(
    options: &Options,
    config: ControlConfig,
    fleet: FleetPart,
    interrupted: &dyn Fn() -> bool,
) -> Result<i32, Error> {
    let of_file = |error| in_file(error, &options.file);
    let name = meeting::name(&config.fleet, None).map_err(|error| of_file(error.into()))?;
    let instance = format!("{name}:{}", std::process::id());
    let server = options.metrics.map(bind).transpose()?;
    let stop = notice(&[SIGTERM])?;
    let slot = meeting::duration(config.fleet.slot);
    let reached = meeting::reach(&config.fleet).map_err(of_file)?;
    let candidate = Candidate::join(reached, &instance).map_err(meeting::failed)?;
    complain!("{instance}: at fleet {}, with slots of {}", config.fleet.fleet, config.fleet.slot);
    server.iter().for_each(|server| complain!("metrics: http://{}/metrics", server.server_addr()));
    let doing = Mutex::new(Doing { fleet: config.fleet.fleet.clone(), ..Doing::default() });
    let scenario = config.scenario.clone();
    let brain =
        Brain::new(&scenario, move |address| config.rack_of(address).map(HostId::from), fleet, &instance);
    thread::scope(|scope| {
        if let Some(server) = &server {
            let text = || metrics::text(&doing.lock().unwrap_or_else(PoisonError::into_inner));
            scope.spawn(move || serve(server, &text));
        }
        let mut run =
            Run { brain, candidate, slot, began: Instant::now(), next: Instant::now() + slot, doing: &doing };
        let ended = loop {
            let over = options.lasts.is_some_and(|lasts| run.now() >= lasts);
            match (interrupted(), over || stop.load(Ordering::Relaxed)) {
                (true, _) => break Ok(INTERRUPTED),
                (_, true) => break Ok(0),
                _ => {}
            }
            if let Err(error) = run.turn() {
                break Err(error);
            }
            thread::sleep(LOOK_EVERY.min(slot / 8));
        };
        run.candidate.leave();
        server.iter().for_each(|server| server.unblock());
        ended
    })
}

struct Run<'a> {
    brain: Brain,
    candidate: Candidate,
    slot: Duration,
    began: Instant,
    /// When it decides next.
    next: Instant,
    doing: &'a Mutex<Doing>,
}

impl Run<'_> {
    fn now(&self) -> Time {
        Time::from_ps((self.began.elapsed().as_nanos() as u64).saturating_mul(1_000))
    }

    fn turn(&mut self) -> Result<(), Error> {
        let now = self.now();
        self.candidate.take_events().into_iter().for_each(|event| self.brain.on_event(now, event));
        let mut decided = None;
        if Instant::now() >= self.next {
            self.next = (self.next + self.slot).max(Instant::now());
            let decision = self.brain.decide(now)?;
            self.candidate.publish(decision.clone());
            decided = Some(decision);
        }
        self.note(decided);
        Ok(())
    }

    /// What others are told; changes are said.
    fn note(&self, decided: Option<Decision>) {
        let mut doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        let (was_leading, was_lost) = (doing.leads, doing.standing.lost.is_some());
        (doing.leads, doing.leaderships) = self.candidate.leads();
        (doing.hosts, doing.flows) = self.brain.size();
        (doing.counts, doing.standing) = (self.brain.counts, self.candidate.standing());
        if let Some(decision) = decided {
            doing.slots += 1;
            let tags = decision.policy.directives.get(0, None, false).tags;
            let ends = (0..MAX_PRIORITIES).map(|priority| (priority, tags.range(priority).1));
            doing.thresholds = ends.filter(|(_, to)| *to < u64::MAX).collect();
        }
        match (was_leading, doing.leads) {
            (false, true) => complain!("leads: {} hosts report", doing.hosts),
            (true, false) => complain!("does not lead any more"),
            _ => {}
        }
        match (&doing.standing.lost, was_lost) {
            (Some((_, why)), false) => complain!("lost etcd: {why}; it is tried again and again"),
            (None, true) => complain!("etcd is back"),
            _ => {}
        }
    }
}
