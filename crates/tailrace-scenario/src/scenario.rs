//! A scenario: everything that determines a run.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, fingerprint, read_parsed, suggest, table};
use tailrace_core::transport::TransportParams;
use tailrace_core::{Facts, HEADER_BYTES, SizeDistribution, Slice, Time, Traffic};
use tailrace_fabric::{Buffer, Fabric, FabricParams, read_files};
use tailrace_workload::{Offered, Plan, Setting, Sizes, Workload, check_slice, published};
use toml::{Table, Value};

use crate::level::{FlowLevel, Level, LiveLevel};
use crate::measure::{Measure, SamplePorts};
use crate::samples;

/// Segments and headers must fit the 16 bits of a packet's length.
pub const MAX_MSS: u16 = 60_000;

/// Everything that determines a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Hosts, switches and links.
    pub fabric: FabricParams,
    /// The transport's parameters.
    pub transport: TransportParams,
    /// Which flows start when.
    pub workload: Workload,
    /// The tenants that share the network; flows name them by number, counted from 1.
    pub slices: Vec<Slice>,
    /// The scheme.
    pub scheme: SchemeChoice,
    /// What is measured, and when the run ends.
    pub measure: Measure,
    /// What becomes of flows.
    pub level: Level,
    /// What runs at flow level need to be told.
    pub flow: FlowLevel,
    /// What live runs need to be told.
    pub live: LiveLevel,
    /// Seed of all random streams.
    pub seed: u64,
    /// Where relative paths start: the folder of the scenario's file.
    pub base: PathBuf,
}

/// A scheme and its parameters, which only the scheme itself understands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemeChoice {
    /// The scheme's name.
    pub name: String,
    /// What results call it; its name if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Tells the scheme the size and deadline of every flow, whatever its class reveals: how a paper's
    /// simulation treats a scheme that needs to know.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oracle: bool,
    /// The scheme's parameters.
    #[serde(default)]
    #[schemars(schema_with = "any_table")]
    pub params: Table,
}

impl SchemeChoice {
    /// What results call it.
    pub fn label(&self) -> &str {
        self.label.as_ref().unwrap_or(&self.name)
    }
}

