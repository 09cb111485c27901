//! The file of a fleet's controller: where the fleet meets, the scheme, and which addresses are of which rack.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use serde::Deserialize;
use tailrace_config::{ScenarioError, read_parsed, suggest, table};
use tailrace_core::{Rate, Time};
use tailrace_fabric::check_link;
use tailrace_scenario::Scenario;
use toml::{Table, Value};

use super::agent::{common_rate, of_hosts};
use super::fleet::Fleet;
use super::subnet::Subnet;

const SECTIONS: [&str; 5] = ["control", "workload", "scheme", "slice", "rack"];
/// Racks are hosts of a fabric.
const MAX_RACKS: usize = 4_096;

/// What a fleet's controller does.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlConfig {
    /// The fleet.
    pub fleet: Fleet,
    /// Its racks, in order.
    pub racks: Vec<Rack>,
    /// A host for each rack, with links as those of the fleet's hosts; or two without racks. The traffic, if it is given, and
    /// the scheme.
    pub scenario: Scenario,
}

/// A rack: addresses of its hosts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rack {
    /// Of its hosts.
    pub addresses: Vec<Subnet>,
}

impl ControlConfig {
    /// Reads a file, and those that it names. Errors say file, line and field.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        read_parsed(path, |text, folder| {
            let mut config = Self::parse(text)?;
            config.fleet.resolve(folder);
            if !config.scenario.workload.rules.is_empty() {
                config.scenario.read_files(folder)?;
            }
            Ok(config)
        })
    }

    /// Reads a file's text. Errors say the line.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let table = text.parse().map_err(|error| ScenarioError::syntax(&error, text))?;
        Self::from_table(table).map_err(|error| error.locate(text))
    }

    fn from_table(mut given: Table) -> Result<Self, ScenarioError> {
        if let Some(name) = given.keys().find(|name| !SECTIONS.contains(&name.as_str())) {
            return Err(ScenarioError::new(name, suggest::unknown("section", name, SECTIONS)));
        }
        let rate = take_rate(&mut given)?;
        let Some(fleet) = Fleet::take(&mut given)? else {
            return Err(ScenarioError::new("control", "is missing: it says where the fleet meets"));
        };
        let racks = take_racks(&mut given)?;
        let ends = (racks.len() as i64).max(2);
        let fabric = [
            ("kind", Value::from("leaf-spine")),
            ("leaves", Value::from(ends)),
            ("spines", Value::from(1)),
            ("hosts_per_leaf", Value::from(1)),
            ("spine_rate", Value::from(rate.to_string())),
        ];
        Ok(ControlConfig { fleet, racks, scenario: of_hosts(given, &fabric, rate)? })
    }

    /// The number of an address' rack.
    pub fn rack_of(&self, address: IpAddr) -> Option<u16> {
        let place = self.racks.iter().position(|rack| rack.addresses.iter().any(|of| of.has(address)))?;
        u16::try_from(place).ok()
    }
}

/// Of the hosts' links.
fn take_rate(given: &mut Table) -> Result<Rate, ScenarioError> {
    let control = given.get_mut("control").and_then(Value::as_table_mut);
    let Some(Value::String(text)) = control.and_then(|control| control.remove("rate")) else {
        return Ok(common_rate());
    };
    let wrong = |message: String| ScenarioError::new("control.rate", message);
    let rate: Rate = text.parse().map_err(|error| wrong(format!("{error}")))?;
    check_link(rate, Time::ZERO).map_err(|error| error.within("control"))?;
    Ok(rate)
}

