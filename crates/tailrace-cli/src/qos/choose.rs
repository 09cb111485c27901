//! What `tailrace qos` is asked about: a scheme with its parameters, link rates, names of ports.

use std::collections::BTreeMap;
use std::path::Path;

use tailrace_config::suggest::unknown;
use tailrace_core::{Knowledge, PortPlace, Rate, Scheme};
use tailrace_experiment::{Error, Experiment};
use tailrace_scenario::Scenario;
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};
use tailrace_workload::published;

use super::job::Job;
use crate::args;
use crate::mistake::wrong;
use crate::overrides::overrides;
use crate::traffic::{Kinds, refuse};

/// The scheme of an experiment file, at the first point of its sweep, or one by name.
pub fn scenario(options: &args::Qos) -> Result<Scenario, Error> {
    let set = overrides(&options.set)?;
    let Some(file) = &options.file else {
        let text = unfiled(options)?;
        return Ok(Experiment::from_text(&text, Path::new("qos"), &[], &set, 1.0)?.runs[0].scenario());
    };
    let why = "the experiment file says this; change it with --set FIELD=VALUE";
    refuse(&[("--queues", options.queues.is_some())], why)?;
    refuse(&options.traffic.alike(), why)?;
    refuse(&options.traffic.by_kind(), why)?;
    let experiment = Experiment::read(file, &set, 1.0)?;
    let labels: Vec<&str> = experiment.runs.iter().map(|run| run.scheme.as_str()).collect();
    let label = match &options.scheme {
        Some(label) => label.as_str(),
        None if labels.iter().all(|label| *label == labels[0]) => labels[0],
        None => return Err(wrong("--scheme", format!("missing: choose one of {}", distinct(&labels)))),
    };
    let run = experiment.runs.iter().find(|run| run.scheme == label);
    let missing = || wrong("--scheme", unknown("scheme of this experiment", label, labels.iter().copied()));
    Ok(run.ok_or_else(missing)?.scenario())
}

fn distinct(labels: &[&str]) -> String {
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    labels.dedup();
    labels.join(", ")
}

/// The experiment of a scheme with no file: what matters of it are its parameters, the link rate, and flow sizes
/// and a load if they are given. Switches know of no slices, but some schemes need one.
fn unfiled(options: &args::Qos) -> Result<String, Error> {
    let Some(name) = &options.scheme else {
        return Err(wrong("--scheme", "missing: give an experiment file or a scheme's name"));
    };
    let unknown_scheme = |_| wrong("--scheme", unknown("scheme", name, NAMES.iter().copied()));
    let (mut params, knows) = with_scheme(name, Defaults).map_err(unknown_scheme)?;
    let Some(rate) = options.rates.first() else {
        return Err(wrong("--rates", "missing: give the rates of your links, such as 10Gbps,40Gbps"));
    };
    if let Some(queues) = options.queues {
        let Some(port) = params.get_mut("port").and_then(toml::Value::as_table_mut) else {
            return Err(wrong("--queues", format!("means nothing for {name}: it has no port.queues")));
        };
        port.insert("queues".into(), i64::from(queues).into());
    }
    let scheme =
        toml::Table::from_iter([("name".into(), name.clone().into()), ("params".into(), params.into())]);
    let schemes = toml::Table::from_iter([("scheme".into(), vec![scheme].into())]);
    Ok(format!(
        "[fabric]\nkind = \"star\"\nhosts = 2\nhost_rate = \"{rate}\"\ndelay = \"1us\"\nbuffer = \"1MB\"\n\
         [workload]\nflows = 1\nslice = 1\n{}\n[[slice]]\nweight = 1\n{schemes}",
        workload(&options.traffic, name, knows)?
    ))
}

/// A scheme's parameters written out, so that `--set` changes one and leaves the others, and what it may know.
struct Defaults;

impl SchemeVisitor for Defaults {
    type Output = (toml::Table, Knowledge);
    fn visit<S: Scheme>(self) -> Self::Output {
        match toml::Table::try_from(S::Params::default()) {
            Ok(table) => (table, S::KNOWS),
            Err(error) => panic!("{}: its own defaults cannot be written: {error}", S::NAME),
        }
    }
}

