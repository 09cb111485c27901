//! `tailrace agent`: tags in the packets of this machine, or windows for its connections, by a scheme.

use std::fmt::Display;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{Shutdown, shutdown};
use signal_hook::consts::{SIGHUP, SIGTERM};
use tailrace_bpf::{Capture, Cgroup, Pins, Rule, Traffic, Wanted, check_tagging, monotonic, taggers_at};
use tailrace_config::ScenarioError;
use tailrace_console::{complain, complain_part};
use tailrace_core::{LiveError, Time};
use tailrace_linux::{Account, bind, no_new_rights, notice, serve, unreadable};

use super::datapath::Datapath;
use super::fleet::{self, InFleet};
use super::interface::Interface;
use super::learn::{hand_over, learn};
use super::left::{left_behind, pins, remove_gone};
use super::notify::Notify;
use super::status::Status;
use super::types::FleetStatus;
use super::{answers, claim, known, metrics};
use crate::error::in_file;
use crate::{AgentConfig, Error, HostPart, dry_run, for_agent};

/// How often it is looked for what there is to do.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time between two lines.
const LINE_EVERY: Time = Time::from_ms(10_000);
/// Time between two looks at the cgroups that the file names.
const CGROUPS_EVERY: Time = Time::from_ms(1_000);
/// As a shell reports a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// How an agent runs, beyond what its file has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// It ends by itself after this time.
    pub lasts: Option<Time>,
    /// Where it answers Prometheus.
    pub metrics: Option<SocketAddr>,
}

/// Runs an agent until it is to end; returns the exit status of its command.
#[expect(clippy::disallowed_methods, reason = "who asks what it does must not hold it up")]
pub fn tag(
    options: &Options,
    file: &Path,
    config: AgentConfig,
    part: HostPart,
    interrupted: &dyn Fn() -> bool,
) -> Result<i32, Error> {
    let interface = framed_interface(&config).map_err(|error| in_file(error, file))?;
    let account = Account::of(&config.user)
        .map_err(|why| in_file(ScenarioError::new("agent.user", why).into(), file))?;
    check_tagging()?;
    let server = options.metrics.map(bind).transpose()?;
    let (stop, again) = (notice(&[SIGTERM])?, notice(&[SIGHUP])?);
    let claim = claim::take(&config.interface)?;
    let notify = Notify::new()?;
    let rules = known::rules(&config).map_err(|error| in_file(error.into(), file))?;
    let pins = usable_pins(file, &config, &part, interface.number)?;
    let mut datapath =
        Datapath::new(pins.as_ref(), &config, &part, &rules).map_err(|error| in_file(error, file))?;
    // Also for a scheme that does not learn: it may be another one after SIGHUP, when there are no rights to listen any more.
    let capture = Capture::new(&Wanted { interface: Some(interface.number), ..Wanted::default() })?;
    let reached = fleet::reach(&config).map_err(|error| in_file(error, file))?;
    attach(&mut datapath, pins.as_ref(), interface.number, &account)?;
    complain_part!("{}", dry_run::tables(&config, &part)?);
    announce(file, &account, server.as_ref().map(|server| server.server_addr()));
    // Threads that start now have no rights.
    let fleet = reached.map(|reached| InFleet::join(reached, &config)).transpose()?;
    let (flows, started, law_cgroups) = (datapath.flows()?, monotonic(), known::law_cgroups_there(&config));
    let status = &Mutex::new(first_status(&config, &part, &datapath)?);
    let agent = Agent {
        file: file.to_owned(),
        config,
        part,
        rules,
        interface,
        datapath,
        fleet,
        capture,
        started,
        policy_started: started,
        again,
        next_line: LINE_EVERY,
        next_cgroups: CGROUPS_EVERY,
        law_cgroups,
        lacks: None,
        notify,
        status,
    };
    thread::scope(|scope| {
        scope.spawn(|| answers::serve(&claim, status, flows.as_ref()));
        if let Some(server) = &server {
            scope.spawn(|| serve(server, &|| metrics::text(&lock(status))));
        }
        let ended = agent.run(options.lasts, &stop, interrupted);
        // Who listens for questions waits no more.
        let _ = shutdown(claim.as_raw_fd(), Shutdown::Both);
        server.iter().for_each(|server| server.unblock());
        ended
    })
}

/// The pins of the file's interface, where it keeps some, without those of interfaces that are gone.
///
/// Fails if programs of another agent are left at the interface.
fn usable_pins(
    file: &Path,
    config: &AgentConfig,
    part: &HostPart,
    interface: u32,
) -> Result<Option<Pins>, Error> {
    let pins = pins(config, interface).map_err(|error| in_file(error.into(), file))?;
    pins.as_ref().map_or(Ok(()), remove_gone)?;
    // The tables of an interface that is gone are useless, and the kernel may have reused its namespace's number.
    if let Some(old) = pins.as_ref().filter(|pins| pins.are_gone()) {
        old.remove()?;
        complain!("note: took away what was left at an interface {} that is gone", config.interface);
    }
    let left = taggers_at(interface)?;
    if left > 0 && !pins.as_ref().is_some_and(Pins::are_there) {
        return Err(in_file(left_behind(config, Some(part)), file));
    }
    Ok(pins)
}

