//! `tailrace agent`: tags in the packets of this machine, or windows for its connections, by a scheme.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGTERM};
use tailrace_agent::{Capture, Rule, Wanted, monotonic};
use tailrace_core::{Bytes, Time};
use tailrace_experiment::Error;
use tailrace_linux::LiveError;
use tailrace_run::{HostPart, for_agent};
use tailrace_scenario::AgentConfig;

use super::datapath::Datapath;
use super::interface::Interface;
use super::{dry_run, failed, known};
use crate::flows::in_file;
use crate::watch::notice;
use crate::{Host, args};

/// How often it is looked for what there is to do.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time between two lines.
const LINE_EVERY: Time = Time::from_ms(10_000);
/// As a shell reports a program that was interrupted.
const INTERRUPTED: i32 = 130;

pub fn tag(
    options: &args::Agent,
    config: AgentConfig,
    part: HostPart,
    host: &dyn Host,
) -> Result<i32, Error> {
    let interface = Interface::find("agent.interface", &config.interface).and_then(Interface::framed);
    let interface = interface.map_err(|error| in_file(error, &options.file))?;
    let (stop, again) = (notice(&[SIGTERM])?, notice(&[SIGHUP])?);
    let rules = known::rules(&config).map_err(|error| in_file(error.into(), &options.file))?;
    let mut datapath = Datapath::new(config.flows, &part, &rules)?;
    let capture = part.learns().then(|| listen(&interface)).transpose()?;
    datapath.attach(interface.number)?;
    complain_part!("{}", dry_run::tables(&config, &part)?);
    complain!("kill -HUP {} has it read its file again", std::process::id());
    let file = options.file.clone();
    let started = monotonic();
    let mut agent = Agent {
        file,
        config,
        part,
        rules,
        interface,
        datapath,
        capture,
        started,
        policy_started: started,
        again,
        next_line: LINE_EVERY,
    };
    loop {
        if host.interrupted() {
            agent.say()?;
            return Ok(INTERRUPTED);
        }
        if stop.load(Ordering::Relaxed) || options.lasts.is_some_and(|lasts| agent.now() >= lasts) {
            agent.say()?;
            return Ok(0);
        }
        agent.turn()?;
    }
}

fn listen(interface: &Interface) -> Result<Capture, Error> {
    Capture::new(&Wanted { interface: Some(interface.number), ..Wanted::default() }).map_err(failed)
}

fn since(began: u64) -> Time {
    Time::from_ps((monotonic() - began).saturating_mul(1_000))
}

/// An agent that runs.
struct Agent {
    file: PathBuf,
    config: AgentConfig,
    part: HostPart,
    rules: Vec<Rule>,
    interface: Interface,
    datapath: Datapath,
    /// Hears of flows that end, if the scheme learns from them.
    capture: Option<Capture>,
    /// When the agent began, and when its policy did.
    started: u64,
    policy_started: u64,
    again: Arc<AtomicBool>,
    next_line: Time,
}

impl Agent {
    fn now(&self) -> Time {
        since(self.started)
    }

    fn turn(&mut self) -> Result<(), Error> {
        if self.again.swap(false, Ordering::Relaxed) {
            match self.read_again() {
                Ok(()) => {
                    complain_part!("{}", dry_run::tables(&self.config, &self.part)?);
                    complain!("{}: read again; flows go on as they are", self.file.display());
                }
                Err(error) => complain!("error: {error}; the agent goes on as before"),
            }
        }
        self.learn()?;
        let name = &self.config.interface;
        if tailrace_agent::interface_number(name) != Some(self.interface.number) {
            let message =
                format!("interface {name} is gone, and the program at it: nothing is tagged any more");
            return Err(Error::Live(LiveError::Gone(message)));
        }
        if self.now() >= self.next_line {
            self.next_line = self.now().saturating_add(LINE_EVERY);
            self.say()?;
        }
        Ok(())
    }

    /// Tells the policy of flows that have ended, and the kernel of tables that are new.
    fn learn(&mut self) -> Result<(), Error> {
        match &mut self.capture {
            None => std::thread::sleep(LOOK_EVERY),
            Some(capture) => {
                let heard = capture.look(LOOK_EVERY).map_err(failed)?;
                let now = since(self.policy_started);
                for connection in heard.iter().filter(|of| of.whole().is_some() && of.sent > 0) {
                    let known = self.datapath.known_of(connection).map_err(failed)?.unwrap_or_default();
                    let (size, reveals) = (Bytes::new(connection.sent), known::revealed(&known));
                    self.part.ended(now, size, reveals, known.slice);
                }
            }
        }
        if self.part.wake(since(self.policy_started)) { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        self.datapath.set(&self.part, &self.rules)
    }

    /// What a policy has learned begins anew.
    fn read_again(&mut self) -> Result<(), Error> {
        let config = AgentConfig::read(&self.file)?;
        let part = config.check_change(&self.config).and_then(|()| for_agent(&config));
        let part = part.map_err(|error| in_file(error.into(), &self.file))?;
        let rules = self.datapath.check_change(&part).and_then(|()| known::rules(&config));
        let rules = rules.map_err(|error| in_file(error.into(), &self.file))?;
        let capture = match (part.learns(), self.capture.take()) {
            (true, None) => Some(listen(&self.interface)?),
            (learns, capture) => capture.filter(|_| learns),
        };
        (self.config, self.part, self.rules, self.capture) = (config, part, rules, capture);
        self.policy_started = monotonic();
        self.hand_over()
    }

    fn say(&self) -> Result<(), Error> {
        complain!("{}: {}", self.config.interface, self.datapath.said().map_err(failed)?);
        Ok(())
    }
}
