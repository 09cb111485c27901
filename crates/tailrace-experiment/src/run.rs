//! One run: a scenario in, tables and a summary out.

use std::ops::ControlFlow;

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, table};
use tailrace_core::{FlowRecord, HEADER_BYTES, Ledger, Rate, Scheme, SwitchPlan, TaskRecord, Time};
use tailrace_fabric::{Fabric, LoadBalancing};
use tailrace_packet::{Captured, Ending, Outcome, Progress, Watch, World};
use tailrace_scenario::{Level, Scenario};
use tailrace_schemes::{SchemeVisitor, with_scheme};
use tailrace_traffic::GammaControl;
use toml::{Table, Value};

use crate::error::Error;
use crate::pcap::{self, Capture};
use crate::stats::{ClassSummary, Group, Measured, SIZE_CLASSES, payload};
use crate::tables;
use crate::task_stats::TaskSummary;

/// Who follows a run and may stop it.
pub trait Control: Sync {
    /// How far the run is; called now and then.
    fn progress(&self, progress: &Progress);
    /// Whether the run should stop.
    fn interrupted(&self) -> bool;
}

/// What a run says in short. It holds nothing that depends on the machine, so equal scenarios give equal
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The scheme's label.
    pub scheme: String,
    /// The version that made it.
    pub version: String,
    /// Digest of the event stream.
    pub digest: String,
    /// Virtual time at the end, in seconds.
    pub virtual_seconds: f64,
    /// Why it ended: "finished" or "horizon".
    pub ended: String,
    /// Packets sent over a link.
    pub packet_hops: u64,
    /// Where every packet went, in packets.
    pub packets: PacketCounts,
    /// Share of all bytes sent over links that had the highest priority.
    pub urgent_share: f64,
    /// Updates of the scheme's controller that have reached a flow in progress, if it has a controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<u64>,
    /// Statistics by size class (and traffic class where there are several).
    pub classes: Vec<ClassSummary>,
}

/// The ledger in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCounts {
    /// Sent by hosts.
    pub injected: u64,
    /// Arrived at hosts.
    pub delivered: u64,
    /// Dropped at full buffers.
    pub dropped_buffer: u64,
    /// Evicted for more urgent packets.
    pub dropped_evicted: u64,
    /// In queues at the end.
    pub queued: u64,
    /// On links at the end.
    pub in_flight: u64,
}

impl From<Ledger> for PacketCounts {
    fn from(ledger: Ledger) -> Self {
        PacketCounts {
            injected: ledger.injected.packets,
            delivered: ledger.delivered.packets,
            dropped_buffer: ledger.dropped_buffer.packets,
            dropped_evicted: ledger.dropped_evicted.packets,
            queued: ledger.queued.packets,
            in_flight: ledger.in_flight.packets,
        }
    }
}

/// What a run leaves.
pub struct RunResult {
    /// In short.
    pub summary: Summary,
    /// One row a flow.
    pub flows: RecordBatch,
    /// One row a task, if the workload has tasks.
    pub tasks: Option<RecordBatch>,
    /// One row a port.
    pub ports: RecordBatch,
    /// Sampled and reported series in long format.
    pub series: RecordBatch,
    /// The scenario with all defaults written out.
    pub scenario: String,
}

/// Runs a scenario; `capture` writes down what one port carries.
pub fn run(
    scenario: &Scenario,
    control: &dyn Control,
    capture: Option<&Capture>,
) -> Result<RunResult, Error> {
    if scenario.level == Level::Flow {
        if let Some(capture) = capture {
            pcap::port_number(scenario, &capture.port)?;
        }
        return crate::flow_level::run(scenario, control);
    }
    let (_, result) = visit(scenario, Runner { scenario, control, tables: true, capture })?;
    match result {
        Some(result) => Ok(result),
        None => panic!("a run that was asked for tables gave none"),
    }
}

