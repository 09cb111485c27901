//! Runs at flow level: the same scenario and the same tables, without packets.

use std::ops::ControlFlow;

use tailrace_config::{ScenarioError, suggest::unknown, table};
use tailrace_core::{Controller, FlowRecord, FlowScheme, HEADER_BYTES, Knowledge, RateRule, Scheme};
use tailrace_fabric::Fabric;
use tailrace_flow::{Ending, LONGEST_PATH, Outcome, Setup, World};
use tailrace_packet::{PortCounts, Progress, Series};
use tailrace_scenario::Scenario;
use tailrace_schemes::{
    FLOW_NAMES, FlowSchemeVisitor, NAMES, SchemeVisitor, Unknown, with_flow_scheme, with_scheme,
};
use tailrace_workload::{Deadlines, Rule};

use crate::error::Error;
use crate::run::{Control, PacketCounts, RunResult, Summary, summarise};
use crate::tables;

/// What of a scheme there is at flow level.
struct Shared {
    rule: Box<dyn RateRule>,
    knows: Knowledge,
    controller: Option<Box<dyn Controller>>,
}

/// Builds what the scenario's scheme is at flow level.
fn shared(scenario: &Scenario, fabric: &Fabric) -> Result<Shared, ScenarioError> {
    let name = &scenario.scheme.name;
    let of_both = with_scheme(name, OfBoth { scenario, fabric });
    let built = of_both.or_else(|Unknown| with_flow_scheme(name, OfFlows { scenario, fabric }));
    built.unwrap_or_else(|Unknown| {
        let names = NAMES.iter().chain(FLOW_NAMES).copied();
        Err(ScenarioError::new("scheme.name", unknown("scheme", name, names)))
    })
}

/// Checks that the scenario can run at flow level.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let observed = |rule: &Rule| matches!(rule.deadline, Some(Deadlines::Gamma(gamma)) if gamma.observed);
    if scenario.workload.rules.iter().any(observed) {
        let message =
            "is true: which flows get deadlines would depend on queues, and at flow level there are none";
        return Err(ScenarioError::new("workload.deadline.gamma.observed", message));
    }
    let fabric = scenario.fabric.build();
    let links = fabric.longest_path();
    if links > LONGEST_PATH {
        let message =
            format!("has paths of {links} links, and at flow level there is room for {LONGEST_PATH}");
        return Err(ScenarioError::new("fabric", message));
    }
    shared(scenario, &fabric).map(drop)
}

/// A scheme that exists at both levels.
struct OfBoth<'a> {
    scenario: &'a Scenario,
    fabric: &'a Fabric,
}

impl SchemeVisitor for OfBoth<'_> {
    type Output = Result<Shared, ScenarioError>;
    fn visit<S: Scheme>(self) -> Self::Output {
        let scheme = crate::run::with_params::<S>(self.scenario, self.fabric)?;
        let Some(rule) = scheme.rate_rule() else {
            let message = format!(
                "{} has no rule for rates (with these parameters), so that it exists at packet level only: leave out \
                 level = \"flow\" (or --level flow), or write with = {{ level = \"packet\" }} into its [[scheme]]",
                S::NAME
            );
            return Err(ScenarioError::new("scheme.name", message));
        };
        Ok(Shared { rule, knows: S::KNOWS, controller: scheme.controller() })
    }
}

/// A scheme that exists at flow level only.
struct OfFlows<'a> {
    scenario: &'a Scenario,
    fabric: &'a Fabric,
}

impl FlowSchemeVisitor for OfFlows<'_> {
    type Output = Result<Shared, ScenarioError>;
    fn visit<S: FlowScheme>(self) -> Self::Output {
        let params =
            table::read(self.scenario.scheme.params.clone()).map_err(|e| e.within("scheme.params"))?;
        let scheme = S::new(params, &self.scenario.facts(self.fabric))
            .map_err(|e| ScenarioError::new(e.field, e.message).within("scheme.params"))?;
        Ok(Shared { rule: Box::new(scheme), knows: S::KNOWS, controller: None })
    }
}

