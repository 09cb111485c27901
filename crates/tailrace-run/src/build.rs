//! A scenario's scheme, built with its parameters.

use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_config::table;
use tailrace_core::{Packet, Rate, Scheme, SwitchPlan};
use tailrace_fabric::{Fabric, LoadBalancing};
use tailrace_scenario::Scenario;
use tailrace_schemes::{FLOW_NAMES, NAMES, SchemeVisitor, with_scheme};
use toml::{Table, Value};

/// What switch ports of a rate must be told for the scenario's scheme; `None` where that is not all it takes.
pub fn switch_plan(scenario: &Scenario, link: Rate) -> Result<Option<SwitchPlan>, ScenarioError> {
    struct Plan<'a>(&'a Scenario, Rate);
    impl SchemeVisitor for Plan<'_> {
        type Output = Result<Option<SwitchPlan>, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            Ok(for_packets::<S>(self.0, &self.0.fabric.build())?.switch_plan(self.1))
        }
    }
    visit(scenario, Plan(scenario, link))
}

/// Lets `visitor` work with the scenario's scheme, which must exist at packet level.
pub fn visit<T, V>(scenario: &Scenario, visitor: V) -> Result<T, ScenarioError>
where
    V: SchemeVisitor<Output = Result<T, ScenarioError>>,
{
    let name = &scenario.scheme.name;
    with_scheme(name, visitor).unwrap_or_else(|_| {
        let message = match FLOW_NAMES.contains(&name.as_str()) {
            true => format!(
                "is {name}, which exists at flow level only: write level = \"flow\" (or --level flow), or with = \
                 {{ level = \"flow\" }} into its [[scheme]]"
            ),
            false => unknown("scheme", name, NAMES.iter().copied()),
        };
        Err(ScenarioError::new("scheme.name", message))
    })
}

/// The same where packets are real, so that there is no other level.
pub fn visit_for_frames<T, V>(scenario: &Scenario, visitor: V) -> Result<T, ScenarioError>
where
    V: SchemeVisitor<Output = Result<T, ScenarioError>>,
{
    let name = &scenario.scheme.name;
    if FLOW_NAMES.contains(&name.as_str()) {
        let message = format!(
            "is {name}, which exists at flow level only: it has no ports and hosts for real packets; `tailrace schemes` lists \
             those that do"
        );
        return Err(ScenarioError::new("scheme.name", message));
    }
    visit(scenario, visitor)
}

/// Builds scheme `S` for a scenario of packets.
pub fn for_packets<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> Result<S, ScenarioError> {
    if fabric.hosts > Packet::MAX_HOSTS {
        let message = format!(
            "has {} hosts, but packets have room for the numbers of {}; at flow level (level = \"flow\") there may be more",
            fabric.hosts,
            Packet::MAX_HOSTS
        );
        return Err(ScenarioError::new("fabric", message));
    }
    if S::ONE_PATH && fabric.load_balancing != LoadBalancing::Ecmp {
        let message = format!(
            "must be \"ecmp\": {} keeps state of each flow at the ports of its one path; to change it for this \
             scheme only, write with = {{ \"fabric.load_balancing\" = \"ecmp\" }} into its [[scheme]]",
            S::NAME
        );
        return Err(ScenarioError::new("fabric.load_balancing", message));
    }
    with_params(scenario, fabric)
}

/// Builds scheme `S` with the scenario's parameters.
pub fn with_params<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> Result<S, ScenarioError> {
    let defaults = match Table::try_from(S::Params::default()) {
        Ok(table) => table,
        Err(error) => panic!("{}'s default parameters cannot be written: {error}", S::NAME),
    };
    let built = table::read(over(defaults, &scenario.scheme.params)).and_then(|params| {
        S::new(params, &scenario.facts(fabric)).map_err(|e| ScenarioError::new(e.field, e.message))
    });
    built.map_err(|error| error.within("scheme.params"))
}

/// The scheme's own defaults with what is `given` in their place, table by table: `port = { queues = 4 }` leaves
/// the scheme's marking. A table with other keys than the default's is another form of the same field.
fn over(mut defaults: Table, given: &Table) -> Table {
    for (field, value) in given {
        let merged = match (defaults.remove(field), value) {
            (Some(Value::Table(default)), Value::Table(given))
                if given.keys().all(|key| default.contains_key(key)) =>
            {
                Value::Table(over(default, given))
            }
            _ => value.clone(),
        };
        defaults.insert(field.clone(), merged);
    }
    defaults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_parameters_go_over_the_defaults_table_by_table() {
        let table = |text: &str| text.parse::<Table>().unwrap();
        let defaults = table("k = 1\nport = { queues = 8, marking = \"port\", at = { a = 1, b = 2 } }");
        let given = table("port = { queues = 2, at = { c = 3 } }");
        let expected = table("k = 1\nport = { queues = 2, marking = \"port\", at = { c = 3 } }");
        assert_eq!(over(defaults.clone(), &given), expected);
        assert_eq!(over(defaults, &table("port = 5"))["port"].as_integer(), Some(5));
    }
}
