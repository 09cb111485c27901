//! `[fabric]`: which fabric, with what memory and load balancing.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tailrace_config::{ScenarioError, suggest, table};
use tailrace_core::Time;
use toml::{Table, Value};

use super::cache::FabricCache;
use super::common::{self, Common, Resolved};
use super::failures;
use super::fat_tree::FatTree;
use super::graph::{self, FileFields, Graph};
use super::kind::{FabricKind, KINDS};
use super::{
    Buffer, Dumbbell, Fabric, Failures, LeafSpine, LoadBalancing, ParkingLot, PortRules, Star, Tree, presets,
};

/// The last fabric that was built.
static CACHE: FabricCache<FabricParams> = FabricCache::new();

/// Delay of a link for which none is given.
const DEFAULT_DELAY: Time = Time::from_us(1);

/// A fabric's parameters, complete and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricParams {
    /// The structure.
    pub kind: FabricKind,
    /// How switches choose among equal-cost ports.
    pub load_balancing: LoadBalancing,
    /// Seed of ECMP's hash.
    pub ecmp_seed: u64,
    /// Switch and network card memory.
    pub buffer: Buffer,
    /// How ports count and mark.
    pub port_rules: PortRules,
    /// Links and switches that fail.
    pub failures: Failures,
}

impl FabricParams {
    /// Reads `[fabric]`. Field names in errors are relative to it.
    pub fn from_table(own: &Table) -> Result<Self, ScenarioError> {
        let mut fields = over_preset(own)?;
        let kind = kind_of(fields.get("kind").cloned())?;
        let common = [&["kind", "preset", "delay"], &common::FIELDS[..]].concat();
        match kind {
            "star" => table::check_fields::<Star>(&fields, &common),
            "dumbbell" => table::check_fields::<Dumbbell>(&fields, &common),
            "parking-lot" => table::check_fields::<ParkingLot>(&fields, &common),
            "leaf-spine" => table::check_fields::<LeafSpine>(&fields, &common),
            "tree" => table::check_fields::<Tree>(&fields, &common),
            "fat-tree" => table::check_fields::<FatTree>(&fields, &common),
            _ => table::check_fields::<Graph>(&fields, &[&common[..], &graph::SHORTHANDS].concat()),
        }?;
        fields.remove("kind");
        let Resolved { load_balancing, ecmp_seed, buffer, port_rules, failures } =
            table::read::<Common>(Common::take(&mut fields))?.resolve()?;
        let kind = match kind {
            "star" => FabricKind::Star(table::read(fields)?),
            "dumbbell" => FabricKind::Dumbbell(table::read(fields)?),
            "parking-lot" => FabricKind::ParkingLot(table::read(fields)?),
            "leaf-spine" => FabricKind::LeafSpine(table::read(fields)?),
            "tree" => FabricKind::Tree(table::read(fields)?),
            "fat-tree" => table::read::<FatTree>(fields)?.stands_for()?,
            _ => FabricKind::Graph(table::read::<Graph>(fields)?.completed()?),
        };
        kind.check()?;
        if let (FabricKind::Graph(_), LoadBalancing::Flowcell { .. }) = (&kind, load_balancing) {
            let message = "is \"flowcell\", which counts the ways through a fabric of tiers; a graph may have none: \
                           take \"ecmp\", \"spray\" or \"flowlet\"";
            return Err(ScenarioError::new("load_balancing", message));
        }
        let params = FabricParams { kind, load_balancing, ecmp_seed, buffer, port_rules, failures };
        params.check_failures()?;
        Ok(params)
    }

    fn check_failures(&self) -> Result<(), ScenarioError> {
        if self.failures.is_empty() {
            return Ok(());
        }
        if let LoadBalancing::Flowcell { .. } = self.load_balancing {
            let message = "is \"flowcell\", which counts the ways through a whole fabric, and there is a [[fabric.failure]]: \
                           take \"ecmp\", \"spray\" or \"flowlet\"";
            return Err(ScenarioError::new("load_balancing", message));
        }
        self.failures.outages(&self.whole()).map(|_| ())
    }

    /// Writes `[fabric]` with all fields.
    pub fn to_table(&self) -> Table {
        let mut fields = table::write(&self.kind);
        let FabricParams { load_balancing, ecmp_seed, buffer, port_rules, .. } = *self;
        let failures = self.failures.clone();
        let common = Common::of(&Resolved { load_balancing, ecmp_seed, buffer, port_rules, failures });
        fields.extend(table::write(&common));
        fields
    }

