//! Whether a scenario's scheme can run where it is to run.

use tailrace_config::ScenarioError;
use tailrace_core::Scheme;
use tailrace_fabric::Fabric;
use tailrace_scenario::{Level, Scenario, Stack};
use tailrace_schemes::SchemeVisitor;

use crate::{build, kernel, packets, rates};

/// Finds out, before anything runs, whether the scenario's scheme exists at its level, takes its parameters, and can
/// run on its fabric.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let fabric = scenario.fabric.build();
    match scenario.level {
        Level::Packet | Level::Live => {
            packets::watch(scenario, &fabric)?;
            if scenario.level == Level::Live && scenario.live.stack == Stack::Kernel {
                kernel::check(scenario)?;
            }
            build::visit(scenario, Check { scenario, fabric: &fabric })
        }
        Level::Flow => rates::check(scenario, &fabric),
    }
}

struct Check<'a> {
    scenario: &'a Scenario,
    fabric: &'a Fabric,
}

impl SchemeVisitor for Check<'_> {
    type Output = Result<(), ScenarioError>;
    fn visit<S: Scheme>(self) -> Self::Output {
        build::for_packets::<S>(self.scenario, self.fabric).map(drop)
    }
}