/// Builds scheme `S` for a scenario of packets.
pub(crate) fn scheme<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> Result<S, ScenarioError> {
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
pub(crate) fn with_params<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> Result<S, ScenarioError> {
    let defaults = match Table::try_from(S::Params::default()) {
        Ok(table) => table,
        Err(error) => panic!("{}'s default parameters cannot be written: {error}", S::NAME),
    };
    let built = table::read(over(defaults, &scenario.scheme.params)).and_then(|params| {
        S::new(params, &scenario.facts(fabric)).map_err(|e| ScenarioError::new(e.field, e.message))
    });
    built.map_err(|error| error.within("scheme.params"))
}

/// What switch ports of a rate must be told for the scenario's scheme; `None` where that is not all it takes.
pub fn switch_plan(scenario: &Scenario, link: Rate) -> Result<Option<SwitchPlan>, Error> {
    struct Plan<'a>(&'a Scenario, Rate);
    impl SchemeVisitor for Plan<'_> {
        type Output = Result<Option<SwitchPlan>, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            Ok(scheme::<S>(self.0, &self.0.fabric.build())?.switch_plan(self.1))
        }
    }
    let name = &scenario.scheme.name;
    let unknown = |_| Err(ScenarioError::new("scheme.name", format!("there is no scheme {name}")));
    Ok(with_scheme(name, Plan(scenario, link)).unwrap_or_else(unknown)?)
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

/// Follows nothing and stops nothing.
struct Silent;

impl Control for Silent {
    fn progress(&self, _: &Progress) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// Runs a scenario and keeps only what it cost: for measurements of the simulator itself.
pub fn packet_hops(scenario: &Scenario) -> Result<u64, Error> {
    visit(scenario, Runner { scenario, control: &Silent, tables: false, capture: None }).map(|(hops, _)| hops)
}

fn visit(scenario: &Scenario, runner: Runner<'_>) -> Result<(u64, Option<RunResult>), Error> {
    let name = &scenario.scheme.name;
    with_scheme(name, runner).unwrap_or_else(|_| {
        let message = match tailrace_schemes::FLOW_NAMES.contains(&name.as_str()) {
            true => format!("{name} exists at flow level only: it needs level = \"flow\""),
            false => format!("there is no scheme {name}"),
        };
        Err(ScenarioError::new("scheme.name", message).into())
    })
}

struct Runner<'a> {
    scenario: &'a Scenario,
    control: &'a dyn Control,
    /// Whether tables and statistics are wanted.
    tables: bool,
    capture: Option<&'a Capture>,
}

impl SchemeVisitor for Runner<'_> {
    type Output = Result<(u64, Option<RunResult>), Error>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let fabric = self.scenario.fabric.build();
        let scheme = scheme::<S>(self.scenario, &fabric)?;
        let Some(capture) = self.capture else { return self.simulate(scheme, &fabric) };
        let port = pcap::port_number(self.scenario, &capture.port)?;
        let writer = pcap::Writer::create(&capture.path, self.scenario)?;
        let captured = Captured::tapping(scheme, port, writer.tap());
        let result = self.simulate(captured, &fabric)?;
        writer.finish()?;
        Ok(result)
    }
}

impl Runner<'_> {
    fn simulate<S: Scheme>(self, scheme: S, fabric: &Fabric) -> Result<(u64, Option<RunResult>), Error> {
        let scenario = self.scenario;
        let flows = crate::flow_list::flows(scenario)?;
        let (watch, horizon) = (watch(scenario, fabric)?, scenario.measure.horizon);
        let gamma =
            GammaControl::new(scenario.workload.rules.iter(), true, scenario.setting(), scenario.seed);
        let mut world = World::new(scheme, fabric, scenario.transport, flows, horizon, watch, scenario.seed)
            .controlled(gamma)
            .omniscient(scenario.scheme.oracle);
        let ending = world.run(&mut |progress| {
            self.control.progress(progress);
            if self.control.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if ending == Ending::Interrupted {
            return Err(Error::Interrupted);
        }
        let Progress { now: end, packet_hops, .. } = world.progress();
        let outcome = world.into_outcome();
        let result = self.tables.then(|| tabulate(scenario, fabric, &outcome, end, ending));
        Ok((packet_hops, result))
    }
}

fn tabulate<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    outcome: &Outcome<S>,
    end: Time,
    ending: Ending,
) -> RunResult {
    let ledger = outcome.ledger();
    assert!(ledger.balances(), "packets were lost or made up: {ledger}");
    let ideal = |r: &FlowRecord| fabric.ideal_fct(r.src, r.dst, r.size, &scenario.transport, HEADER_BYTES);
    RunResult {
        summary: Summary {
            scheme: crate::file::label(scenario).to_owned(),
            version: crate::VERSION.to_owned(),
            digest: format!("{:016x}", outcome.network().digest()),
            virtual_seconds: end.as_secs_f64(),
            ended: if ending == Ending::Horizon { "horizon" } else { "finished" }.to_owned(),
            packet_hops: outcome.network().packet_hops(),
            packets: ledger.into(),
            urgent_share: urgent_share(outcome),
            updates: outcome.updates,
            classes: summarise(scenario, outcome.records(), outcome.task_records(), ideal),
        },
        flows: tables::flows(outcome.records(), ideal),
        tasks: scenario.workload.has_tasks().then(|| tables::tasks(outcome.task_records())),
        ports: tables::ports(fabric, outcome.network().port_counts(), end),
        series: tables::series(fabric, &outcome.series),
        scenario: scenario.resolved(),
    }
}