/// Attaches the programs, then gives up root's rights; if either fails, pins made here are removed.
fn attach(
    datapath: &mut Datapath,
    pins: Option<&Pins>,
    interface: u32,
    account: &Account,
) -> Result<(), Error> {
    let anew = pins.filter(|pins| !pins.are_there());
    let attached = datapath.attach(pins, interface);
    let begun =
        attached.and_then(|()| no_new_rights().and_then(|()| account.go_on_as()).map_err(Error::Live));
    if begun.is_err() {
        // The first failure is reported, not a second one here.
        anew.map(Pins::remove);
    }
    begun
}

/// Reports files that `account` cannot read, the address of the metrics, and how to reload.
fn announce(file: &Path, account: &Account, metrics: Option<impl Display>) {
    unreadable(file, account.name()).iter().for_each(|note| complain!("{note}"));
    metrics.iter().for_each(|address| complain!("metrics: http://{address}/metrics"));
    complain!("kill -HUP {} has it read its file again", std::process::id());
}

fn framed_interface(config: &AgentConfig) -> Result<Interface, Error> {
    Interface::find("agent.interface", &config.interface).and_then(Interface::framed)
}

fn lock(status: &Mutex<Status>) -> MutexGuard<'_, Status> {
    status.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What of a file this machine does not have, as far as can be seen before an agent is started.
pub fn doubts(config: &AgentConfig) -> Vec<String> {
    let interface = framed_interface(config);
    let user = Account::of(&config.user).map_err(|why| ScenarioError::new("agent.user", why).into());
    let rules = known::rules(config).map_err(Error::from);
    let law = known::chosen(config).map_err(Error::from);
    [interface.map(drop), user.map(drop), rules.map(drop), law.map(drop)]
        .into_iter()
        .filter_map(Result::err)
        .map(|error| error.to_string())
        .collect()
}

pub(super) fn first_status(
    config: &AgentConfig,
    part: &HostPart,
    datapath: &Datapath,
) -> Result<Status, Error> {
    Ok(Status {
        interface: config.interface.clone(),
        scheme: config.scenario.scheme.label().to_owned(),
        user: config.user.clone(),
        seconds: 0.0,
        directives: part.directives()?,
        has_rules: !config.rules.is_empty(),
        tables: 0,
        reloads: 0,
        failed_reloads: 0,
        done: datapath.done()?,
        memory_bytes: datapath.memory_bytes()?,
        weights: None,
        fleet: config.fleet.as_ref().map(|_| FleetStatus::default()),
        traffic: Traffic::default(),
        lost: 0,
    })
}

/// What of a fleet has changed is said.
fn note_fleet(status: &Mutex<Status>, fleet: &InFleet) {
    let (mut status, now) = (lock(status), fleet.status());
    let before = status.fleet.replace(now.clone()).unwrap_or_default();
    match (&now.standing.lost, &before.standing.lost) {
        (Some((_, why)), None) => {
            complain!("lost etcd: {why}; the last values hold, and it is tried again and again")
        }
        (None, Some(_)) => complain!("etcd is back"),
        _ => {}
    }
    if now.standing.duplicates > 0 && before.standing.duplicates == 0 {
        complain!(
            "note: another host of the fleet is called {}, too, and each takes the other's place: give both their own (control.host)",
            fleet.name()
        );
    }
    if let Some(scheme) = now.differs.filter(|scheme| before.differs.as_ref() != Some(scheme)) {
        complain!("note: the fleet's controller has another scheme, which is not heeded: {scheme}");
    }
}

pub(super) fn since(began: u64) -> Time {
    Time::from_ps((monotonic() - began).saturating_mul(1_000))
}

/// An agent that runs.
struct Agent<'a> {
    file: PathBuf,
    config: AgentConfig,
    part: HostPart,
    rules: Vec<Rule>,
    interface: Interface,
    datapath: Datapath,
    fleet: Option<InFleet>,
    /// Hears of flows that end.
    capture: Capture,
    /// When the agent began, and when its policy did.
    started: u64,
    policy_started: u64,
    again: Arc<AtomicBool>,
    next_line: Time,
    next_cgroups: Time,
    /// Those of the law that are there, and what was said of one that is not.
    law_cgroups: (Vec<Cgroup>, Option<String>),
    /// What of the rules' cgroups is not there, as it was said last.
    lacks: Option<String>,
    notify: Notify,
    /// What others are told.
    status: &'a Mutex<Status>,
}

