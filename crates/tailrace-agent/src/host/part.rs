//! A scheme's part at one host, for the packets that its kernel sends.

use tailrace_config::ScenarioError;
use tailrace_core::{
    Bytes, Directive, Directives, FlowInfo, FlowRecord, FlowView, HostLaw, HostLawKind, HostPolicy, Reveals,
    Scheme, SliceId, Time, WindowShim,
};
use tailrace_linux::{INTERFACE, Tagger};
use tailrace_run::build;
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;

use super::agents::AGENTS_LOOK_EVERY;
use super::header::without_header;
use super::tags::HostTags;
use crate::file::{AgentConfig, LawFor};

/// What one host of a scheme decides of its flows.
pub struct HostPart {
    policy: Box<dyn Carried>,
    slices: SliceId,
    tags: bool,
    /// What a controller has directed in place of the policy.
    given: Option<Directives>,
    /// Whether the scheme has what decides for the whole network.
    pub has_controller: bool,
    /// The window that a host keeps for connections, if the scheme has such.
    pub shim: Option<WindowShim>,
    /// The congestion law that connections of the host's own TCP have, if any are to have one.
    pub law: Option<HostLaw>,
    /// What of the scheme an agent does not do, a sentence each.
    pub left_out: Vec<String>,
}

/// A scheme's policy, whichever it is.
trait Carried: Tagger {
    fn directives(&self, slices: SliceId) -> Result<Directives, String>;
}

impl<S: Scheme> Carried for HostTags<S> {
    fn directives(&self, slices: SliceId) -> Result<Directives, String> {
        Directives::of(self.policy(0), S::KNOWS, slices)
    }
}

impl HostPart {
    /// What all flows are directed to do, now.
    pub fn directives(&self) -> Result<Directives, ScenarioError> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        self.policy.directives(self.slices).map_err(|why| {
            ScenarioError::new("scheme.name", format!("has {why}, which a table in the kernel cannot hold"))
        })
    }

    /// Whether its packets have tags: not of one priority for ever.
    pub fn tags(&self) -> bool {
        self.tags
    }

    /// From now on it is not asked: a controller has directed this.
    pub fn direct(&mut self, directives: Directives) {
        self.given = Some(directives);
    }

    /// Whether its tags follow from flows that have ended, so that it must be told of them.
    pub fn learns(&self) -> bool {
        self.policy.next_wake().is_some()
    }

    /// A flow of this slice has ended, of which so much was known.
    pub fn ended(&mut self, now: Time, size: Bytes, reveals: Reveals, slice: SliceId) {
        self.policy.ended(now, &flow(now, size, reveals, slice));
    }

    /// The time is `now`; returns whether tags may be others from now on.
    pub fn wake(&mut self, now: Time) -> bool {
        let mut changed = false;
        while self.policy.next_wake().is_some_and(|at| at <= now) {
            // At the time that it asked for, however late it is.
            let at = self.policy.next_wake().unwrap_or(now);
            changed |= !self.policy.wake(at).is_empty();
        }
        changed
    }
}

/// A flow of the only host. When its deadline was is not known; that it had one is.
fn flow(end: Time, size: Bytes, reveals: Reveals, slice: SliceId) -> FlowRecord {
    FlowRecord {
        size,
        start: Time::ZERO,
        end,
        deadline: if reveals == Reveals::Deadline { end } else { Time::MAX },
        id: 0,
        task: 0,
        retransmitted: 0,
        src: 0,
        dst: 1,
        timeouts: 0,
        slice,
        stopped: false,
        class: 0,
        reveals,
    }
}

/// The scheme's part at a host, if an agent can do it.
pub fn for_agent(config: &AgentConfig) -> Result<HostPart, ScenarioError> {
    let mut part = at_host(&config.scenario, config.law.as_ref(), Given::InFile)?;
    if matches!(part.law, Some(HostLaw { kind: HostLawKind::Karuna(_), .. })) && config.round_trip.is_none() {
        let message = "is missing: Karuna's MCP turns rates into windows by the unloaded round trip between the farthest hosts; give it, \
                       such as round_trip = \"100us\"";
        return Err(ScenarioError::new("agent.round_trip", message));
    }
    let decided = part.learns() || (part.has_controller && part.shim.is_some());
    match config.fleet {
        Some(_) if !decided => {
            let message = "is given, but a controller has nothing to decide for this scheme: leave it out";
            return Err(ScenarioError::new("control", message));
        }
        None if part.has_controller => {
            part.left_out.push("Its controller does not run: that takes [control].".to_owned());
        }
        _ => {}
    }
    Ok(part)
}

/// The same for any host with the scenario's links.
pub(crate) fn at_host(
    scenario: &Scenario,
    law: Option<&LawFor>,
    given: Given,
) -> Result<HostPart, ScenarioError> {
    build::visit_for_frames(scenario, Ask(scenario, law, given))
}

/// What a scheme that tags in hosts only if it is asked to needs.
const AWAFS: &str = "awafs tags with params = { placement = \"host\" }";

/// Where it is said whether connections have the scheme's law: so messages name what can be changed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Given {
    /// In an agent's file.
    InFile,
    /// In a live scenario, which may name another.
    Live,
}

impl Given {
    /// How the scheme's law would run.
    fn remedy(self) -> &'static str {
        match self {
            Given::InFile => "with [law]",
            Given::Live => "where live.tcp_congestion names no other",
        }
    }
}

/// Whether the TCP of hosts' own kernels can have the scheme's congestion law.
fn has_host_law(scenario: &Scenario) -> Result<bool, ScenarioError> {
    build::visit(scenario, HasLaw(scenario))
}

