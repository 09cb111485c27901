//! The queue length above which packets are marked: one for all links, or one for each link rate.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tailrace_core::{ParamError, QueueLength, Rate};

/// A marking threshold. It grows with the link's rate: 65 packets at 10 Gbps, 250 at 40 Gbps (DCTCP, Karuna).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MarkingThreshold {
    /// `"65pkt"`: the same at every link.
    Same(QueueLength),
    /// `{ "10Gbps" = "65pkt", "40Gbps" = "250pkt" }`: a link takes the entry of the largest rate that is not
    /// above its own, or else the first.
    ByRate(BTreeMap<Rate, QueueLength>),
}

impl MarkingThreshold {
    /// The threshold of a link; a table must have passed [`MarkingThreshold::check`].
    pub fn at(&self, rate: Rate) -> QueueLength {
        match self {
            MarkingThreshold::Same(length) => *length,
            MarkingThreshold::ByRate(table) => {
                *entry(table, rate).expect("an empty table is refused by check").1
            }
        }
    }

    /// The rate that the threshold of a link was given for, if it is not the link's.
    pub fn given_for(&self, rate: Rate) -> Option<Rate> {
        match self {
            MarkingThreshold::Same(_) => None,
            MarkingThreshold::ByRate(table) => {
                entry(table, rate).map(|(given, _)| *given).filter(|given| *given != rate)
            }
        }
    }

    /// Refuses a table without entries.
    pub fn check(&self) -> Result<(), ParamError> {
        match self {
            MarkingThreshold::ByRate(table) if table.is_empty() => {
                let message =
                    "the table is empty: give at least one rate, such as { \"10Gbps\" = \"65pkt\" }";
                Err(ParamError::new("marking_threshold", message))
            }
            _ => Ok(()),
        }
    }
}

/// The entry for links of a rate; `None` of an empty table.
fn entry(table: &BTreeMap<Rate, QueueLength>, rate: Rate) -> Option<(&Rate, &QueueLength)> {
    table.range(..=rate).next_back().or_else(|| table.first_key_value())
}

impl From<QueueLength> for MarkingThreshold {
    fn from(length: QueueLength) -> Self {
        MarkingThreshold::Same(length)
    }
}

/// By hand, so that a mistake within a form is named, which `untagged` would not do.
impl<'de> Deserialize<'de> for MarkingThreshold {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = MarkingThreshold;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a queue length like \"65pkt\" or a table by link rate like {{ \"10Gbps\" = \"65pkt\", \
                     \"40Gbps\" = \"250pkt\" }}"
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<MarkingThreshold, E> {
                text.parse().map(MarkingThreshold::Same).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<MarkingThreshold, A::Error> {
                let mut table = BTreeMap::new();
                while let Some((rate, length)) = entries.next_entry()? {
                    if table.insert(rate, length).is_some() {
                        return Err(A::Error::custom(format!("{rate} has two queue lengths; give one")));
                    }
                }
                Ok(MarkingThreshold::ByRate(table))
            }
        }
        from.deserialize_any(Forms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Bytes;

    fn read(text: &str) -> Result<MarkingThreshold, String> {
        let table: toml::Table = format!("k = {text}").parse().map_err(|e: toml::de::Error| e.to_string())?;
        table["k"].clone().try_into().map_err(|e: toml::de::Error| e.to_string())
    }

    #[test]
    fn a_link_takes_the_entry_of_the_largest_rate_not_above_its_own() {
        let table = read("{ \"40Gbps\" = \"250pkt\", \"10Gbps\" = \"65pkt\" }").unwrap();
        for (gbps, packets) in [(1, 65), (10, 65), (25, 65), (40, 250), (100, 250)] {
            assert_eq!(table.at(Rate::from_gbps(gbps)), QueueLength::Packets(packets), "{gbps} Gbps");
        }
        for (gbps, given) in [(1, Some(10)), (10, None), (25, Some(10)), (40, None), (100, Some(40))] {
            assert_eq!(table.given_for(Rate::from_gbps(gbps)), given.map(Rate::from_gbps), "{gbps} Gbps");
        }
        let same = read("\"30KB\"").unwrap();
        assert_eq!(same.given_for(Rate::from_gbps(1)), None);
        assert_eq!(same.at(Rate::from_gbps(1)), QueueLength::Bytes(Bytes::new(30_000)));
    }

    #[test]
    fn both_forms_round_trip() {
        for text in ["\"65pkt\"", "{ \"2.5Gbps\" = \"30KB\", \"40Gbps\" = \"250pkt\" }"] {
            let threshold = read(text).unwrap();
            let written = toml::Value::try_from(&threshold).unwrap();
            assert_eq!(written.try_into(), Ok(threshold), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        for (text, said) in [
            ("65", "\"40Gbps\" = \"250pkt\""),
            ("\"65\"", "cannot read \"65\" as a queue length"),
            ("{ \"10Gbps\" = \"65\" }", "cannot read \"65\" as a queue length"),
            ("{ \"10\" = \"65pkt\" }", "cannot read \"10\" as a rate"),
            ("{ \"1Gbps\" = \"9pkt\", \"1000Mbps\" = \"8pkt\" }", "1Gbps has two queue lengths"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        let error = read("{}").unwrap().check().unwrap_err();
        assert!(error.to_string().contains("marking_threshold: the table is empty"), "{error}");
    }
}