impl Scenario {
    /// Reads a scenario from its text. Errors say the line.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let table = text.parse().map_err(|error| ScenarioError::syntax(&error, text))?;
        Self::from_table(table).map_err(|error| error.locate(text))
    }

    /// Reads a scenario from a TOML table. Touches no file: see [`Self::in_folder`].
    pub fn from_table(mut table: Table) -> Result<Self, ScenarioError> {
        let fabric = section(&mut table, "fabric", |fields| FabricParams::from_table(&fields))?;
        let transport: TransportParams = section(&mut table, "transport", |fields| {
            let transport = table::read(fields)?;
            check_transport(&transport).map(|()| transport)
        })?;
        let slices = table.get("slice").and_then(Value::as_array).map_or(0, Vec::len);
        let setting = setting(&fabric, &transport, slices);
        let workload = section(&mut table, "workload", |fields| Workload::from_table(&fields, &setting))?;
        let scheme = section(&mut table, "scheme", table::read)?;
        let sliced = table.contains_key("slice");
        let measure: Measure = section(&mut table, "measure", |fields| {
            let measure: Measure = table::read(fields)?;
            measure.check(sliced)?;
            if let SamplePorts::Named(_) = measure.sample_ports {
                measure.sample_ports.of(&fabric.build()).map_err(|error| error.within("sample_ports"))?;
            }
            Ok(measure)
        })?;
        let flow: FlowLevel = section(&mut table, "flow", table::read)?;
        let live: LiveLevel = section(&mut table, "live", |fields| {
            let live: LiveLevel = table::read(fields)?;
            live.check().map(|()| live)
        })?;
        if let Some(name) = table.keys().find(|name| !["seed", "slice", "level"].contains(&name.as_str())) {
            return Err(ScenarioError::new(name, suggest::unknown("section", name, SECTIONS)));
        }
        let Rest { seed, slice: slices, level } = table::read(table)?;
        check_slices(&slices, &workload)?;
        check_buffer(&fabric, &transport).map_err(|error| error.within("fabric"))?;
        let (seed, base) = (seed as u64, PathBuf::new());
        Ok(Scenario { fabric, transport, workload, slices, scheme, measure, level, flow, live, seed, base })
    }

    /// Reads a scenario and the files that it names.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        read_parsed(path, |text, folder| {
            Self::in_folder(text.parse().map_err(|error| ScenarioError::syntax(&error, text))?, folder)
        })
    }

    /// Reads a scenario from a TOML table, and the files that it names, relative to `base`.
    pub fn in_folder(mut table: Table, base: &Path) -> Result<Self, ScenarioError> {
        if let Some(Value::Table(fabric)) = table.get_mut("fabric") {
            read_files(fabric, base).map_err(|error| error.within("fabric"))?;
        }
        let mut scenario = Self::from_table(table)?;
        scenario.read_files(base)?;
        Ok(scenario)
    }

    /// Reads the files that the scenario's workload names, relative to `base`: flow-size tables take the place of their
    /// names, and a flow list is fingerprinted. After that the scenario depends on nothing but that list.
    pub fn read_files(&mut self, base: &Path) -> Result<(), ScenarioError> {
        self.base = base.to_owned();
        self.workload.read_files(base).map_err(|error| error.within("workload"))?;
        samples::check(&self.measure, &self.fabric, self.slices.len(), &self.workload, &self.plan()?)
    }

    /// The scenario as a table with all defaults written out.
    pub fn to_table(&self) -> Table {
        let sections = [
            ("fabric", self.fabric.to_table()),
            ("transport", table::write(&self.transport)),
            ("workload", self.workload.to_table()),
            ("scheme", table::write(&self.scheme)),
            ("measure", table::write(&self.measure)),
        ];
        let rest = Rest { seed: self.seed as i64, slice: self.slices.clone(), level: self.level };
        let mut table = table::write(&rest);
        if self.flow != FlowLevel::default() {
            table.insert("flow".to_owned(), Value::Table(table::write(&self.flow)));
        }
        if self.live != LiveLevel::default() {
            table.insert("live".to_owned(), Value::Table(table::write(&self.live)));
        }
        table.extend(sections.map(|(name, fields)| (name.to_owned(), Value::Table(fields))));
        table
    }

    /// The scenario as text with all defaults written out, in an order that depends on nothing.
    pub fn resolved(&self) -> String {
        toml::to_string(&table::sorted(self.to_table())).expect("tables can be written")
    }

    /// What identifies the scenario: the beginning of a fingerprint of the resolved text.
    pub fn key(&self) -> String {
        fingerprint(self.resolved().as_bytes())[..16].to_owned()
    }

    /// What a workload must know of the rest.
    pub fn setting(&self) -> Setting {
        setting(&self.fabric, &self.transport, self.slices.len())
    }

    /// What the workload's rules amount to: rates, and the load of host links.
    pub fn plan(&self) -> Result<Plan, ScenarioError> {
        self.workload.plan(&self.setting(), self.seed).map_err(|error| error.within("workload"))
    }

    /// The traffic that the workload's rules plan: their size distribution, or a mixture by numbers of flows,
    /// and the largest load of any host link; of a flow list, what it offers. `None` where all flows start at once.
    pub fn traffic(&self) -> Option<Traffic> {
        if let Some(offered) = &self.workload.offered {
            let Offered { sizes, load, classes, .. } = offered.clone().at_most(PLANNED_AT_MOST);
            return Some(Traffic { sizes, workload: None, load, classes });
        }
        let plan = self.plan().ok()?;
        let mut names = self.workload.rules.iter().map(|rule| rule.sizes.published().map(|table| table.name));
        let first = names.next()?;
        let workload = first.filter(|_| names.all(|name| name == first)).map(str::to_owned);
        let load = plan.peak_load();
        let traffic = Traffic { sizes: plan.sizes()?, workload, load, classes: plan.classes(load) };
        (load > 0.0).then_some(traffic)
    }

    /// What a scheme is told about where it runs.
    pub fn facts(&self, fabric: &Fabric) -> Facts {
        Facts {
            hosts: fabric.hosts,
            host_rate: fabric.host_rate(),
            base_rtt: fabric.farthest_rtt(self.transport.mss + HEADER_BYTES, self.transport.ack_bytes),
            transport: self.transport,
            traffic: self.traffic(),
            published_sizes,
            horizon: self.measure.horizon,
            longest_path: fabric.longest_path(),
            slices: self.slices.clone(),
            racks: fabric.edge_of.clone(),
        }
    }
}