struct HasLaw<'a>(&'a Scenario);

impl SchemeVisitor for HasLaw<'_> {
    type Output = Result<bool, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let scheme = build::for_packets::<S>(self.0, &self.0.fabric.build())?;
        Ok(scheme.host_law().is_some() && scheme.window_shim().is_none())
    }
}

/// What the agent of a host of the scenario's fabric is told, and its part of the scheme, if agents can do that.
pub fn for_hosts(scenario: &Scenario) -> Result<(AgentConfig, HostPart), ScenarioError> {
    // Which law sends is said by who names one.
    let has_law = scenario.live.tcp_congestion.is_none() && has_host_law(scenario)?;
    let config = AgentConfig::of_host(INTERFACE, scenario, has_law);
    let mut part = at_host(scenario, config.law.as_ref(), Given::Live).map_err(|error| {
        let message = format!(
            "{}; leave the agents out (live.agent, --agents), or run the scenario with stack = \"tailrace\", whose hosts do \
             whatever schemes ask",
            error.message
        );
        ScenarioError { message, ..error }
    })?;
    if part.has_controller {
        part.left_out.push(match part.shim {
            Some(_) => format!(
                "Its controller is told of flows every {} ms, not as soon as they come and go.",
                AGENTS_LOOK_EVERY.as_millis()
            ),
            None => "Its controller does not run: agents keep weights by windows alone.".to_owned(),
        });
    }
    Ok((config, part))
}

struct Ask<'a>(&'a Scenario, Option<&'a LawFor>, Given);

impl SchemeVisitor for Ask<'_> {
    type Output = Result<HostPart, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let scenario = self.0;
        let scheme = build::for_packets::<S>(scenario, &scenario.fabric.build())?;
        without_header(&scheme, AWAFS, "")?;
        let (start, size, deadline) = (Time::ZERO, None, None);
        let unknown = FlowInfo { id: 0, src: 0, dst: 1, size, start, deadline, slice: 0, task: 0 };
        let policy = scheme.host();
        let directive = policy.directive(&unknown);
        let wrong = |message: String| Err(ScenarioError::new("scheme.name", message));
        let slices = scenario.slices.len() as SliceId;
        let part = HostPart {
            policy: Box::new(HostTags::<S>::new(&scheme, 1, false)),
            slices,
            tags: false,
            given: None,
            has_controller: scheme.controller().is_some(),
            shim: scheme.window_shim(),
            law: self.law(&scheme)?,
            left_out: Vec::new(),
        };
        let directives = part.directives()?;
        if directives.all().iter().any(|of| of.cap.is_some()) {
            return wrong(format!("is {}, whose hosts limit rates, which an agent does not do", S::NAME));
        }
        let tags = !are_one_priority(&directives) || policy.next_wake().is_some();
        if !tags && part.shim.is_none() && part.law.is_none() {
            let message = format!(
                "is {}, whose hosts give all packets of all flows one priority: there is nothing to tag ({})",
                S::NAME,
                if scheme.host_law().is_some() {
                    format!("its congestion law runs {}; {AWAFS}", self.2.remedy())
                } else {
                    AWAFS.to_owned()
                }
            );
            return wrong(message);
        }
        let law = match (part.shim, part.law) {
            (Some(_), _) => {
                "Windows are kept where both ends run an agent; other connections are left alone.".to_owned()
            }
            (None, Some(_)) => {
                "Its congestion law is for connections that begin with an agent at both ends, and agree on ECN.".to_owned()
            }
            (None, None) if scheme.host_law().is_some() => format!(
                "Its congestion law runs {}; here the machine's own TCP sends, whatever it is set to.",
                self.2.remedy()
            ),
            (None, None) => {
                "Its congestion law does not run: the machine's own TCP sends, whatever it is set to.".to_owned()
            }
        };
        let mut left_out = vec![law];
        left_out.extend(part.law.and_then(|law| law.left_out).map(str::to_owned));
        if ages(&policy, &unknown, &directive) {
            left_out.push("Timeouts are not seen, so no flow rises again after some (ageing).".to_owned());
        }
        Ok(HostPart { left_out, tags, ..part })
    }
}

impl Ask<'_> {
    /// The scheme's law, if connections of the host's own TCP are to have it.
    fn law<S: Scheme>(&self, scheme: &S) -> Result<Option<HostLaw>, ScenarioError> {
        let wrong = |message: String| Err(ScenarioError::new("law", message));
        match (self.1, scheme.host_law(), scheme.window_shim()) {
            (None, ..) => Ok(None),
            (Some(_), _, Some(_)) => wrong(format!("is given, but {} keeps windows over any law", S::NAME)),
            (Some(_), None, None) => wrong(format!(
                "is given, but the law of {} is none that the kernel's TCP can have: those of dctcp, d2tcp and l2dct are, and \
                 of schemes whose hosts have DCTCP",
                S::NAME
            )),
            (Some(_), law, None) => Ok(law),
        }
    }
}

fn are_one_priority(directives: &Directives) -> bool {
    let mut ends =
        directives.all().iter().flat_map(|of| [of.tags.priority(0), of.tags.priority(u64::MAX - 1)]);
    let first = ends.next();
    ends.all(|priority| Some(priority) == first)
}

/// Whether timeouts of a flow that has sent much would change its tags.
fn ages(policy: &impl HostPolicy, flow: &FlowInfo, current: &Directive) -> bool {
    let sent = Bytes::new(1 << 50);
    let view = FlowView { sent, acked: sent, delivered: sent };
    (1..100).any(|consecutive| policy.on_timeout(flow, &view, consecutive, current).is_some())
}
