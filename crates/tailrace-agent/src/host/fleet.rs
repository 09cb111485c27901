//! A scheme's parts that decide for many hosts: its policy, which learns from all their flows, and its controller.

use tailrace_config::ScenarioError;
use tailrace_core::{Controller, Knowledge, Scheme};
use tailrace_run::build;
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;

use super::part::{Given, HostPart, at_host};
use crate::file::ControlConfig;

/// What is decided for the hosts of a fleet.
pub struct FleetPart {
    /// What all hosts do, as if they were one: it is told of all flows that end.
    pub part: HostPart,
    /// What gives flows weights, if the scheme has it. Its hosts are the fleet's racks.
    pub controller: Option<Box<dyn Controller>>,
    /// What that may know of flows.
    pub knows: Knowledge,
}

/// The parts of a scheme that a fleet's controller runs, if there are any.
pub fn for_fleet(config: &ControlConfig) -> Result<FleetPart, ScenarioError> {
    let part = at_host(&config.scenario, None, Given::InFile)?;
    let (controller, knows) = build::visit_for_frames(&config.scenario, Ask(&config.scenario))?;
    let controller = controller.filter(|_| part.shim.is_some());
    let fleet = FleetPart { part, controller, knows };
    if fleet.controller.is_none() && !fleet.part.learns() {
        let message = "has nothing to be decided for many hosts: neither do its thresholds follow flows that end, nor does it \
                       have a controller whose weights agents keep";
        return Err(ScenarioError::new("scheme.name", message));
    }
    if fleet.controller.is_some() && config.racks.is_empty() {
        let message = "is missing: the scheme shares what is between racks, so [[rack]]s must say which addresses are of which";
        return Err(ScenarioError::new("rack", message));
    }
    Ok(fleet)
}

/// The same for all hosts of a scenario's own fabric, if it has a controller whose weights agents keep.
pub fn for_all_hosts(scenario: &Scenario) -> Result<Option<FleetPart>, ScenarioError> {
    let (controller, knows) = build::visit(scenario, Ask(scenario))?;
    let Some(controller) = controller else { return Ok(None) };
    let part = at_host(scenario, None, Given::Live)?;
    Ok(part.shim.is_some().then_some(FleetPart { part, controller: Some(controller), knows }))
}

struct Ask<'a>(&'a Scenario);

impl SchemeVisitor for Ask<'_> {
    type Output = Result<(Option<Box<dyn Controller>>, Knowledge), ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let scheme = build::for_packets::<S>(self.0, &self.0.fabric.build())?;
        Ok((scheme.controller(), S::KNOWS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(rest: &str) -> Result<FleetPart, String> {
        let text = format!("[control]\nendpoints = [\"http://127.0.0.1:2379\"]\n{rest}");
        for_fleet(&ControlConfig::parse(&text).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn schemes_that_learn_or_have_a_controller_are_for_fleets() {
        let awafs = part("[scheme]\nname = \"awafs\"\nparams = { placement = \"host\" }").unwrap();
        assert!(awafs.part.learns() && awafs.controller.is_none());
        let uranus = "[scheme]\nname = \"uranus\"\n[[slice]]\nweight = 1\n[[slice]]\nweight = 4\n";
        let racks = "[[rack]]\naddresses = [\"10.0.1.0/24\"]\n[[rack]]\naddresses = [\"10.0.2.0/24\"]\n";
        let whole = part(&format!("{uranus}{racks}")).unwrap();
        assert!(whole.controller.is_some() && whole.part.shim.is_some());
        assert!(part(uranus).err().unwrap().starts_with("rack: is missing"));
        let on_fabric = |scheme: &str| {
            let text = format!(
                "{scheme}fabric = {{ preset = \"micro4\" }}\nworkload = {{ sizes = \"web-search\", load = 0.1, flows = 1, slice = 1 }}\n\
                 [[slice]]\nweight = 1\n"
            );
            for_all_hosts(&Scenario::parse(&text).unwrap()).unwrap().is_some()
        };
        assert!(
            on_fabric("scheme = { name = \"uranus\" }\n") && !on_fabric("scheme = { name = \"wvcc\" }\n")
        );
        let mlfq = part("[scheme]\nname = \"mlfq\"").err().unwrap();
        assert!(mlfq.contains("scheme.name: has nothing to be decided for many hosts"), "{mlfq}");
    }
}