    /// The same fabric by its hosts, switches and links.
    pub fn as_graph(&self) -> Self {
        let kind = match &self.kind {
            FabricKind::Graph(_) => self.kind.clone(),
            _ => FabricKind::Graph(Graph::of(&self.build())),
        };
        FabricParams { kind, ..self.clone() }
    }

    /// The fabric. It is kept until another one is built: many ask for the same.
    pub fn build(&self) -> Arc<Fabric> {
        CACHE.get_or_build(self, || self.built())
    }

    fn built(&self) -> Fabric {
        let mut fabric = self.whole();
        // Names were checked when it was read; of a fabric that was put together otherwise, those that are unknown never fail.
        fabric.outages = self.failures.outages(&fabric).unwrap_or_default();
        if !fabric.outages.is_empty() {
            fabric.reroutes = failures::reroutes(&fabric, &fabric.outages, self.failures.convergence);
            fabric.two_way = fabric.routes.choices() > 0;
        }
        fabric
    }

    /// The fabric without its failures.
    fn whole(&self) -> Fabric {
        let fabric = match &self.kind {
            FabricKind::Star(kind) => kind.build(self.load_balancing, self.buffer),
            FabricKind::Dumbbell(kind) => kind.build(self.load_balancing, self.buffer),
            FabricKind::ParkingLot(kind) => kind.build(self.load_balancing, self.buffer),
            FabricKind::LeafSpine(kind) => kind.build(self.load_balancing, self.buffer),
            FabricKind::Tree(kind) => kind.build(self.load_balancing, self.buffer),
            FabricKind::Graph(kind) => kind.build(self.load_balancing, self.buffer),
        };
        Fabric { ecmp_seed: self.ecmp_seed, port_rules: self.port_rules, ..fabric }
    }
}

/// The user's fields over those of the preset they name, with delays filled in.
fn over_preset(own: &Table) -> Result<Table, ScenarioError> {
    let mut own = own.clone();
    let mut base = match own.remove("preset") {
        None => Table::new(),
        Some(Value::String(name)) => presets::table(&name)?,
        Some(other) => {
            return Err(ScenarioError::new(
                "preset",
                format!("must be a name, not {}", table::kind_of(&other)),
            ));
        }
    };
    let kind = match (own.get("kind"), base.get("kind")) {
        (Some(mine), Some(preset)) if mine != preset => {
            return Err(ScenarioError::new("kind", format!("is {mine}, but the preset's kind is {preset}")));
        }
        (mine, preset) => kind_of(mine.or(preset).cloned())?,
    };
    // What excludes each other must not meet: the user's choice ends the preset's.
    if own.contains_key("buffer") || own.contains_key("shared_buffer") {
        base.retain(|field, _| field != "buffer" && field != "shared_buffer");
    }
    if kind == "graph" {
        let delay = own.remove("delay").unwrap_or_else(|| Value::String(DEFAULT_DELAY.to_string()));
        check_delay(&delay)?;
        graph::spread(&mut own, &delay)?;
        return Ok(own);
    }
    spread_delay(&mut own, kind)?;
    spread_delay(&mut base, kind)?;
    base.extend(own);
    for field in delay_fields(kind) {
        base.entry(*field).or_insert_with(|| Value::String(DEFAULT_DELAY.to_string()));
    }
    Ok(base)
}

/// `delay` is short for all delays that are not given themselves.
fn spread_delay(fields: &mut Table, kind: &str) -> Result<(), ScenarioError> {
    if let Some(delay) = fields.remove("delay") {
        check_delay(&delay)?;
        for field in delay_fields(kind) {
            fields.entry(*field).or_insert_with(|| delay.clone());
        }
    }
    Ok(())
}

/// A mistake is this field's, not that of the fields it stands for.
fn check_delay(delay: &Value) -> Result<(), ScenarioError> {
    let text = delay.as_str().map_or_else(|| delay.to_string(), str::to_owned);
    text.parse::<Time>().map(|_| ()).map_err(|error| ScenarioError::new("delay", error.to_string()))
}