fn urgent_share<S: Scheme>(outcome: &Outcome<S>) -> f64 {
    let (urgent, all) = outcome
        .network()
        .port_counts()
        .fold((0, 0), |(urgent, all), port| (urgent + port.urgent_bytes, all + port.sent.bytes));
    urgent as f64 / (all as f64).max(1.0)
}

/// What is observed: the ports that the scenario names, and the hosts whose network cards are among them.
pub(crate) fn watch(scenario: &Scenario, fabric: &Fabric) -> Result<Watch, ScenarioError> {
    let measure = &scenario.measure;
    let within = |e: ScenarioError| e.within("measure.sample_ports");
    let ports = measure.sample_ports.of(fabric).map_err(within)?;
    let hosts = ports.iter().copied().filter(|&port| (port as usize) < fabric.hosts).map(|port| port as u16);
    let (every, every_flow) = (measure.sample_every, measure.trace_every_flow);
    let slices = scenario.slices.clone();
    Ok(Watch { hosts: hosts.collect(), every, ports, every_flow, slices })
}

/// Statistics of the measured flows by size class, over all traffic and for each traffic class.
pub(crate) fn summarise<'a>(
    scenario: &Scenario,
    records: impl Iterator<Item = &'a FlowRecord>,
    tasks: &[TaskRecord],
    ideal: impl Fn(&FlowRecord) -> Time,
) -> Vec<ClassSummary> {
    let measure = &scenario.measure;
    let flows: Vec<Measured> = records
        .filter(|r| r.start >= measure.warmup)
        .map(|r| Measured {
            size: r.size.get(),
            class: r.class,
            start: r.start.as_secs_f64(),
            fct: r.fct().map(|t| t.as_secs_f64()),
            ideal: ideal(r).as_secs_f64(),
            timeouts: u32::from(r.timeouts),
            retransmitted: u64::from(r.retransmitted),
            deadline: (r.deadline != Time::MAX).then(|| (r.deadline - r.start).as_secs_f64()),
            stopped: r.stopped,
        })
        .collect();
    let size_class = |flow: &Measured| match flow.size {
        size if size <= measure.short.get() => "short",
        size if size <= measure.long.get() => "medium",
        _ => "long",
    };
    let all_bytes = payload(&flows);
    let mut summaries = Vec::new();
    for group in Group::of(&flows) {
        let of_group: Vec<Measured> = flows.iter().filter(|flow| group.has(flow)).copied().collect();
        for size in SIZE_CLASSES {
            let belongs = |f: &&Measured| size == "all" || size_class(f) == size;
            let members: Vec<Measured> = of_group.iter().filter(belongs).copied().collect();
            let class = format!("{size}{}", group.suffix());
            let of_tasks = || TaskSummary::of(group, tasks, measure.warmup);
            let tasks = if size == "all" { of_tasks() } else { None };
            let summary = ClassSummary::of(class, &members, of_group.len(), all_bytes);
            summaries.push(ClassSummary { tasks, ..summary });
        }
    }
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of a run of pFabric, which ranks by what it may know.
    fn digest(reveals: &str, oracle: bool) -> String {
        let text = format!(
            r#"
            [fabric]
            preset = "micro4"
            [workload]
            sizes = "web-search"
            load = 0.7
            flows = 200
            reveals = "{reveals}"
            [scheme]
            name = "pfabric"
            oracle = {oracle}
            "#
        );
        let scenario = Scenario::parse(&text).unwrap();
        run(&scenario, &Silent, None).unwrap().summary.digest
    }

    #[test]
    fn a_scheme_sees_no_size_that_is_not_revealed_unless_it_is_an_oracle() {
        assert_eq!(digest("size", false), digest("size", true));
        assert_eq!(digest("nothing", true), digest("size", true));
        assert_ne!(digest("nothing", false), digest("size", false));
    }

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