impl Agent<'_> {
    fn now(&self) -> Time {
        since(self.started)
    }

    /// Until it is to end; returns the exit status.
    fn run(
        mut self,
        lasts: Option<Time>,
        stop: &AtomicBool,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<i32, Error> {
        self.notify.ready();
        loop {
            let status = match (interrupted(), lasts.is_some_and(|lasts| self.now() >= lasts)) {
                (true, _) => INTERRUPTED,
                (false, over) if over || stop.load(Ordering::Relaxed) => 0,
                _ => {
                    self.turn()?;
                    continue;
                }
            };
            self.notify.stopping();
            self.say();
            self.fleet.take().into_iter().for_each(InFleet::leave);
            return Ok(status);
        }
    }

    fn turn(&mut self) -> Result<(), Error> {
        if self.again.swap(false, Ordering::Relaxed) {
            self.notify.reloading();
            let read = self.read_again();
            self.notify.ready();
            match read {
                Ok(()) => {
                    lock(self.status).reloads += 1;
                    complain_part!("{}", dry_run::tables(&self.config, &self.part)?);
                    complain!("{}: read again; flows go on as they are", self.file.display());
                }
                Err(error) => {
                    lock(self.status).failed_reloads += 1;
                    complain!("error: {error}; the agent goes on as before");
                }
            }
        }
        self.learn()?;
        self.follow_cgroups()?;
        self.notify.all_is_well();
        let name = &self.config.interface;
        if tailrace_bpf::interface_number(name) != Some(self.interface.number) {
            let pinned = match self.config.pins {
                Some(_) => "; tailrace agent detach FILE takes away what is pinned",
                None => "",
            };
            let message = format!(
                "interface {name} is gone, and what was at it: nothing of the scheme is done any more{pinned}"
            );
            return Err(Error::Live(LiveError::Gone(message)));
        }
        if self.now() >= self.next_line {
            self.next_line = self.now().saturating_add(LINE_EVERY);
            self.say();
        }
        Ok(())
    }

    /// Tells the policy of flows that have ended, and the kernel of tables that are new.
    fn learn(&mut self) -> Result<(), Error> {
        let heard = self.capture.look(LOOK_EVERY)?;
        let changed = match &mut self.fleet {
            None => learn(&mut self.part, &self.datapath, &heard, since(self.policy_started))?,
            Some(fleet) => {
                fleet.heard(&heard, &self.datapath)?;
                let changed = fleet.turn(&mut self.part, &self.datapath)?;
                note_fleet(self.status, fleet);
                changed
            }
        };
        let done = self.datapath.done()?;
        let (lost, _) = self.capture.unsaid()?;
        lock(self.status).note(&heard, done, lost, self.now());
        if changed { self.hand_over() } else { Ok(()) }
    }

    /// A service that is started anew has another cgroup of the same name.
    fn follow_cgroups(&mut self) -> Result<(), Error> {
        if self.now() < self.next_cgroups {
            return Ok(());
        }
        self.next_cgroups = self.now().saturating_add(CGROUPS_EVERY);
        self.follow_law_cgroups()?;
        let (rules, lacks) = known::rules_now(&self.config, &self.rules);
        if let Some(why) = lacks.as_ref().filter(|_| lacks != self.lacks) {
            complain!("note: {why}; until it is there, its rule is as it was");
        }
        self.lacks = lacks;
        if rules == self.rules {
            return Ok(());
        }
        complain!("note: cgroups that rules name are others now; the rules are of those");
        self.rules = rules;
        self.hand_over()
    }

    fn follow_law_cgroups(&mut self) -> Result<(), Error> {
        let now = known::law_cgroups_there(&self.config);
        if now == self.law_cgroups {
            return Ok(());
        }
        match &now {
            (_, Some(why)) => {
                complain!("note: {why}; until it is there, connections that begin there do not have the law")
            }
            (_, None) => complain!("note: cgroups of [law] are others now; the law is of those"),
        }
        self.datapath.choose(&now.0)?;
        self.law_cgroups = now;
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        hand_over(&self.part, &self.rules, &mut self.datapath, self.status)
    }

    /// What a policy has learned begins anew.
    fn read_again(&mut self) -> Result<(), Error> {
        let config = AgentConfig::read(&self.file)?;
        let part = config.check_change(&self.config).and_then(|()| for_agent(&config));
        let part = part.map_err(|error| in_file(error.into(), &self.file))?;
        let rules = self.datapath.check_change(&part).and_then(|()| known::rules(&config));
        let rules = rules.map_err(|error| in_file(error.into(), &self.file))?;
        let mut part = part;
        // What the kernel does not take leaves what the fleet is told of as it was.
        self.datapath.set(&part, &rules)?;
        self.fleet.iter_mut().for_each(|fleet| fleet.renew(&config.scenario, &mut part));
        (self.config, self.part, self.rules) = (config, part, rules);
        lock(self.status).scheme = self.config.scenario.scheme.label().to_owned();
        self.policy_started = monotonic();
        self.hand_over()
    }

    fn say(&self) {
        complain!("{}: {}", self.config.interface, lock(self.status).done);
    }
}