fn kind_of(kind: Option<Value>) -> Result<&'static str, ScenarioError> {
    let message = match &kind {
        None => format!("is missing; give a kind ({}) or a preset", KINDS.join(", ")),
        Some(Value::String(name)) => match KINDS.iter().find(|kind| *kind == name) {
            Some(kind) => return Ok(kind),
            None => suggest::unknown("kind of fabric", name, KINDS),
        },
        Some(other) => format!("must be a name, not {}", table::kind_of(other)),
    };
    Err(ScenarioError::new("kind", message))
}

fn delay_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "star" => &["host_delay"],
        "dumbbell" => &["host_delay", "bottleneck_delay"],
        "parking-lot" => &["host_delay", "row_delay"],
        "leaf-spine" => &["host_delay", "spine_delay"],
        "graph" => &[],
        "fat-tree" => &["host_delay", "switch_delay"],
        _ => &["host_delay", "edge_delay", "core_delay"],
    }
}

impl JsonSchema for FabricParams {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fabric".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let presets: Vec<&str> = presets::names().collect();
        let delay = generator.subschema_for::<Time>();
        let mut schema = json_schema!({
            "type": "object",
            "description": "The fabric: a kind with its fields, or a preset with fields that override it.",
            "additionalProperties": false,
            "properties": {
                "kind": { "enum": KINDS, "description": "The structure." },
                "preset": { "enum": presets, "description": "A fabric of a published experiment." },
                "delay": { "allOf": [delay], "description": "Delay of every link that has no own; \"1us\" if not given." },
            },
        });
        table::add_fields::<Star>(&mut schema, generator);
        table::add_fields::<Dumbbell>(&mut schema, generator);
        table::add_fields::<ParkingLot>(&mut schema, generator);
        table::add_fields::<LeafSpine>(&mut schema, generator);
        table::add_fields::<Tree>(&mut schema, generator);
        table::add_fields::<FatTree>(&mut schema, generator);
        table::add_fields::<Graph>(&mut schema, generator);
        table::add_fields::<FileFields>(&mut schema, generator);
        table::add_fields::<Common>(&mut schema, generator);
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Rate;

    fn read(text: &str) -> Result<FabricParams, ScenarioError> {
        FabricParams::from_table(&text.parse().unwrap())
    }

    fn error(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn a_kind_with_its_fields() {
        let params = read(
            r#"kind = "leaf-spine"
            leaves = 2
            spines = 2
            hosts_per_leaf = 4
            host_rate = "10Gbps"
            spine_rate = "40Gbps"
            spine_delay = "200ns"
            delay = "5us""#,
        )
        .unwrap();
        let FabricKind::LeafSpine(kind) = params.kind else { panic!("{params:?}") };
        assert_eq!((kind.host_delay, kind.spine_delay), (Time::from_us(5), Time::from_ns(200)));
        assert_eq!(params.load_balancing, LoadBalancing::Ecmp);
        assert_eq!(FabricParams::from_table(&params.to_table()), Ok(params));
    }

    #[test]
    fn a_preset_can_be_overridden() {
        let params = read("preset = \"rack16\"\nhosts = 8\nbuffer = \"1MB\"\ndelay = \"2us\"").unwrap();
        let host_rate = Rate::from_gbps(1);
        assert_eq!(params.kind, FabricKind::Star(Star { hosts: 8, host_rate, host_delay: Time::from_us(2) }));
        assert_eq!(params.buffer, Buffer::PerPort(tailrace_core::Bytes::new(1_000_000)));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        assert!(error("").starts_with("kind: is missing; give a kind (star,"));
        assert!(error("kind = \"leafspine\"").ends_with("did you mean \"leaf-spine\"?"));
        assert!(error("preset = \"spine44\"").ends_with("did you mean \"spine144\"?"));
        assert!(error("preset = \"rack16\"\nkind = \"tree\"").contains("the preset's kind is \"star\""));
        assert!(error("preset = 3").contains("must be a name, not the integer 3"));
        assert!(error("preset = \"rack16\"\nhots = 8").contains("did you mean \"hosts\"?"));
        assert!(error("preset = \"rack16\"\nbufer = \"1KB\"").contains("did you mean \"buffer\"?"));
        assert!(error("kind = \"star\"\nhosts = 4").contains("missing field `host_rate`"));
        assert!(error("preset = \"rack16\"\nhost_rate = \"10\"").starts_with("host_rate: cannot read"));
    }
}