fn take_racks(given: &mut Table) -> Result<Vec<Rack>, ScenarioError> {
    let tables = match given.remove("rack") {
        None => return Ok(Vec::new()),
        Some(Value::Array(tables)) => tables,
        Some(_) => return Err(ScenarioError::new("rack", "must be a list of tables: [[rack]]")),
    };
    if !(2..=MAX_RACKS).contains(&tables.len()) {
        let message = format!("there are {}, but must be 2 to {MAX_RACKS} or none", tables.len());
        return Err(ScenarioError::new("rack", message));
    }
    let mut seen = BTreeSet::new();
    let mut rack = |(number, value)| {
        let read = || match value {
            Value::Table(fields) => table::read(fields),
            _ => Err(ScenarioError::new("", "must be a table: [[rack]]")),
        };
        let rack: Rack = read().map_err(|error: ScenarioError| error.within(&format!("rack[{number}]")))?;
        let field = format!("rack[{number}].addresses");
        match rack.addresses.iter().find(|subnet| !seen.insert(**subnet)) {
            Some(twice) => Err(ScenarioError::new(field, format!("has {twice}, which another rack has"))),
            None if rack.addresses.is_empty() => Err(ScenarioError::new(field, "is empty")),
            None => Ok(rack),
        }
    };
    tables.into_iter().enumerate().map(&mut rack).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "[control]\nendpoints = [\"http://127.0.0.1:2379\"]\nrate = \"1Gbps\"\n[scheme]\nname = \"uranus\"\n\
                        [[slice]]\nweight = 1\n[[rack]]\naddresses = [\"10.0.1.0/24\", \"fd00::/16\"]\n\
                        [[rack]]\naddresses = [\"10.0.2.7\"]\n";

    #[test]
    fn racks_are_subnets_and_hosts_of_a_fabric() {
        let config = ControlConfig::parse(FILE).unwrap();
        let of = |text: &str| config.rack_of(text.parse().unwrap());
        let found = ["10.0.1.200", "fd00::7", "10.0.2.7", "10.0.2.8", "::a00:107"].map(of);
        assert_eq!(found, [Some(0), Some(0), Some(1), None, None]);
        let fabric = config.scenario.fabric.build();
        assert_eq!((fabric.hosts, fabric.edge_of[0] != fabric.edge_of[1]), (2, true));
        assert_eq!(fabric.host_rate(), Rate::from_gbps(1));
    }

    #[test]
    fn the_guides_files_are_some() {
        let guide = include_str!("../../../../docs/guide/control.md");
        let files: Vec<&str> =
            guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        let awafs = ControlConfig::parse(files[0]).unwrap();
        let agent = crate::AgentConfig::parse(files[1]).unwrap();
        assert_eq!(agent.fleet.as_ref(), Some(&awafs.fleet));
        assert_eq!(agent.scenario.scheme, awafs.scenario.scheme);
        assert_eq!(ControlConfig::parse(files[2]).unwrap().racks.len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_a_controller_or_a_mistake(at in 0..FILE.len(), cut in 0usize..20, text in ".{0,12}") {
            let end = (at + cut).min(FILE.len());
            if let Ok(config) = ControlConfig::parse(&format!("{}{text}{}", &FILE[..at], &FILE[end..])) {
                prop_assert!(!config.fleet.endpoints.is_empty());
            }
        }
    }

    #[test]
    fn mistakes_name_line_and_field_and_what_would_be_right() {
        for (from, to, said) in [
            ("10.0.2.7", "10.0.2.7/24", "rack[1].addresses[0]: \"10.0.2.7/24\" is no address"),
            ("10.0.2.7", "10.0.2", "is no address and no subnet such as \"10.0.1.0/24\""),
            ("10.0.2.7", "10.0.1.0/24", "rack[1].addresses: has 10.0.1.0/24, which another rack has"),
            ("[\"10.0.2.7\"]", "[]", "rack[1].addresses: is empty"),
            ("[[rack]]\naddresses = [\"10.0.2.7\"]", "", "rack: there are 1, but must be 2 to 4096 or none"),
            ("1Gbps", "1Kbps", "control.rate: is 1Kbps, but must lie between"),
            ("1Gbps", "fast", "control.rate: "),
            ("[control]", "[contorl]", "unknown section \"contorl\"; did you mean \"control\"?"),
            ("endpoints", "endpoint", "control.endpoint: unknown field"),
        ] {
            assert!(FILE.contains(from), "{from}");
            let message = ControlConfig::parse(&FILE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(message.contains(said), "{said}: {message}");
        }
        let none = ControlConfig::parse("[scheme]\nname = \"awafs\"").unwrap_err().to_string();
        assert!(none.contains("control: is missing"), "{none}");
    }
}
