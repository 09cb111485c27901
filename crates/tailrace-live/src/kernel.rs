//! Live runs whose flows are TCP connections of the machine's kernel.

use tailrace_agent::{HostTags, StartAgents, Telling, for_hosts};
use tailrace_config::ScenarioError;
use tailrace_core::{Ending, HEADER_BYTES, LiveError, Outcome, Running, Scheme};
use tailrace_fabric::Fabric;
use tailrace_linux::{Fabrics, Flows, Hosts, Limits, Priorities, Tagger, Terms};
use tailrace_packet::{Watch, World};
use tailrace_run::{Control, RunError, build, look, packets};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::feed::{Feed, GammaControl};

use crate::emulate::for_programs;

/// Runs a scenario's flows over its fabric.
pub(crate) fn run(
    scenario: &Scenario,
    feed: Feed,
    limits: Limits,
    start: Option<StartAgents>,
    control: &dyn Control,
) -> Result<(Outcome, Ending), RunError> {
    for_programs(scenario)?;
    build::visit(scenario, Runner { scenario, feed, limits, start, control })?
}

struct Runner<'a> {
    scenario: &'a Scenario,
    feed: Feed,
    limits: Limits,
    start: Option<StartAgents>,
    control: &'a dyn Control,
}

impl SchemeVisitor for Runner<'_> {
    type Output = Result<Result<(Outcome, Ending), RunError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Runner { scenario, feed, limits, start, control } = self;
        let fabric = scenario.fabric.build();
        let scheme = build::for_packets::<S>(scenario, &fabric)?;
        let priorities = Priorities::new(scheme.switch_plan(fabric.host_rate()).as_ref());
        let terms = Terms::new(&scenario.transport, scheme.ecn(), scenario.live.tcp_congestion.clone());
        let fabrics = Fabrics::<S> { rehearsal: empty(scenario, &fabric)?, run: empty(scenario, &fabric)? };
        let gamma =
            GammaControl::new(scenario.workload.rules.iter(), true, scenario.setting(), scenario.seed);
        let flows = Flows { feed, gamma, tagger: Box::new(|| tagger::<S>(scenario, &fabric)) };
        let run = || {
            let hosts = Hosts::new(fabric.hosts, mtu(scenario), None)?;
            let agents = agents(scenario, start)?.map(|start| start(scenario, &hosts)).transpose()?;
            let report = &mut |run: &mut dyn Running| look(control, run);
            let (outcome, ending) =
                tailrace_linux::run_on_kernel(fabrics, flows, &hosts, &priorities, &terms, limits, report)?;
            let Some(agents) = agents else { return Ok((outcome, ending)) };
            agents.check()?;
            // The fabric's own controller hears of no flow: that of the agents decides, and is not counted.
            Ok((Outcome { updates: None, ..outcome }, ending))
        };
        Ok(run())
    }
}

/// How agents are started, if the scenario's hosts have them.
fn agents(scenario: &Scenario, start: Option<StartAgents>) -> Result<Option<StartAgents>, LiveError> {
    let start = start.filter(|_| scenario.live.agent);
    if scenario.live.agent && start.is_none() {
        let message = "live.agent = true, but nobody here can start a host agent: run it with a `tailrace` that has one";
        return Err(LiveError::SetUp(message.to_owned()));
    }
    Ok(start)
}

/// What hosts write into packets under scheme `S`, whose parameters have been checked.
fn tagger<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> Box<dyn Tagger> {
    if scenario.live.agent {
        return Box::new(Telling::<S>::new(scenario.scheme.oracle));
    }
    match build::for_packets::<S>(scenario, fabric) {
        Ok(scheme) => Box::new(HostTags::<S>::new(&scheme, fabric.hosts, scenario.scheme.oracle)),
        Err(error) => panic!("the scheme was built before, and not now: {error}"),
    }
}

/// The fabric without flows.
fn empty<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> Result<World<S>, ScenarioError> {
    // What hosts decide, and what flows and slices get, is not to be seen from the fabric: it would be written down as
    // if nothing had happened.
    let (hosts, slices) = (Vec::new(), Vec::new());
    let watch = Watch { hosts, slices, every_flow: None, ..packets::watch(scenario, fabric)? };
    Ok(packets::world_watching(scenario, fabric, Feed::from(Vec::new()), watch)?.outside())
}

/// Full segments are as long as at the other levels.
fn mtu(scenario: &Scenario) -> usize {
    usize::from(scenario.transport.mss + HEADER_BYTES)
}

