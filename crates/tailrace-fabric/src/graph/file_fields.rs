//! The fields of `[fabric]` that are short for parts of a graph: its file, and what links without their own have.

use schemars::JsonSchema;
use serde::Deserialize;
use tailrace_config::{ScenarioError, table};
use tailrace_core::Rate;
use toml::Table;

/// Fields of `[fabric]` that are no longer there when a graph is read: what they say stands in its links.
pub(crate) const SHORTHANDS: [&str; 3] = ["file", "rate", "units"];

/// Fields of `[fabric]` that say where a graph's links are, and what those have that say no more.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileFields {
    /// A file with the graph, instead of `hosts`, `switches` and `link`: GraphML, GML, a list of links (CSV or
    /// `a b 10Gbps 1us` in lines), HPCC's topology.txt or htsim's .topo.
    pub(crate) file: Option<String>,
    /// Rate of each link of a graph that has none of its own.
    pub(crate) rate: Option<Rate>,
    /// What numbers in the file that have no unit are, such as { rate = "Gbps", delay = "us" }.
    #[serde(default)]
    pub(crate) units: Units,
}

impl FileFields {
    /// Those that `[fabric]` has.
    pub(crate) fn of(fabric: &Table) -> Result<Self, ScenarioError> {
        let own = SHORTHANDS.into_iter().filter_map(|field| fabric.get_key_value(field));
        table::read(own.map(|(field, value)| (field.clone(), value.clone())).collect())
    }
}

/// What numbers without unit are.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Units {
    /// Of rates, such as "Gbps".
    #[serde(default)]
    pub(crate) rate: Option<String>,
    /// Of delays, such as "us".
    #[serde(default)]
    pub(crate) delay: Option<String>,
}
