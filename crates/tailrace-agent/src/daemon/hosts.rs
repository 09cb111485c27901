//! An agent at each host of an emulated fabric. They live in this process, so that they end with it, however that ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{Shutdown, shutdown};
use tailrace_bpf::{Capture, Rule, Wanted, check_tagging, monotonic};
use tailrace_core::{HostId, LiveError, Time};
use tailrace_linux::Hosts;
use tailrace_linux::frame::host_of;
use tailrace_run::RunError;
use tailrace_scenario::Scenario;

use super::datapath::Datapath;
use super::interface::Interface;
use super::learn::{hand_over, learn};
use super::status::Status;
use super::tag::{first_status, since};
use super::types::Flows;
use super::weighed::Weighed;
use super::{answers, claim, known};
use crate::controller::{Brain, meeting};
use crate::etcd::{HostEvent, Report};
use crate::{AGENTS_LOOK_EVERY, AgentConfig, Agents, Error, HostPart, for_agent, for_all_hosts, for_hosts};

/// Each agent hears programs at the root of cgroups, where the kernel has room for 64 programs, and others may have some.
const MAX_HOSTS: usize = 56;

/// Starts them: a [`crate::StartAgents`].
pub fn start(scenario: &Scenario, hosts: &Hosts) -> Result<Box<dyn Agents>, RunError> {
    begin(scenario, hosts).map_err(|error| match error {
        Error::Input(error) => RunError::Scenario(error),
        Error::Live(error) => RunError::Live(error),
        other => RunError::Live(LiveError::SetUp(other.to_string())),
    })
}

#[expect(clippy::disallowed_methods, reason = "agents must not hold up the fabric")]
fn begin(scenario: &Scenario, hosts: &Hosts) -> Result<Box<dyn Agents>, Error> {
    let (config, _) = for_hosts(scenario)?;
    if hosts.len() > MAX_HOSTS {
        return Err(set_up(format!(
            "there are {} hosts, but at most {MAX_HOSTS} can have an agent",
            hosts.len()
        )));
    }
    check_tagging()?;
    hosts.send_single_segments().map_err(Error::Live)?;
    let open = |host: HostId| File::open(hosts.namespace(host).path());
    let namespaces: io::Result<Vec<File>> = (0..hosts.len() as HostId).map(open).collect();
    let namespaces = namespaces.map_err(|error| set_up(format!("agents at hosts: {error}")))?;
    let (stop, why) = (Arc::new(AtomicBool::new(false)), Arc::new(OnceLock::new()));
    let (ready, begun) = channel();
    let (ends, says) = (Arc::clone(&stop), Arc::clone(&why));
    let thread = thread::spawn(move || {
        if let Err(error) = attend(&config, &namespaces, &ends, &ready) {
            let _ = says.set(error.to_string());
            // Who waits for them to be there is told; later, whoever looks.
            let _ = ready.send(Err(error));
        }
    });
    let running = Running { stop, why, thread: Some(thread) };
    begun.recv().unwrap_or_else(|_| Err(set_up("agents at hosts have ended".to_owned())))?;
    Ok(Box::new(running))
}

fn set_up(message: String) -> Error {
    Error::Live(LiveError::SetUp(message))
}

