//! `hosts = …` of a task: given ones, or so many next to each other.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tailrace_config::ScenarioError;

use super::built::check_hosts;
use crate::Setting;
use crate::hosts::Hosts;
use crate::task::placement::Placement;

/// The hosts of a task that have an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Group {
    /// So many with consecutive numbers, of which each task draws the first: schedulers place jobs on neighbours.
    Neighbours(u16),
    /// These, in this order; those of racks in order of number.
    These(Hosts),
}

impl Group {
    /// How many they are, and how they are drawn; at least two.
    pub(super) fn place(&self, setting: &Setting) -> Result<(u16, Placement), ScenarioError> {
        let wrong = |message: String| Err(ScenarioError::new("hosts", message));
        let hosts = match self {
            Group::Neighbours(count) if !(2..=setting.hosts).contains(&u32::from(*count)) => {
                return wrong(format!(
                    "is {count}, but must be 2 to {}, the hosts that there are",
                    setting.hosts
                ));
            }
            Group::Neighbours(count) => {
                return Ok((*count, Placement::Neighbours { hosts: setting.hosts, count: *count }));
            }
            Group::These(hosts) => hosts,
        };
        hosts.check("hosts", setting)?;
        let hosts = match hosts {
            Hosts::Listed(hosts) => hosts.clone(),
            Hosts::InRacks(_) => hosts.sorted(&setting.racks),
        };
        if hosts.len() < 2 {
            return wrong("names one host, but flows need two".to_owned());
        }
        check_hosts("hosts", hosts.len())?;
        Ok((hosts.len() as u16, Placement::Fixed(hosts)))
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Group;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of hosts, a list of hosts such as [0, 1], or { racks = [0] }")
            }

            fn visit_i64<E: Error>(self, count: i64) -> Result<Group, E> {
                let count = u16::try_from(count)
                    .map_err(|_| E::custom(format!("{count} hosts, but it must be 1 to {}", u16::MAX)))?;
                Ok(Group::Neighbours(count))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Group, A::Error> {
                Hosts::deserialize(SeqAccessDeserializer::new(seq)).map(Group::These)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Group, A::Error> {
                Hosts::deserialize(MapAccessDeserializer::new(map)).map(Group::These)
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for Group {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Group".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (count, hosts) = (generator.subschema_for::<u16>(), generator.subschema_for::<Hosts>());
        json_schema!({
            "description": "A number of hosts next to each other, drawn for each task, or given hosts.",
            "anyOf": [count, hosts],
        })
    }
}
