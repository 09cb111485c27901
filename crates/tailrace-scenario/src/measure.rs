//! `[measure]`: what of a run is measured, and when it ends.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tailrace_config::{ScenarioError, suggest};
use tailrace_core::{Bytes, Time};
use tailrace_fabric::{Fabric, Node, PortId};

/// About what the shortest packet takes on a link of 10 Gbps: queues do not change much faster.
const SHORTEST_PERIOD: Time = Time::from_ns(100);

/// What of a run is measured, and when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// Flows that start earlier are not measured.
    pub warmup: Time,
    /// The run is stopped then; when all flows have ended, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<Time>,
    /// Time between two samples of the ports; no samples if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_every: Option<Time>,
    /// Ports to sample: "none", "all", or names such as `["leaf0->host0"]`.
    pub sample_ports: SamplePorts,
    /// The congestion law of every n-th flow is traced, in schemes whose laws report something; none if left
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_every_flow: Option<u32>,
    /// Short flows have at most this size.
    pub short: Bytes,
    /// Long flows are larger than this.
    pub long: Bytes,
}

impl Default for Measure {
    fn default() -> Self {
        Measure {
            warmup: Time::ZERO,
            horizon: None,
            sample_every: None,
            sample_ports: SamplePorts::None,
            trace_every_flow: None,
            short: Bytes::new(100_000),
            long: Bytes::new(10_000_000),
        }
    }
}

/// Which ports are sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SamplePorts {
    /// None.
    None,
    /// All.
    All,
    /// The ones of these names.
    Named(Vec<String>),
}

impl SamplePorts {
    /// The ports. Field names in errors are relative to these ports.
    pub fn of(&self, fabric: &Fabric) -> Result<Vec<PortId>, ScenarioError> {
        match self {
            SamplePorts::None => Ok(Vec::new()),
            SamplePorts::All => Ok((0..fabric.ports.len() as PortId).collect()),
            SamplePorts::Named(names) => {
                let find = |(index, name): (usize, &String)| {
                    fabric
                        .port_named(name)
                        .ok_or_else(|| ScenarioError::new(format!("[{index}]"), unknown_port(name, fabric)))
                };
                names.iter().enumerate().map(find).collect()
            }
        }
    }
}

/// Says what is near an unknown port's name: a port out of the same place, if that exists.
fn unknown_port(name: &str, fabric: &Fabric) -> String {
    let from = name.split_once("->").map_or(name, |(from, _)| from);
    let names: Vec<String> = (0..fabric.ports.len() as PortId).map(|port| fabric.port_name(port)).collect();
    let siblings: Vec<&str> =
        names.iter().filter(|other| other.split("->").next() == Some(from)).map(String::as_str).collect();
    match siblings.as_slice() {
        [] => {
            let places =
                fabric.ports.iter().enumerate().filter(|(_, port)| matches!(port.from, Node::Switch(_)));
            let example = places.map(|(port, _)| names[port].as_str()).next().unwrap_or_default();
            format!("unknown port \"{name}\"; ports are named like \"{example}\"")
        }
        _ => suggest::unknown("port", name, siblings),
    }
}

impl Measure {
    pub(crate) fn check(&self, slices: bool) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
        if self.short > self.long {
            return wrong("short", format!("is {}, but must not exceed long = {}", self.short, self.long));
        }
        if self.trace_every_flow == Some(0) {
            return wrong(
                "trace_every_flow",
                "is 0, but must be at least 1, which traces all flows".to_owned(),
            );
        }
        if let Some(every) = self.sample_every.filter(|every| *every < SHORTEST_PERIOD) {
            return wrong("sample_every", format!("is {every}, but must be at least {SHORTEST_PERIOD}"));
        }
        let ports = self.sample_ports != SamplePorts::None;
        if self.sample_every.is_none() && ports {
            return wrong("sample_ports", "needs sample_every: how often ports are looked at".to_owned());
        }
        if self.sample_every.is_some() && !ports && !slices {
            return wrong("sample_every", "needs sample_ports or slices: what is to be sampled".to_owned());
        }
        match self.horizon {
            Some(horizon) if horizon <= self.warmup => {
                wrong("horizon", format!("is {horizon}, but must come after warmup = {}", self.warmup))
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for SamplePorts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            SamplePorts::None => to.serialize_str("none"),
            SamplePorts::All => to.serialize_str("all"),
            SamplePorts::Named(names) => names.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for SamplePorts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = SamplePorts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"none\", \"all\", or a list of port names such as [\"leaf0->host0\"]")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<SamplePorts, E> {
                match word {
                    "none" => Ok(SamplePorts::None),
                    "all" => Ok(SamplePorts::All),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SamplePorts, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(SamplePorts::Named(names))
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for SamplePorts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SamplePorts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which ports are sampled.",
            "anyOf": [{ "enum": ["none", "all"] }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_fabric::FabricParams;

    fn read(text: &str) -> Result<Measure, String> {
        let measure: Measure =
            tailrace_config::table::read(text.parse().unwrap()).map_err(|error| error.to_string())?;
        measure.check(false).map_err(|error| error.to_string())?;
        Ok(measure)
    }

    #[test]
    fn ports_are_found_by_name() {
        let params = FabricParams::from_table(&"preset = \"spine144\"".parse().unwrap()).unwrap();
        let fabric = params.build();
        let ports = |text: &str| {
            let measure = read(&format!("sample_every = \"1ms\"\nsample_ports = {text}")).unwrap();
            measure.sample_ports.of(&fabric).map_err(|error| error.to_string())
        };
        assert_eq!(ports("[\"leaf0->host0\", \"host3->leaf0\"]"), Ok(vec![144, 3]));
        assert_eq!(ports("\"all\"").unwrap().len(), fabric.ports.len());
        assert!(ports("[\"leaf0->hst0\"]").unwrap_err().ends_with("did you mean \"leaf0->host0\"?"));
        assert!(ports("[\"tor0->host0\"]").unwrap_err().contains("named like \"leaf0->host0\""));
        assert!(ports("[\"leaf0->host0\", \"\"]").unwrap_err().starts_with("[1]: unknown port"));
    }

    #[test]
    fn contradictions_are_errors() {
        assert_eq!(read(""), Ok(Measure::default()));
        assert!(read("short = \"20MB\"").unwrap_err().contains("must not exceed"));
        assert!(read("sample_ports = \"all\"").unwrap_err().contains("needs sample_every"));
        assert!(read("sample_every = \"1ms\"").unwrap_err().contains("needs sample_ports or slices"));
        assert!(read("sample_ports = \"some\"").unwrap_err().contains("\"none\", \"all\", or a list"));
        assert!(read("horizon = \"1s\"\nwarmup = \"2s\"").unwrap_err().starts_with("horizon: is 1s"));
        assert!(read("warmpu = \"1s\"").unwrap_err().contains("did you mean \"warmup\"?"));
    }
}
