//! Runs at packet level.

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, Outcome, PortId, Scheme};
use tailrace_fabric::Fabric;
use tailrace_packet::{Tap, Watch, World};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;
use tailrace_traffic::{Feed, GammaControl};

use crate::build;
use crate::control::{Control, look};

/// Runs a scenario packet by packet.
pub(crate) fn run(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
    taps: Vec<(PortId, Tap)>,
) -> Result<(Outcome, Ending), ScenarioError> {
    build::visit(scenario, Runner { scenario, feed, control, taps })
}

struct Runner<'a> {
    scenario: &'a Scenario,
    feed: Feed,
    control: &'a dyn Control,
    taps: Vec<(PortId, Tap)>,
}

impl SchemeVisitor for Runner<'_> {
    type Output = Result<(Outcome, Ending), ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Runner { scenario, feed, control, taps } = self;
        let fabric = scenario.fabric.build();
        let mut world = world::<S>(scenario, &fabric, feed)?;
        for (port, tap) in taps {
            world = world.tapping(port, tap);
        }
        let ending = world.run(&mut |run| look(control, run));
        Ok((balanced(world.into_outcome()), ending))
    }
}

/// What a run leaves behind, however it ended.
///
/// # Panics
///
/// If the network has lost packets or made some up.
pub(crate) fn balanced(outcome: Outcome) -> Outcome {
    let balanced = outcome.ledger.is_some_and(|ledger| ledger.balances());
    assert!(balanced, "packets were lost or made up: {:?}", outcome.ledger);
    outcome
}

/// The world of a scenario under scheme `S`, at time zero.
pub(crate) fn world<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
) -> Result<World<S>, ScenarioError> {
    world_watching(scenario, fabric, feed, watch(scenario, fabric)?)
}

/// The same, with something else observed.
pub(crate) fn world_watching<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
    watch: Watch,
) -> Result<World<S>, ScenarioError> {
    let scheme = build::for_packets::<S>(scenario, fabric)?;
    let horizon = scenario.measure.horizon;
    let gamma = GammaControl::new(scenario.workload.rules.iter(), true, scenario.setting(), scenario.seed);
    let world = World::new(scheme, fabric, scenario.transport, feed, horizon, watch, scenario.seed);
    Ok(world.controlled(gamma).omniscient(scenario.scheme.oracle))
}

/// What is observed: the ports that the scenario names, and the hosts whose network cards are among them.
pub(crate) fn watch(scenario: &Scenario, fabric: &Fabric) -> Result<Watch, ScenarioError> {
    let measure = &scenario.measure;
    let within = |e: ScenarioError| e.within("measure.sample_ports");
    let ports = measure.sample_ports.of(fabric).map_err(within)?;
    let hosts = ports.iter().copied().filter(|&port| (port as usize) < fabric.hosts).map(|port| port as u16);
    let (every, every_flow) = (measure.sample_every, measure.trace_every_flow);
    let slices = scenario.slices.clone();
    Ok(Watch { hosts: hosts.collect(), every, ports, every_flow, slices })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Unattended;

    /// The digest of a run of pFabric, which ranks by what it may know.
    fn digest(reveals: &str, oracle: bool) -> u64 {
        let text = format!(
            r#"
            [fabric]
            preset = "micro4"
            [workload]
            sizes = "web-search"
            load = 0.7
            flows = 200
            reveals = "{reveals}"
            [scheme]
            name = "pfabric"
            oracle = {oracle}
            "#
        );
        let scenario = Scenario::parse(&text).unwrap();
        run(&scenario, crate::feed(&scenario).unwrap(), &Unattended, Vec::new()).unwrap().0.digest
    }

    #[test]
    fn a_scheme_sees_no_size_that_is_not_revealed_unless_it_is_an_oracle() {
        assert_eq!(digest("size", false), digest("size", true));
        assert_eq!(digest("nothing", true), digest("size", true));
        assert_ne!(digest("nothing", false), digest("size", false));
    }
}
