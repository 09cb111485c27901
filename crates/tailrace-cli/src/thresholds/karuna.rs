//! Karuna: the first queue for deadlines, the others split by known size and sieved by bytes sent.

use serde_json::json;
use tailrace_core::{Bytes, SizeDistribution, dscp_of};
use tailrace_experiment::Error;
use tailrace_schemes::karuna::model::{Kind, Mix, Model, Plan};

use super::{sizes, wrong};
use crate::args;

/// Flows of one kind as given: the name of their sizes, the sizes, their load.
struct Given {
    name: String,
    sizes: SizeDistribution,
    load: f64,
}

pub fn thresholds(options: &args::Thresholds) -> Result<i32, Error> {
    if !(2..=8).contains(&options.queues) {
        let message = format!("{}: karuna needs 2 to 8 queues, the first for deadlines", options.queues);
        return Err(wrong("--queues", message));
    }
    let known = given("--known", &options.known, options.known_load)?;
    let unknown = given("--unknown", &options.unknown, options.unknown_load)?;
    if known.is_none() && unknown.is_none() {
        let message = "missing: give --known and --known-load, --unknown and --unknown-load, or all four";
        return Err(wrong("--known", message));
    }
    let deadline = options.deadline_load.unwrap_or(0.0);
    let mix =
        Mix { deadline, known: known.as_ref().map(Given::kind), unknown: unknown.as_ref().map(Given::kind) };
    let model = Model::new(&mix).map_err(|e| match e.field.as_str() {
        "loads" => wrong("--deadline-load, --known-load, --unknown-load", e.message),
        field => wrong(&format!("--{}", field.replace(' ', "-")), e.message),
    })?;
    let (single, plan) = (model.mean(&[], &[]), model.optimal(usize::from(options.queues) - 1));
    let report = Report { deadline, known, unknown, single, plan };
    if options.json {
        report.print_json()
    } else {
        report.print()
    }
    Ok(0)
}

/// A kind of flows takes a distribution and a load, or neither.
fn given(flag: &str, name: &Option<String>, load: Option<f64>) -> Result<Option<Given>, Error> {
    match (name, load) {
        (None, None) => Ok(None),
        (Some(name), Some(load)) => Ok(Some(Given { name: name.clone(), sizes: sizes(flag, name)?, load })),
        (Some(_), None) => {
            let message = format!("missing: give the share of the link that the flows of {flag} take");
            Err(wrong(&format!("{flag}-load"), message))
        }
        (None, Some(_)) => {
            let message = format!("missing: {flag}-load needs their sizes, a published name or a CDF file");
            Err(wrong(flag, message))
        }
    }
}

impl Given {
    fn kind(&self) -> Kind<'_> {
        Kind { sizes: &self.sizes, load: self.load }
    }
}

/// What is told of a plan.
struct Report {
    deadline: f64,
    known: Option<Given>,
    unknown: Option<Given>,
    single: f64,
    plan: Plan,
}

impl Report {
    /// The share of all bytes that each queue carries, that of deadlines first.
    fn shares(&self) -> Vec<f64> {
        let load = |kind: &Option<Given>| kind.as_ref().map_or(0.0, |kind| kind.load);
        let (known, unknown) = (load(&self.known), load(&self.unknown));
        let levels = self.plan.known_shares.iter().zip(&self.plan.unknown_shares);
        let loads = levels.map(|(k, u)| known * k + unknown * u);
        let total = self.deadline + known + unknown;
        std::iter::once(self.deadline).chain(loads).map(|load| load / total).collect()
    }

    fn print(&self) {
        let planned = |kind: &Option<Given>| {
            kind.as_ref().map_or("none".into(), |kind| format!("{} at {}", kind.name, kind.load))
        };
        let shares = self.shares();
        println!("Karuna thresholds, {} queues", shares.len());
        println!(
            "deadline flows at load {}, known sizes: {}, unknown sizes: {}\n",
            self.deadline,
            planned(&self.known),
            planned(&self.unknown)
        );
        let row = |queue: &str, dscp: &str, known: &str, unknown: &str, share: &str| {
            println!("{queue:>5}  {dscp:>4}  {known:<26}  {unknown:<26}  {share:>14}");
        };
        row("queue", "DSCP", "known size", "unknown: bytes sent", "share of bytes");
        for (queue, share) in shares.iter().enumerate() {
            let dscp = dscp_of(queue).to_string();
            let share = format!("{:.1} %", share * 100.0);
            let (known, unknown) = match queue.checked_sub(1) {
                None => ("deadlines only".into(), "–".into()),
                Some(level) => (range(&self.plan.splitting, level), range(&self.plan.sieving, level)),
            };
            row(&queue.to_string(), &dscp, &known, &unknown, &share);
        }
        let gain = (1.0 - self.plan.mean / self.single) * 100.0;
        println!(
            "\nmean completion time without deadlines: {gain:.1} % less than with one queue below the first,"
        );
        println!(
            "by the model (one link, Poisson arrivals, deadline flows as a smooth load above all others)"
        );
    }

    fn print_json(&self) {
        let kind = |kind: &Option<Given>| kind.as_ref().map(|k| json!({ "sizes": k.name, "load": k.load }));
        let bytes = |thresholds: &[Bytes]| thresholds.iter().map(|t| t.get()).collect::<Vec<_>>();
        let shares = self.shares();
        let document = json!({
            "scheme": "karuna", "queues": shares.len(), "deadline_load": self.deadline,
            "known": kind(&self.known), "unknown": kind(&self.unknown),
            "splitting_bytes": bytes(&self.plan.splitting), "sieving_bytes": bytes(&self.plan.sieving),
            "dscp": (0..shares.len()).map(dscp_of).collect::<Vec<_>>(), "share_of_bytes": shares,
            "mean_bytes_of_link_time": self.plan.mean, "mean_with_one_queue": self.single,
        });
        println!("{document:#}");
    }
}

/// What a level takes: above the threshold before it, up to its own.
fn range(thresholds: &[Bytes], level: usize) -> String {
    let from = level.checked_sub(1).map_or(Bytes::ZERO, |before| thresholds[before]);
    match thresholds.get(level) {
        Some(to) if *to == from => "–".into(),
        Some(to) if from == Bytes::ZERO => format!("up to {to}"),
        Some(to) => format!("{from} to {to}"),
        None if from == Bytes::ZERO => "all".into(),
        None => format!("above {from}"),
    }
}
