//! Karuna: the first queue for deadlines, the others split by known size and sieved by bytes sent.

use serde_json::json;
use tailrace_console::say;
use tailrace_core::{Bytes, dscp_of};
use tailrace_experiment::Error;
use tailrace_schemes::karuna::model::{Kind, Mix, Model, Plan};

use crate::args;
use crate::mistake::wrong;
use crate::traffic::{self, Kinds};

pub fn thresholds(options: &args::Thresholds) -> Result<i32, Error> {
    if !(2..=8).contains(&options.queues) {
        let message = format!("{}: karuna needs 2 to 8 queues, the first for deadlines", options.queues);
        return Err(wrong("--queues", message));
    }
    let kinds = options.traffic.kinds()?;
    let mix = Mix {
        deadline: kinds.deadline,
        known: kinds.known.as_ref().map(modelled),
        unknown: kinds.unknown.as_ref().map(modelled),
    };
    let model = Model::new(&mix).map_err(|e| wrong("--known-load, --unknown-load", e.message))?;
    let (single, plan) = (model.mean(&[], &[]), model.optimal(usize::from(options.queues) - 1));
    let report = Report { kinds, single, plan };
    if options.json {
        report.print_json()
    } else {
        report.print()
    }
    Ok(0)
}

fn modelled(kind: &traffic::Kind) -> Kind<'_> {
    Kind { sizes: &kind.sizes, load: kind.load }
}

/// What is told of a plan.
struct Report {
    kinds: Kinds,
    single: f64,
    plan: Plan,
}

impl Report {
    /// The share of all bytes that each queue carries, that of deadlines first.
    fn shares(&self) -> Vec<f64> {
        let load = |kind: &Option<traffic::Kind>| kind.as_ref().map_or(0.0, |kind| kind.load);
        let (known, unknown) = (load(&self.kinds.known), load(&self.kinds.unknown));
        let levels = self.plan.known_shares.iter().zip(&self.plan.unknown_shares);
        let loads = levels.map(|(k, u)| known * k + unknown * u);
        let total = self.kinds.deadline + known + unknown;
        std::iter::once(self.kinds.deadline).chain(loads).map(|load| load / total).collect()
    }

    fn print(&self) {
        let planned = |kind: &Option<traffic::Kind>| {
            kind.as_ref().map_or("none".into(), |kind| format!("{} at {}", kind.name, kind.load))
        };
        let shares = self.shares();
        say!("Karuna thresholds, {} queues", shares.len());
        say!(
            "deadline flows at load {}, known sizes: {}, unknown sizes: {}\n",
            self.kinds.deadline,
            planned(&self.kinds.known),
            planned(&self.kinds.unknown)
        );
        let row = |queue: &str, dscp: &str, known: &str, unknown: &str, share: &str| {
            say!("{queue:>5}  {dscp:>4}  {known:<26}  {unknown:<26}  {share:>14}");
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
        say!(
            "\nmean completion time without deadlines: {gain:.1} % less than with one queue below the first,"
        );
        say!("by the model (one link, Poisson arrivals, deadline flows as a smooth load above all others)");
    }

    fn print_json(&self) {
        let kind =
            |kind: &Option<traffic::Kind>| kind.as_ref().map(|k| json!({ "sizes": k.name, "load": k.load }));
        let bytes = |thresholds: &[Bytes]| thresholds.iter().map(|t| t.get()).collect::<Vec<_>>();
        let shares = self.shares();
        let document = json!({
            "scheme": "karuna", "queues": shares.len(), "deadline_load": self.kinds.deadline,
            "known": kind(&self.kinds.known), "unknown": kind(&self.kinds.unknown),
            "splitting_bytes": bytes(&self.plan.splitting), "sieving_bytes": bytes(&self.plan.sieving),
            "dscp": (0..shares.len()).map(dscp_of).collect::<Vec<_>>(), "share_of_bytes": shares,
            "mean_bytes_of_link_time": self.plan.mean, "mean_with_one_queue": self.single,
        });
        say!("{document:#}");
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