/// A list may offer more than links carry, for which nothing can be planned.
const PLANNED_AT_MOST: f64 = 0.95;

fn published_sizes(workload: &str) -> Option<SizeDistribution> {
    Sizes::Published(published::find(workload)?).distribution().ok()
}

const SECTIONS: [&str; 10] =
    ["fabric", "transport", "workload", "slice", "scheme", "measure", "level", "flow", "live", "seed"];

/// What is not in a section.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rest {
    /// Seed of all random streams. TOML's integers have a sign; it counts as a bit like all others.
    #[serde(default = "first_seed")]
    seed: i64,
    /// The slices: tenants that share the network by weight. Rules name them by number, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    slice: Vec<Slice>,
    /// What becomes of flows: "packet" and "flow" are simulated, "live" is real.
    #[serde(default, skip_serializing_if = "Level::is_packet")]
    level: Level,
}

fn first_seed() -> i64 {
    1
}

fn section<T>(
    table: &mut Table,
    name: &str,
    read: impl FnOnce(Table) -> Result<T, ScenarioError>,
) -> Result<T, ScenarioError> {
    table::take(table, name).and_then(|fields| read(fields).map_err(|error| error.within(name)))
}

fn setting(fabric: &FabricParams, transport: &TransportParams, slices: usize) -> Setting {
    let base_rtt = fabric.build().farthest_rtt(transport.mss + HEADER_BYTES, transport.ack_bytes);
    Setting {
        hosts: fabric.hosts(),
        racks: fabric.racks(),
        racks_per_pod: fabric.racks_per_pod(),
        slices,
        host_rate: fabric.host_rate(),
        speeds: fabric.host_speeds(),
        mss: transport.mss,
        base_rtt,
    }
}

/// Weights are positive, rules name slices that are there, and no slice is without flows.
fn check_slices(slices: &[Slice], workload: &Workload) -> Result<(), ScenarioError> {
    for (place, slice) in slices.iter().enumerate() {
        let weight = slice.weight;
        if !(weight > 0.0 && weight.is_finite()) {
            let message = format!(
                "is {weight}, but must be a finite number above 0: slices share in proportion to their weights"
            );
            return Err(ScenarioError::new(format!("slice[{place}].weight"), message));
        }
    }
    if slices.is_empty() || workload.flow_list.is_some() {
        return Ok(());
    }
    let count = slices.len();
    let of_rules = workload.rules.iter().map(|rule| rule.slice).enumerate().map(|of| ("rule", of));
    let of_tasks = workload.tasks.iter().map(|tasks| tasks.slice).enumerate().map(|of| ("task", of));
    for (table, (number, slice)) in of_rules.clone().chain(of_tasks.clone()) {
        let field = || format!("workload.{table}[{number}].slice");
        check_slice(slice, count).map_err(|message| ScenarioError::new(field(), message))?;
    }
    let named =
        |slice: &usize| of_rules.clone().chain(of_tasks.clone()).any(|(_, of)| usize::from(of.1) == *slice);
    match (1..=count).find(|slice| !named(slice)) {
        Some(slice) => {
            let message = format!("has no flows: give a [[workload.rule]] slice = {slice}, or leave it out");
            Err(ScenarioError::new(format!("slice[{}]", slice - 1), message))
        }
        None => Ok(()),
    }
}