/// Runs a scenario at flow level.
pub(crate) fn run(scenario: &Scenario, control: &dyn Control) -> Result<RunResult, Error> {
    let fabric = scenario.fabric.build();
    let (outcome, progress, ending) = simulate(scenario, &fabric, control)?;
    Ok(tabulate(scenario, &fabric, &outcome, &progress, ending))
}

fn simulate(
    scenario: &Scenario,
    fabric: &Fabric,
    control: &dyn Control,
) -> Result<(Outcome, tailrace_flow::Progress, Ending), Error> {
    let Shared { rule, knows, controller } = shared(scenario, fabric)?;
    let setup = scenario.flow.setup.map_or(Setup::Packets, Setup::Fixed);
    let (feed, horizon) = (crate::flow_list::flows(scenario)?, scenario.measure.horizon);
    let mut world = World::new(rule, knows, fabric, scenario.transport, feed, setup, horizon)
        .omniscient(scenario.scheme.oracle)
        .with_feedback_delay(scenario.flow.feedback_delay)
        .controlled(controller);
    let ending = world.run(&mut |progress| {
        control.progress(&as_shown(progress));
        if control.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if ending == Ending::Interrupted {
        return Err(Error::Interrupted);
    }
    let progress = world.progress();
    Ok((world.into_outcome(), progress, ending))
}

/// Progress as callers show it, who know of packets.
fn as_shown(progress: &tailrace_flow::Progress) -> Progress {
    let tailrace_flow::Progress { now, started, finished, .. } = *progress;
    Progress { now, started, finished, packet_hops: 0 }
}

fn tabulate(
    scenario: &Scenario,
    fabric: &Fabric,
    outcome: &Outcome,
    progress: &tailrace_flow::Progress,
    ending: Ending,
) -> RunResult {
    let ideal = |r: &FlowRecord| fabric.ideal_fct(r.src, r.dst, r.size, &scenario.transport, HEADER_BYTES);
    let sent = |&bytes: &u64| {
        let mut counts = PortCounts::default();
        counts.sent.bytes = bytes;
        counts
    };
    RunResult {
        summary: Summary {
            scheme: crate::file::label(scenario).to_owned(),
            version: crate::VERSION.to_owned(),
            digest: format!("{:016x}", outcome.digest),
            virtual_seconds: progress.now.as_secs_f64(),
            ended: if ending == Ending::Horizon { "horizon" } else { "finished" }.to_owned(),
            packet_hops: 0,
            packets: PacketCounts::default(),
            urgent_share: 0.0,
            updates: outcome.updates,
            classes: summarise(scenario, outcome.records.iter(), &outcome.tasks, ideal),
        },
        flows: tables::flows(outcome.records.iter(), ideal),
        tasks: scenario.workload.has_tasks().then(|| tables::tasks(&outcome.tasks)),
        ports: tables::ports(fabric, outcome.port_bytes.iter().map(sent), progress.now),
        series: tables::series(fabric, &Series::default()),
        scenario: scenario.resolved(),
    }
}

/// What a run took, for measurements of the simulator itself.
#[derive(Clone, Copy, Debug)]
pub struct FlowRunCost {
    /// Flows that have finished.
    pub flows: usize,
    /// Events of the run.
    pub events: u64,
    /// Mean task completion time in seconds; of flows where there are no tasks.
    pub mean_completion: f64,
}

/// Runs a scenario at flow level and keeps only what it took.
pub fn flow_run_cost(scenario: &Scenario) -> Result<FlowRunCost, Error> {
    struct Silent;
    impl Control for Silent {
        fn progress(&self, _: &Progress) {}
        fn interrupted(&self) -> bool {
            false
        }
    }
    let fabric = scenario.fabric.build();
    let (outcome, progress, _) = simulate(scenario, &fabric, &Silent)?;
    let tasks: Vec<f64> = outcome.tasks.iter().filter_map(|t| Some(t.tct()?.as_secs_f64())).collect();
    let flows = || outcome.records.iter().filter_map(|r| Some(r.fct()?.as_secs_f64())).collect::<Vec<_>>();
    let times = if tasks.is_empty() { flows() } else { tasks };
    let mean_completion = crate::stats::mean(&times).unwrap_or(0.0);
    Ok(FlowRunCost { flows: progress.finished, events: progress.events, mean_completion })
}
