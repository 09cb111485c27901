//! What `tailrace qos` is asked about: a scheme with its parameters, link rates, names of ports.

use std::collections::BTreeMap;
use std::path::Path;

use tailrace_core::{PortPlace, Rate, Scheme};
use tailrace_experiment::{Error, Experiment};
use tailrace_scenario::workload::published;
use tailrace_scenario::{Scenario, unknown};
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};

use super::{Job, wrong};
use crate::args;
use crate::run::overrides;

/// The scheme of an experiment file, at the first point of its sweep, or one by name.
pub fn scenario(options: &args::Qos) -> Result<Scenario, Error> {
    let set = overrides(&options.set)?;
    let Some(file) = &options.file else {
        let text = unfiled(options)?;
        return Ok(Experiment::from_text(&text, Path::new("qos"), &set, 1.0)?.runs.remove(0).scenario);
    };
    for (option, given) in [
        ("--queues", options.queues.is_some()),
        ("--sizes", options.sizes.is_some()),
        ("--load", options.load.is_some()),
    ] {
        if given {
            return Err(wrong(option, "the experiment file says this; change it with --set FIELD=VALUE"));
        }
    }
    let experiment = Experiment::read(file, &set, 1.0)?;
    let labels: Vec<&str> = experiment.runs.iter().map(|run| run.scheme.as_str()).collect();
    let label = match &options.scheme {
        Some(label) => label.as_str(),
        None if labels.iter().all(|label| *label == labels[0]) => labels[0],
        None => return Err(wrong("--scheme", format!("missing: choose one of {}", distinct(&labels)))),
    };
    let run = experiment.runs.iter().find(|run| run.scheme == label);
    let missing = || wrong("--scheme", unknown("scheme of this experiment", label, labels.iter().copied()));
    Ok(run.ok_or_else(missing)?.scenario.clone())
}

fn distinct(labels: &[&str]) -> String {
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    labels.dedup();
    labels.join(", ")
}

/// The experiment of a scheme with no file: what matters of it are its parameters, the link rate, and flow sizes
/// and a load if they are given.
fn unfiled(options: &args::Qos) -> Result<String, Error> {
    let Some(name) = &options.scheme else {
        return Err(wrong("--scheme", "missing: give an experiment file or a scheme's name"));
    };
    let unknown_scheme = |_| wrong("--scheme", unknown("scheme", name, NAMES.iter().copied()));
    let mut params = with_scheme(name, Defaults).map_err(unknown_scheme)?;
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
         [workload]\n{}\nflows = 1\n{schemes}",
        traffic(options)?
    ))
}

/// A scheme's parameters written out, so that `--set` changes one and leaves the others.
struct Defaults;

impl SchemeVisitor for Defaults {
    type Output = toml::Table;
    fn visit<S: Scheme>(self) -> toml::Table {
        match toml::Table::try_from(S::Params::default()) {
            Ok(table) => table,
            Err(error) => panic!("{}: its own defaults cannot be written: {error}", S::NAME),
        }
    }
}

/// Flow sizes and load as given. Without them all flows start at once, so that no load is taken for granted.
fn traffic(options: &args::Qos) -> Result<String, Error> {
    let (sizes, load) = match (&options.sizes, options.load) {
        (Some(sizes), Some(load)) => (toml::Value::from(sizes.as_str()), toml::Value::from(load)),
        (None, None) => return Ok("sizes = \"web-search\"\narrivals = \"once\"".into()),
        (Some(_), None) => return Err(wrong("--load", "missing: --sizes needs a load between 0 and 1")),
        (None, Some(_)) => {
            return Err(wrong("--sizes", "missing: --load needs a published name or a CDF file"));
        }
    };
    let published = options.sizes.as_deref().is_some_and(|name| published::find(name).is_some());
    let sizes = if published { sizes.to_string() } else { format!("{{ file = {sizes} }}") };
    Ok(format!("sizes = {sizes}\nload = {load}"))
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
