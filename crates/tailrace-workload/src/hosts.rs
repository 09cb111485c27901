//! Hosts by their numbers or by their racks.

use std::fmt::{self, Display};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tailrace_config::ScenarioError;
use tailrace_core::HostId;
use tailrace_fabric::Racks;

use super::Setting;

/// Some hosts of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// These.
    Listed(Vec<HostId>),
    /// All in these racks.
    InRacks(Vec<u16>),
}

/// As it is written.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ByRack<T> {
    racks: T,
}

impl Hosts {
    /// Their numbers, in order.
    pub(super) fn sorted(&self, racks: &Racks) -> Vec<HostId> {
        let mut hosts: Vec<HostId> = match self {
            Hosts::Listed(hosts) => hosts.clone(),
            Hosts::InRacks(numbers) => numbers.iter().flat_map(|&rack| racks.hosts(rack)).collect(),
        };
        hosts.sort_unstable();
        hosts
    }

    /// Checks them against the fabric.
    pub(super) fn check(&self, field: &str, setting: &Setting) -> Result<(), ScenarioError> {
        match self {
            Hosts::Listed(hosts) => check_numbers("host", field, hosts, setting.hosts),
            Hosts::InRacks(racks) => {
                check_numbers("rack", &format!("{field}.racks"), racks, setting.racks.count().into())
            }
        }
    }
}

/// Checks that a list names some of so many hosts (or racks), and each only once.
pub(super) fn check_numbers<N>(what: &str, field: &str, list: &[N], count: u32) -> Result<(), ScenarioError>
where
    N: Copy + Ord + Display + Into<u32>,
{
    if list.is_empty() {
        return Err(ScenarioError::new(field, format!("must name at least one {what}")));
    }
    if let Some(number) = list.iter().find(|&&number| number.into() >= count) {
        let there = match count {
            1 => format!("only {what} 0"),
            _ => format!("{what}s 0 to {}", count - 1),
        };
        let message = format!("{what} {number} does not exist; the fabric has {there}");
        return Err(ScenarioError::new(field, message));
    }
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ScenarioError::new(field, format!("{what} {} is named twice", pair[0]))),
        None => Ok(()),
    }
}

impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Hosts::Listed(hosts) => hosts.serialize(to),
            Hosts::InRacks(racks) => ByRack { racks }.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Hosts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of hosts such as [0, 1], or { racks = [0] }")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Hosts, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Hosts::Listed)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Hosts, A::Error> {
                ByRack::deserialize(MapAccessDeserializer::new(map)).map(|by| Hosts::InRacks(by.racks))
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for Hosts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hosts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let numbers = generator.subschema_for::<Vec<HostId>>();
        json_schema!({
            "description": "Hosts by their numbers, or all hosts of some racks.",
            "anyOf": [
                numbers,
                {
                    "type": "object",
                    "required": ["racks"],
                    "additionalProperties": false,
                    "properties": { "racks": numbers },
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::{Rate, Time};

    /// Three racks, of 2, 3 and 3 hosts.
    const SETTING: Setting = Setting {
        hosts: 8,
        speeds: Vec::new(),
        racks: Racks::bounded(&[0, 2, 5, 8]),
        racks_per_pod: 3,
        slices: 0,
        host_rate: Rate::from_gbps(1),
        mss: 1460,
        base_rtt: Time::ZERO,
    };

    #[derive(Serialize, Deserialize)]
    struct Rule {
        from: Hosts,
    }

    fn read(text: &str) -> Result<Hosts, String> {
        let rule: Rule = tailrace_config::table::read(format!("from = {text}").parse().unwrap())
            .map_err(|error| error.to_string())?;
        rule.from.check("from", &SETTING).map_err(|error| error.to_string())?;
        Ok(rule.from)
    }

    #[test]
    fn racks_stand_for_their_hosts() {
        let hosts = |text: &str| read(text).unwrap().sorted(&SETTING.racks);
        assert_eq!(hosts("[7, 0, 3]"), [0, 3, 7]);
        assert_eq!(hosts("{ racks = [0] }"), [0, 1]);
        assert_eq!(hosts("{ racks = [2, 0] }"), [0, 1, 5, 6, 7]);
    }

    #[test]
    fn they_are_written_as_they_were_read() {
        for text in ["[7, 0, 3]", "{ racks = [2, 0] }"] {
            let written = tailrace_config::table::write(&Rule { from: read(text).unwrap() });
            assert_eq!(written, format!("from = {text}").parse().unwrap());
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = |text: &str| read(text).unwrap_err();
        assert_eq!(error("[8]"), "from: host 8 does not exist; the fabric has hosts 0 to 7");
        assert_eq!(
            error("{ racks = [1, 3] }"),
            "from.racks: rack 3 does not exist; the fabric has racks 0 to 2"
        );
        assert_eq!(error("{ racks = [1, 1] }"), "from.racks: rack 1 is named twice");
        assert_eq!(error("{ racks = [] }"), "from.racks: must name at least one rack");
        let star = Setting { racks: Racks::bounded(&[0, 8]), ..SETTING };
        let only = Hosts::InRacks(vec![1]).check("to", &star).unwrap_err().to_string();
        assert_eq!(only, "to.racks: rack 1 does not exist; the fabric has only rack 0");
    }

    #[test]
    fn other_forms_are_refused_with_both() {
        let error = |text: &str| read(text).unwrap_err();
        for text in ["3", "\"all\"", "true"] {
            assert!(error(text).contains("a list of hosts such as [0, 1], or { racks = [0] }"), "{text}");
        }
        assert!(error("{ rack = [0] }").contains("unknown field \"rack\"; did you mean \"racks\"?"));
        assert!(error("{ racks = 0 }").starts_with("from"), "{}", error("{ racks = 0 }"));
        assert!(error("[0, \"one\"]").starts_with("from"), "{}", error("[0, \"one\"]"));
    }
}
