//! Runs at flow level: the same scenario without packets.

use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_config::table;
use tailrace_core::{Controller, Ending, FlowScheme, Knowledge, Outcome, RateRule, Scheme};
use tailrace_fabric::{Fabric, LoadBalancing};
use tailrace_flow::{LONGEST_PATH, Setup, World};
use tailrace_scenario::{Level, Scenario};
use tailrace_schemes::{
    FLOW_NAMES, FlowSchemeVisitor, NAMES, SchemeVisitor, Unknown, with_flow_scheme, with_scheme,
};
use tailrace_workload::feed::Feed;
use tailrace_workload::{Deadlines, Rule};

use crate::build;
use crate::control::{Control, look};

/// Runs a scenario flow by flow.
pub(crate) fn run(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
) -> Result<(Outcome, Ending), ScenarioError> {
    let fabric = scenario.fabric.build();
    let shared = shared(scenario, &fabric)?;
    Ok(ran(scenario, &fabric, feed, control, shared))
}

/// A rule for rates that is no scheme's of this crate, and what it may know of flows.
pub struct OwnRule {
    /// The rule.
    pub rule: Box<dyn RateRule + Send>,
    /// What it may know.
    pub knows: Knowledge,
}

/// Runs a scenario of the flow level by another rule than its scheme's, which only gives the run its name. Fails if the level cannot
/// express the scenario, as [`check`](crate::check) does.
pub fn run_by_rule(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
    own: OwnRule,
) -> Result<(Outcome, Ending), ScenarioError> {
    if scenario.level != Level::Flow {
        let message = "must be \"flow\" for a rule of one's own: packets have none";
        return Err(ScenarioError::new("level", message));
    }
    let fabric = scenario.fabric.build();
    check_level(scenario, &fabric)?;
    let shared = Shared { rule: own.rule, knows: own.knows, controller: None };
    Ok(ran(scenario, &fabric, feed, control, shared))
}

fn ran(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
    control: &dyn Control,
    Shared { rule, knows, controller }: Shared,
) -> (Outcome, Ending) {
    let setup = scenario.flow.setup.map_or(Setup::Packets, Setup::Fixed);
    let horizon = scenario.measure.horizon;
    let mut world = World::new(rule, knows, fabric, scenario.transport, feed, setup, horizon)
        .omniscient(scenario.scheme.oracle)
        .with_feedback_delay(scenario.flow.feedback_delay)
        .controlled(controller);
    let ending = world.run(&mut |run| look(control, run));
    (world.into_outcome(), ending)
}

/// Checks that the scenario can run at flow level.
pub(crate) fn check(scenario: &Scenario, fabric: &Fabric) -> Result<(), ScenarioError> {
    shared(scenario, fabric).map(drop)
}

/// What the scenario's scheme does that its rule cannot say.
pub(crate) fn leaves_out(scenario: &Scenario) -> Result<&'static [&'static str], ScenarioError> {
    Ok(shared(scenario, &scenario.fabric.build())?.rule.leaves_out())
}

/// What of a scheme there is at flow level.
struct Shared {
    rule: Box<dyn RateRule>,
    knows: Knowledge,
    controller: Option<Box<dyn Controller>>,
}

/// Whether the level can express the scenario, whatever its scheme.
fn check_level(scenario: &Scenario, fabric: &Fabric) -> Result<(), ScenarioError> {
    let observed = |rule: &Rule| matches!(rule.deadline, Some(Deadlines::Gamma(gamma)) if gamma.observed);
    if scenario.workload.rules.iter().any(observed) {
        let message =
            "is true: which flows get deadlines would depend on queues, and at flow level there are none";
        return Err(ScenarioError::new("workload.deadline.gamma.observed", message));
    }
    let links = fabric.longest_path();
    if links > LONGEST_PATH {
        let message =
            format!("has paths of {links} links, and at flow level there is room for {LONGEST_PATH}");
        return Err(ScenarioError::new("fabric", message));
    }
    if !fabric.outages.is_empty() {
        let message =
            "is for packets: at flow level links do not fail; leave out level = \"flow\" (or --level flow)";
        return Err(ScenarioError::new("fabric.failure", message));
    }
    if fabric.two_way && fabric.load_balancing != LoadBalancing::Ecmp {
        let message = "must be \"ecmp\" at flow level: packets are spread over ways of a graph that may share some links \
                       and not others, and there is no rate of all of them together";
        return Err(ScenarioError::new("fabric.load_balancing", message));
    }
    Ok(())
}

/// Builds what the scenario's scheme is at flow level, on a fabric and for a workload that the level can express.
fn shared(scenario: &Scenario, fabric: &Fabric) -> Result<Shared, ScenarioError> {
    check_level(scenario, fabric)?;
    let name = &scenario.scheme.name;
    let of_both = with_scheme(name, OfBoth { scenario, fabric });
    let built = of_both.or_else(|Unknown| with_flow_scheme(name, OfFlows { scenario, fabric }));
    built.unwrap_or_else(|Unknown| {
        let names = NAMES.iter().chain(FLOW_NAMES).copied();
        Err(ScenarioError::new("scheme.name", unknown("scheme", name, names)))
    })
}

/// A scheme that exists at both levels.
struct OfBoth<'a> {
    scenario: &'a Scenario,
    fabric: &'a Fabric,
}

impl SchemeVisitor for OfBoth<'_> {
    type Output = Result<Shared, ScenarioError>;
    fn visit<S: Scheme>(self) -> Self::Output {
        let scheme = build::with_params::<S>(self.scenario, self.fabric)?;
        let Some(rule) = scheme.rate_rule() else {
            let given = if self.scenario.scheme.params.is_empty() { "" } else { " with these parameters" };
            let message = format!(
                "{} has no rule for rates{given}, so that it exists at packet level only: leave out level = \"flow\" \
                 (or --level flow), or write with = {{ level = \"packet\" }} into its [[scheme]]",
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
