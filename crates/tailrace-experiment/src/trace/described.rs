//! A trace on a fabric: what it offers, and what a user should know before anything runs.

use std::path::Path;
use std::sync::Arc;

use tailrace_config::{ScenarioError, read_parsed};
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, HostId, Rate, Time, duration};
use tailrace_fabric::{Fabric, FabricParams, read_files};
use tailrace_workload::{FlowSpec, Offered, on_the_wire};
use toml::{Table, Value};

use super::columns::Mapping;
use super::read::{Trace, read};

/// Rates of host links that there are, in Gbps.
const RATES: [u32; 8] = [1, 10, 25, 40, 100, 200, 400, 800];
/// A fabric that nobody has named is fast enough for its links to have this load.
const MAX_LOAD: f64 = 0.8;
/// Hosts of one switch at most, and under one leaf of several.
const OF_ONE_SWITCH: usize = 64;
const UNDER_A_LEAF: usize = 32;
/// What starts at once has no load, and a link of this rate.
const AT_ONCE: u32 = 10;
/// Percentiles are of few flows below this.
const FEW: usize = 1_000;
/// A pause that is so much of a trace is worth a word.
const LONG_PAUSE: f64 = 0.1;

/// A trace on a fabric.
#[derive(Clone, Debug)]
pub struct Described {
    /// The flows.
    pub trace: Trace,
    /// `[fabric]`.
    pub fabric: Table,
    /// Whether nobody has named that fabric.
    pub is_chosen: bool,
    /// What the flows offer to it; `None` if all of them start at once.
    pub offered: Option<Offered>,
    /// What to know before a run, each with what can be done. That a link is overloaded each run says by itself.
    pub warnings: Vec<String>,
}

impl Described {
    /// Reads a trace, for the fabric or for one that carries it.
    pub fn read(path: &Path, mapping: &[Mapping], fabric: Option<Table>) -> Result<Self, ScenarioError> {
        let given = fabric.as_ref().map(FabricParams::from_table).transpose();
        let given = given.map_err(|error| error.within("--fabric"))?;
        let given = given.map(|params| params.build());
        let trace = read(path, mapping, given.as_deref())?;
        let is_chosen = fabric.is_none();
        let table = fabric.unwrap_or_else(|| chosen(&trace));
        let built = match given {
            Some(built) => built,
            None => FabricParams::from_table(&table)?.build(),
        };
        check_deadlines(&trace, &built).map_err(|error| error.in_file(path))?;
        let offered = Offered::of(&trace.flows, &built, mss());
        let warnings = warnings(&trace, &built, offered.as_ref());
        Ok(Described { trace, fabric: table, is_chosen, offered, warnings })
    }

    /// The fabric, ready to run.
    pub fn built(&self) -> Result<Arc<Fabric>, ScenarioError> {
        Ok(FabricParams::from_table(&self.fabric)?.build())
    }
}

/// Payload of a full segment, as in a scenario that says nothing of it.
fn mss() -> u16 {
    TransportParams::default().mss
}

/// `[fabric]` by a preset's name, or of a file that has one or is a graph.
pub fn fabric_named(name: &str) -> Result<Table, ScenarioError> {
    if Path::new(name).extension().is_some_and(|ending| ending == "toml") {
        return read_parsed(Path::new(name), |text, folder| {
            let mut table: Table = text.parse().map_err(|error| ScenarioError::syntax(&error, text))?;
            match table.remove("fabric") {
                Some(Value::Table(mut fabric)) => {
                    let within = |error: ScenarioError| error.within("fabric");
                    read_files(&mut fabric, folder).map_err(within)?;
                    FabricParams::from_table(&fabric).map_err(within)?;
                    Ok(fabric)
                }
                _ => Err(ScenarioError::new("fabric", "is missing: the file must have a table [fabric]")),
            }
        });
    }
    let field = |name: &str, value: &str| (name.to_owned(), Value::String(value.to_owned()));
    if Path::new(name).is_file() || Path::new(name).extension().is_some() || name.contains('/') {
        let mut graph: Table = [field("kind", "graph"), field("file", name)].into_iter().collect();
        read_files(&mut graph, Path::new(""))?;
        return Ok(graph);
    }
    let table: Table = [field("preset", name)].into_iter().collect();
    FabricParams::from_table(&table).map_err(|error| {
        let message =
            format!("{}; or a file: one with [fabric], whose name ends in .toml, or a graph", error.message);
        ScenarioError::new("--fabric", message)
    })?;
    Ok(table)
}

/// No scheme can meet a deadline in less time than the flow takes alone, and a list of flows may have none such.
fn check_deadlines(trace: &Trace, fabric: &Fabric) -> Result<(), ScenarioError> {
    let too_soon =
        |flow: &FlowSpec| Some((span_of(flow)?, alone(flow, fabric))).filter(|(span, alone)| span < alone);
    let Some((number, times)) =
        trace.flows.iter().enumerate().find_map(|(n, flow)| Some((n, too_soon(flow)?)))
    else {
        return Ok(());
    };
    let message = format!(
        "is {} after the start, but {} alone take {} on their hosts' links: choose a fabric with faster ones (--fabric), or \
         leave the deadline out; {} of {} flows are like that",
        duration(times.0.as_secs_f64()),
        trace.flows[number].size,
        duration(times.1.as_secs_f64()),
        trace.flows.iter().filter(|flow| too_soon(flow).is_some()).count(),
        trace.flows.len()
    );
    Err(ScenarioError { line: trace.lines[number], ..ScenarioError::new("deadline", message) })
}