/// Finds out, before anything runs, whether the scenario can run so.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    for_programs(scenario)?;
    if scenario.live.agent { for_hosts(scenario).map(drop) } else { Ok(()) }
}

/// What the scenario asks for that TCP of the kernel does not do.
pub(crate) fn leaves_out(scenario: &Scenario) -> Result<Vec<String>, ScenarioError> {
    build::visit(scenario, LeavesOut(scenario))
}

struct LeavesOut<'a>(&'a Scenario);

impl SchemeVisitor for LeavesOut<'_> {
    type Output = Result<Vec<String>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let scenario = self.0;
        let scheme = build::for_packets::<S>(scenario, &scenario.fabric.build())?;
        let congestion = match &scenario.live.tcp_congestion {
            Some(name) => format!("the kernel's TCP with {name}"),
            None => "the kernel's TCP with this machine's default congestion control".to_owned(),
        };
        if scenario.live.agent {
            let (_, part) = for_hosts(scenario)?;
            let at_hosts = match (&part.shim, part.tags()) {
                (Some(_), _) => "keeps windows",
                (None, true) => "tags packets",
                (None, false) => "leaves packets as they are",
            };
            let sends = match part.law {
                Some(law) => {
                    format!("the kernel's TCP with {}'s law, which the agent gives it,", law.kind.name())
                }
                None => congestion,
            };
            let own =
                format!("Its ports are the scheme's, and at its hosts the agent {at_hosts}; {sends} sends.");
            return Ok([vec![own], part.left_out].concat().into_iter().chain(unwritten(scenario)?).collect());
        }
        let mut left_out = vec![format!(
            "Its ports are the scheme's, and so are the priorities that its hosts give to packets. The rest of its hosts \
             is not: {congestion} sends in place of the scheme's own law, and no weights, caps or deadlines are kept to."
        )];
        if scheme.controller().is_some() {
            left_out.push("Its controller hears of no flows and decides nothing.".to_owned());
        }
        left_out.extend(unwritten(scenario)?);
        Ok(left_out)
    }
}

/// What `[measure]` asks for that cannot be seen from the fabric.
fn unwritten(scenario: &Scenario) -> Result<Option<String>, ScenarioError> {
    let hosts = packets::watch(scenario, &scenario.fabric.build())?.hosts;
    let asked = [
        (scenario.measure.trace_every_flow.is_some(), "single flows (measure.trace_every_flow)"),
        (!scenario.slices.is_empty(), "slices"),
        (!hosts.is_empty(), "hosts whose cards are in measure.sample_ports"),
    ];
    let asked: Vec<&str> = asked.iter().filter(|(asked, _)| *asked).map(|(_, what)| *what).collect();
    let ports = "; of ports it is, as at the other levels";
    Ok((!asked.is_empty())
        .then(|| format!("What is reported of {} is not written down{ports}.", asked.join(", "))))
}

#[cfg(test)]
mod tests {
    use tailrace_run::provide_live;

    use super::*;
    use crate::record::Live;

    fn said(scheme: &str, more: &str) -> String {
        static LIVE: Live = Live::new(None);
        provide_live(&LIVE);
        let text = format!(
            "level = \"live\"\nlive = {{ stack = \"kernel\", tcp_congestion = \"reno\" }}\n\
             fabric = {{ preset = \"micro4\" }}\nworkload.sizes = \"web-search\"\nworkload.load = 0.5\n\
             workload.flows = 9\nscheme = {{ name = \"{scheme}\" }}\n{more}"
        );
        tailrace_run::leaves_out(&Scenario::parse(&text).unwrap()).unwrap().join("\n")
    }

    #[test]
    fn what_of_a_scheme_does_not_run_is_said() {
        let dctcp = said("dctcp", "");
        assert!(dctcp.contains("the kernel's TCP with reno sends") && dctcp.lines().count() == 1, "{dctcp}");
        let uranus = said("uranus", "workload.slice = 1\n[[slice]]\nweight = 1.0\n");
        assert!(uranus.contains("controller hears of no flows"), "{uranus}");
        let measured = said(
            "dctcp",
            "measure = { sample_every = \"1ms\", sample_ports = \"all\", trace_every_flow = 2 }",
        );
        let unwritten = "of single flows (measure.trace_every_flow), hosts whose cards are in measure.sample_ports is not";
        assert!(measured.contains(unwritten), "{measured}");
        let unheard = said("dctcp", "transport = { max_window = 99, rto = \"fixed\", min_rto = \"9ms\" }");
        assert!(unheard.ends_with("so nothing depends on transport.max_window, transport.rto."), "{unheard}");
    }
}