struct Running {
    stop: Arc<AtomicBool>,
    /// Why they have ended by themselves.
    why: Arc<OnceLock<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Agents for Running {
    fn check(&self) -> Result<(), LiveError> {
        match self.why.get() {
            None => Ok(()),
            Some(why) => Err(LiveError::Gone(format!("the agents at hosts have ended: {why}"))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // What went wrong with them has been said.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// All agents, on a thread that goes from one host to the next.
#[expect(clippy::disallowed_methods, reason = "who asks what they do must not hold them up")]
fn attend(
    config: &AgentConfig,
    namespaces: &[File],
    stop: &AtomicBool,
    ready: &Sender<Result<(), Error>>,
) -> Result<(), Error> {
    let agents: Result<Vec<_>, Error> =
        (0..).zip(namespaces).map(|(host, namespace)| Agent::begin(config, host, namespace)).collect();
    let (mut agents, doors): (Vec<Agent>, Vec<Door>) = agents?.into_iter().unzip();
    let mut controller = Controller::new(&config.scenario)?;
    let _ = ready.send(Ok(()));
    thread::scope(|scope| {
        for Door { claim, status, flows } in &doors {
            scope.spawn(move || answers::serve(claim, status, flows.as_ref()));
        }
        let mut turn = || {
            agents.iter_mut().zip(&doors).try_for_each(|(agent, door)| agent.turn(&door.status))?;
            controller.as_mut().map_or(Ok(()), |controller| controller.turn(&mut agents, &doors))
        };
        let mut ended = Ok(());
        while ended.is_ok() && !stop.load(Ordering::Relaxed) {
            ended = turn();
            thread::sleep(AGENTS_LOOK_EVERY);
        }
        // Who listens for questions waits no more.
        for door in &doors {
            let _ = shutdown(door.claim.as_raw_fd(), Shutdown::Both);
        }
        ended
    })
}

/// Where `tailrace agent status` of the host asks.
struct Door {
    claim: UnixListener,
    status: Mutex<Status>,
    flows: Option<Flows>,
}

/// The agent of a host.
struct Agent {
    part: HostPart,
    rules: Vec<Rule>,
    datapath: Datapath,
    capture: Capture,
    connections: Weighed,
    started: u64,
}

impl Agent {
    /// Goes to a host and stays there.
    fn begin(config: &AgentConfig, host: HostId, namespace: &File) -> Result<(Self, Door), Error> {
        let entering = |error| set_up(format!("entering host {host}: {error}"));
        setns(namespace, CloneFlags::CLONE_NEWNET).map_err(entering)?;
        let interface = Interface::find("agent.interface", &config.interface)?;
        let claim = claim::take(&config.interface)?;
        let rules =
            known::rules(config).map_err(|error| set_up(format!("agents at hosts: {}", error.message)))?;
        let part = for_agent(config)?;
        let mut datapath = Datapath::new(None, config, &part, &rules)?;
        let wanted = Wanted { interface: Some(interface.number), ..Wanted::default() };
        let capture = Capture::new(&wanted)?;
        datapath.attach(None, interface.number)?;
        let flows = datapath.flows()?;
        let status = Mutex::new(first_status(config, &part, &datapath)?);
        let (connections, started) = (Weighed::default(), monotonic());
        Ok((Agent { part, rules, datapath, capture, connections, started }, Door { claim, status, flows }))
    }

    fn turn(&mut self, status: &Mutex<Status>) -> Result<(), Error> {
        let heard = self.capture.look(Duration::ZERO)?;
        let now = since(self.started);
        self.connections.follow(&heard, &self.datapath)?;
        let changed = learn(&mut self.part, &self.datapath, &heard, now)?;
        let done = self.datapath.done()?;
        let (lost, _) = self.capture.unsaid()?;
        status.lock().unwrap_or_else(PoisonError::into_inner).note(&heard, done, lost, now);
        if changed { hand_over(&self.part, &self.rules, &mut self.datapath, status) } else { Ok(()) }
    }
}

/// What gives connections of all hosts their weights. In a fleet it is a process of its own.
struct Controller {
    brain: Brain,
    scheme: String,
    started: u64,
}

impl Controller {
    /// The scheme's, if it has one whose weights agents keep.
    fn new(scenario: &Scenario) -> Result<Option<Self>, Error> {
        let fleet = for_all_hosts(scenario)?;
        Ok(fleet.map(|fleet| Controller {
            brain: Brain::new(scenario, host_of, fleet, "live"),
            scheme: meeting::scheme(scenario),
            started: monotonic(),
        }))
    }

    fn now(&self) -> Time {
        since(self.started)
    }

    fn turn(&mut self, agents: &mut [Agent], doors: &[Door]) -> Result<(), Error> {
        let name = |host: usize| format!("h{host}");
        for (host, agent) in agents.iter_mut().enumerate() {
            let flows = agent.connections.progress(&agent.datapath)?;
            let report = Report { scheme: self.scheme.clone(), ended: Vec::new(), flows };
            self.brain.on_event(self.now(), HostEvent::Report(name(host), 0, report));
        }
        let decision = self.brain.decide(self.now())?;
        for (host, (agent, door)) in agents.iter_mut().zip(doors).enumerate() {
            if let Some((_, weights)) = decision.weights.get(&name(host)) {
                agent.connections.weigh(weights, &agent.datapath)?;
            }
            let mut status = door.status.lock().unwrap_or_else(PoisonError::into_inner);
            status.weights = Some(agent.connections.weights());
        }
        Ok(())
    }
}
