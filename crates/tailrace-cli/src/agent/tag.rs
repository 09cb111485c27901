//! `tailrace agent`: tags in the packets of this machine, by a scheme.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGTERM};
use tailrace_agent::{Capture, EgressTagger, Wanted, monotonic};
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Time};
use tailrace_experiment::Error;
use tailrace_linux::{Account, LiveError, no_new_rights};
use tailrace_run::{HostPart, for_agent};
use tailrace_scenario::AgentConfig;

use super::interface::Interface;
use super::{claim, dry_run, failed};
use crate::flows::in_file;
use crate::watch::{notice, unreadable};
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
    let account = Account::of(&config.user)
        .map_err(|why| in_file(ScenarioError::new("agent.user", why).into(), &options.file))?;
    let (stop, again) = (notice(&[SIGTERM])?, notice(&[SIGHUP])?);
    let tags = part.tags();
    let mut tagger = EgressTagger::new(config.flows, &tags.data, tags.acks).map_err(failed)?;
    // Also for a scheme that does not learn: it may be another one after SIGHUP, when there are no rights to listen any more.
    let capture = listen(&interface)?;
    let _claim = claim::take(&config.interface)?;
    tagger.attach(interface.number).map_err(failed)?;
    no_new_rights().and_then(|()| account.go_on_as()).map_err(Error::Live)?;
    complain_part!("{}", dry_run::tables(&config, &part));
    unreadable(&options.file, account.name()).iter().for_each(|note| complain!("{note}"));
    complain!("kill -HUP {} has it read its file again", std::process::id());
    let file = options.file.clone();
    let started = monotonic();
    let mut agent = Agent {
        file,
        config,
        part,
        interface,
        tagger,
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
    interface: Interface,
    tagger: EgressTagger,
    /// Hears of flows that end.
    capture: Capture,
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
                    complain_part!("{}", dry_run::tables(&self.config, &self.part));
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
        let heard = self.capture.look(LOOK_EVERY).map_err(failed)?;
        let now = since(self.policy_started);
        for connection in heard.iter().filter(|of| of.whole().is_some() && of.sent > 0) {
            self.part.ended(now, Bytes::new(connection.sent));
        }
        if self.part.wake(since(self.policy_started)) { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&self) -> Result<(), Error> {
        let tags = self.part.tags();
        self.tagger.set(&tags.data, tags.acks).map_err(failed)
    }

    /// What a policy has learned begins anew.
    fn read_again(&mut self) -> Result<(), Error> {
        let config = AgentConfig::read(&self.file)?;
        let part = config.check_change(&self.config).and_then(|()| for_agent(&config));
        let part = part.map_err(|error| in_file(error.into(), &self.file))?;
        (self.config, self.part) = (config, part);
        self.policy_started = monotonic();
        self.hand_over()
    }

    fn say(&self) -> Result<(), Error> {
        let counts = self.tagger.counts().map_err(failed)?;
        complain!(
            "{}: {} packets tagged, {} left as they came, {} flows",
            self.config.interface,
            counts.tagged,
            counts.untouched,
            counts.flows
        );
        Ok(())
    }
}