/// The workload that options describe. Without any all flows start at once, so that no load is taken for granted.
fn workload(traffic: &args::Traffic, scheme: &str, knows: Knowledge) -> Result<String, Error> {
    if traffic.by_kind().iter().any(|(_, given)| *given) {
        if !(knows.sizes && knows.deadlines) {
            let why = format!("means nothing for {scheme}, which tells no kinds of flows apart");
            refuse(&traffic.by_kind(), &format!("{why}: give --sizes and --load"))?;
        }
        refuse(&traffic.alike(), "is for flows that are all alike: leave it out, or the kinds of flows")?;
        return Ok(rules(&traffic.kinds()?));
    }
    match (&traffic.sizes, traffic.load) {
        (Some(sizes), Some(load)) => {
            Ok(format!("sizes = {}\nload = {}", field(sizes), toml::Value::from(load)))
        }
        (None, None) => Ok("sizes = \"web-search\"\narrivals = \"once\"".into()),
        (Some(_), None) => Err(wrong("--load", "missing: --sizes needs a load between 0 and 1")),
        (None, Some(_)) => Err(wrong("--sizes", "missing: --load needs a published name or a CDF file")),
    }
}

/// A rule for each kind of flows. Of those with deadlines only the load counts, so that any sizes will do.
fn rules(kinds: &Kinds) -> String {
    let known = kinds.known.as_ref().map(|kind| (field(&kind.name), kind.load, "reveals = \"size\""));
    let unknown = kinds.unknown.as_ref().map(|kind| (field(&kind.name), kind.load, "reveals = \"nothing\""));
    let deadline = (field("web-search"), kinds.deadline, "deadline = { ideal = {} }");
    let rule = |(sizes, load, reveals): (String, f64, &str)| {
        format!("[[workload.rule]]\nsizes = {sizes}\nload = {load}\n{reveals}\n")
    };
    let kinds = [Some(deadline), known, unknown].into_iter().flatten();
    kinds.filter(|(_, load, _)| *load > 0.0).map(rule).collect()
}

/// Sizes as a workload has them.
fn field(name: &str) -> String {
    let text = toml::Value::from(name);
    if published::find(name).is_some() { text.to_string() } else { format!("{{ file = {text} }}") }
}

/// The rates asked for; else those of the switch ports of the experiment's fabric.
pub fn rates(options: &args::Qos, scenario: &Scenario) -> Result<Vec<Rate>, Error> {
    let mut rates = options.rates.clone();
    if rates.is_empty() {
        let fabric = scenario.fabric.build();
        let ports = fabric.ports.iter().filter(|port| port.place() != PortPlace::Nic);
        rates = ports.map(|port| port.rate).collect();
    }
    if rates.iter().any(|rate| rate.as_bps() == 0) {
        return Err(wrong("--rates", "0bps: a link has a rate above 0"));
    }
    rates.sort_unstable();
    rates.dedup();
    Ok(rates)
}

/// Ports by rate, from `RATE=NAME,NAME`.
pub fn ports(texts: &[String], job: &Job) -> Result<BTreeMap<Rate, Vec<String>>, Error> {
    let mut ports: BTreeMap<Rate, Vec<String>> = BTreeMap::new();
    for text in texts {
        let wrong = |message: String| wrong("--ports", message);
        let Some((rate, names)) = text.split_once('=') else {
            return Err(wrong(format!(
                "\"{text}\" is not RATE=NAME,NAME, such as 10Gbps=Ethernet0,Ethernet4"
            )));
        };
        let rate: Rate = rate.parse().map_err(|e| wrong(format!("{e}")))?;
        if !job.plans.iter().any(|(planned, _)| *planned == rate) {
            return Err(wrong(format!("{rate} is none of the rates asked for; add it to --rates")));
        }
        for name in names.split(',').map(str::trim) {
            if name.is_empty() || name.contains(['|', '"']) {
                return Err(wrong(format!("\"{name}\" is no name of a port, such as Ethernet0")));
            }
            if ports.values().flatten().any(|known| known == name) {
                return Err(wrong(format!("{name} is named twice")));
            }
            ports.entry(rate).or_default().push(name.to_owned());
        }
    }
    Ok(ports)
}
