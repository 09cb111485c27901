//! Whether a scenario's scheme can run where it is to run.

use tailrace_config::ScenarioError;
use tailrace_core::Scheme;
use tailrace_fabric::Fabric;
use tailrace_scenario::{Level, Scenario};
use tailrace_schemes::SchemeVisitor;

use crate::live::live;
use crate::{build, packets, rates};

/// Finds out, before anything runs, whether the scenario's scheme exists at its level, takes its parameters, and can
/// run on its fabric.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let fabric = scenario.fabric.build();
    match scenario.level {
        Level::Packet | Level::Live => {
            packets::watch(scenario, &fabric)?;
            if scenario.level == Level::Packet {
                ends(scenario, &fabric)?;
            }
            if let (Level::Live, Some(live)) = (scenario.level, live()) {
                live.check(scenario)?;
            }
            build::visit(scenario, Check { scenario, fabric: &fabric })
        }
        Level::Flow => rates::check(scenario, &fabric),
    }
}

/// Flows of a host that is cut off for good never end, and their timers go on.
fn ends(scenario: &Scenario, fabric: &Fabric) -> Result<(), ScenarioError> {
    match fabric.cut_off() {
        Some(host) if scenario.measure.horizon.is_none() => {
            let message = format!(
                "leaves {} without a way for good, and its flows never end: write until, or measure.horizon",
                fabric.host_name(host)
            );
            Err(ScenarioError::new("fabric.failure", message))
        }
        _ => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_packets_have_no_numbers_for_runs_at_flow_level() {
        let checked = |fabric: &str, more: &str| {
            let text = format!(
                "scheme = {{ name = \"rcp\" }}\nworkload = {{ sizes = \"web-search\", load = 0.1, flows = 9 }}\n{more}\n\
                 [fabric]\n{fabric}"
            );
            check(&Scenario::parse(&text).unwrap()).map_err(|error| error.to_string())
        };
        let (most, more) = ("preset = \"tree36k\"\npods = 51", "preset = \"tree36k\"\npods = 52");
        assert_eq!(checked(most, ""), Ok(()));
        let said = checked(more, "").unwrap_err();
        assert!(
            said.starts_with("fabric: has 66092 hosts, but packets have room for the numbers of 65536"),
            "{said}"
        );
        assert_eq!(checked(more, "level = \"flow\""), Ok(()));
    }

    /// Hosts that packets have no numbers for send and receive, and records say so.
    #[test]
    fn flows_of_hosts_beyond_those_of_packets_end() {
        let text = "level = \"flow\"\nscheme = { name = \"rcp\" }\n[workload]\nsizes = \"web-search\"\nload = 0.1\nflows = 9\n\
                    pattern = { incast = { receivers = [70000], fan_in = 3, jitter = \"0s\" } }\n[fabric]\npreset = \"tree36k\"\npods = 60";
        let scenario = Scenario::parse(text).unwrap();
        let feed = crate::feed(&scenario).unwrap();
        let (outcome, _) = crate::run(&scenario, feed, &crate::Unattended, Vec::new()).unwrap();
        assert_eq!(outcome.flows.len(), 9);
        assert!(outcome.flows.iter().all(|flow| flow.dst == 70_000 && flow.fct().is_some()));
    }

    #[test]
    fn a_host_that_is_cut_off_for_good_needs_a_horizon() {
        let checked = |failure: &str, more: &str| {
            let text = format!(
                "scheme = {{ name = \"dctcp\" }}\nworkload = {{ sizes = \"web-search\", load = 0.1, flows = 9 }}\n{more}\n\
                 [fabric]\npreset = \"spine144\"\nconvergence = \"1ms\"\nfailure = [{failure}]"
            );
            check(&Scenario::parse(&text).unwrap()).map_err(|error| error.to_string())
        };
        let link = "{ link = \"leaf0->host3\", at = \"1ms\" }";
        let said = checked(link, "").unwrap_err();
        assert!(said.starts_with("fabric.failure: leaves host3 without a way for good"), "{said}");
        assert_eq!(checked(link, "measure = { horizon = \"1s\" }"), Ok(()));
        assert_eq!(checked("{ link = \"leaf0->host3\", at = \"1ms\", until = \"2ms\" }", ""), Ok(()));
        assert_eq!(checked("{ switch = \"spine0\", at = \"1ms\" }", ""), Ok(()));
    }
}