/// How long after its start a flow is due.
fn span_of(flow: &FlowSpec) -> Option<Time> {
    flow.deadline.map(|deadline| deadline.saturating_sub(flow.start))
}

/// What a flow's bytes take on the slower of its hosts' links.
fn alone(flow: &FlowSpec, fabric: &Fabric) -> Time {
    let of_host = |host: HostId| fabric.ports[host as usize].rate;
    of_host(flow.src).min(of_host(flow.dst)).time_for(flow.size)
}

/// A fabric without a bottleneck but its hosts' links, at the slowest rate at which none of them is loaded too much and all
/// deadlines can be met.
fn chosen(trace: &Trace) -> Table {
    let hosts = trace.hosts.len().max(2);
    let at = |gbps: u32| -> Table {
        let rate = Value::String(format!("{gbps}Gbps"));
        let fields: Vec<(&str, Value)> = if hosts <= OF_ONE_SWITCH {
            vec![("kind", "star".into()), ("hosts", (hosts as i64).into()), ("host_rate", rate)]
        } else {
            let number = |count: usize| Value::Integer(count as i64);
            vec![
                ("kind", "leaf-spine".into()),
                ("leaves", number(hosts.div_ceil(UNDER_A_LEAF))),
                ("spines", number(8)),
                ("hosts_per_leaf", number(UNDER_A_LEAF)),
                ("host_rate", rate),
                // Eight of them carry what 32 hosts send.
                ("spine_rate", Value::String(format!("{}Gbps", 4 * gbps))),
            ]
        };
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    let carries = |gbps: &u32| {
        let fabric = FabricParams::from_table(&at(*gbps)).ok()?.build();
        if check_deadlines(trace, &fabric).is_err() {
            return Some(false);
        }
        let offered = Offered::of(&trace.flows, &fabric, mss())?;
        Some(offered.busiest().1 * while_busy(trace, &offered) <= MAX_LOAD)
    };
    let rate = RATES.into_iter().find(|gbps| carries(gbps).unwrap_or(*gbps >= AT_ONCE));
    at(rate.unwrap_or(RATES[RATES.len() - 1]))
}

/// The longest time in which no flow starts, and when that begins; none that is too short to matter.
fn pause(trace: &Trace, offered: &Offered) -> Option<(Time, Time)> {
    let flows = &trace.flows;
    let pauses = flows.windows(2).map(|pair| (pair[1].start.saturating_sub(pair[0].start), pair[0].start));
    let longest = pauses.max()?;
    let matters = flows.len() > 10 && longest.0.as_secs_f64() > LONG_PAUSE * offered.span.as_secs_f64();
    matters.then_some(longest)
}

/// By how much the load is higher than its mean outside that.
fn while_busy(trace: &Trace, offered: &Offered) -> f64 {
    let idle = pause(trace, offered).map_or(0.0, |(pause, _)| pause.as_secs_f64());
    let span = offered.span.as_secs_f64();
    span / (span - idle).max(span * 1e-3)
}

fn warnings(trace: &Trace, fabric: &Fabric, offered: Option<&Offered>) -> Vec<String> {
    let flows = &trace.flows;
    let mut warnings = Vec::new();
    if flows.len() < FEW {
        let tail = 100.0 * (1.0 - 10.0 / flows.len() as f64);
        let tail = match tail > 50.0 {
            true => format!("beyond the {tail:.0}th percentile there are ten of them"),
            false => "no percentile says anything".to_owned(),
        };
        warnings.push(format!("{} flows are few: {tail}; take a longer trace", flows.len()));
    }
    let Some(offered) = offered else {
        warnings.push(
            "all flows start at once, so there is no load: schemes that plan with one need thresholds of yours"
                .to_owned(),
        );
        return warnings;
    };
    let span = offered.span;
    if let Some((pause, after)) = pause(trace, offered) {
        let (port, load) = offered.busiest();
        let load = 100.0 * load * while_busy(trace, offered);
        let over = if load > 100.0 { ", more than it carries: choose faster links (--fabric)" } else { "" };
        warnings.push(format!(
            "idle: no flow starts for {} after {}; for the rest of the time the busiest link, {}, has a load of {load:.0} %{over}",
            duration(pause.as_secs_f64()),
            duration(after.as_secs_f64()),
            fabric.port_name(port)
        ));
    }
    let long_alone = |size: u64| wire_time(size, fabric.host_rate());
    let long = flows.iter().filter(|flow| long_alone(flow.size.get()) > span).count();
    if long > 0 {
        let longest = flows.iter().map(|flow| flow.size.get()).max().unwrap_or_default();
        let flows = if long == 1 { "one flow takes".to_owned() } else { format!("{long} flows take") };
        warnings.push(format!(
            "{flows} longer alone than the trace lasts, up to {}: most of what is sent then meets no other flow",
            duration(long_alone(longest).as_secs_f64())
        ));
    }
    warnings
}

/// What so many bytes take on a link of that rate.
fn wire_time(bytes: u64, rate: Rate) -> Time {
    rate.time_for(Bytes::new(on_the_wire(bytes as f64, mss()).ceil() as u64))
}