/// No round trip is shorter, and a timer that runs out all the time leaves time for nothing else.
const SHORTEST_RTO: Time = Time::from_us(1);
/// Doubled ten times, it is still far from the end of time.
const LONGEST_RTO: Time = Time::from_ms(100_000);

fn check_transport(transport: &TransportParams) -> Result<(), ScenarioError> {
    let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
    let TransportParams { mss, initial_window, max_window, min_window, .. } = *transport;
    let TransportParams { min_rto, ack_every, ack_bytes, .. } = *transport;
    if !(1..=MAX_MSS).contains(&mss) {
        return wrong("mss", format!("is {mss}, but must be 1 to {MAX_MSS}"));
    }
    if initial_window == 0 {
        return wrong("initial_window", "is 0, but must be at least 1 segment".to_owned());
    }
    if max_window < initial_window {
        return wrong(
            "max_window",
            format!("is {max_window}, but must not be below initial_window = {initial_window}"),
        );
    }
    if min_window > initial_window {
        let message = format!("is {min_window}, but must not be above initial_window = {initial_window}");
        return wrong("min_window", message);
    }
    if min_rto < SHORTEST_RTO {
        return wrong("min_rto", format!("is {min_rto}, but must be at least {SHORTEST_RTO}"));
    }
    if min_rto > LONGEST_RTO {
        return wrong("min_rto", format!("is {min_rto}, but must be at most {LONGEST_RTO}"));
    }
    if ack_every == 0 {
        return wrong("ack_every", "is 0, but must be at least 1".to_owned());
    }
    let full = mss + HEADER_BYTES;
    if !(HEADER_BYTES..=full).contains(&ack_bytes) {
        let message =
            format!("is {ack_bytes}, but must be {HEADER_BYTES}, its headers, to {full}, a full packet");
        return wrong("ack_bytes", message);
    }
    Ok(())
}

/// Fails if a full segment has no room in a buffer of the fabric.
pub fn check_buffer(fabric: &FabricParams, transport: &TransportParams) -> Result<(), ScenarioError> {
    let packet = fabric.port_rules.queue_unit.one_packet(transport.mss + HEADER_BYTES);
    let (field, bytes) = match fabric.buffer {
        Buffer::PerPort(bytes) => ("buffer", bytes),
        Buffer::Shared { total, .. } => ("shared_buffer.total", total),
    };
    if bytes < packet {
        let message = format!("is {bytes}, but must hold at least one packet of {packet}");
        return Err(ScenarioError::new(field, message));
    }
    if let Buffer::Shared { total, alpha_percent } = fabric.buffer
        && u128::from(total.get()) * u128::from(alpha_percent) / 100 < u128::from(packet.get())
    {
        let message = format!(
            "leaves a port of an empty switch {alpha_percent} % of {total}, but that must hold a packet of {packet}"
        );
        return Err(ScenarioError::new("shared_buffer.alpha", message));
    }
    Ok(())
}

impl Scenario {
    /// The fields of all sections, as JSON Schema.
    pub fn schema() -> Schema {
        schemars::schema_for!(Scenario)
    }
}

impl JsonSchema for Scenario {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scenario".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fabric = generator.subschema_for::<FabricParams>();
        let transport = generator.subschema_for::<TransportParams>();
        let workload = generator.subschema_for::<Workload>();
        let scheme = generator.subschema_for::<SchemeChoice>();
        let measure = generator.subschema_for::<Measure>();
        let flow = generator.subschema_for::<FlowLevel>();
        let live = generator.subschema_for::<LiveLevel>();
        let mut schema = json_schema!({
            "type": "object",
            "description": "Everything that determines a run.",
            "required": ["fabric", "workload", "scheme"],
            "additionalProperties": false,
            "properties": {
                "fabric": fabric,
                "transport": transport,
                "workload": workload,
                "scheme": scheme,
                "measure": measure,
                "flow": flow,
                "live": live,
            },
        });
        table::add_fields::<Rest>(&mut schema, generator);
        schema
    }
}

fn any_table(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}
