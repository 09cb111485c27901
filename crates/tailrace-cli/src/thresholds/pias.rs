//! PIAS: one distribution, flows sink through all queues.

use serde_json::json;
use tailrace_console::say;
use tailrace_core::Bytes;
use tailrace_experiment::Error;
use tailrace_schemes::pias::model::{Model, optimal};

use crate::args;
use crate::mistake::wrong;
use crate::traffic::sizes;

pub fn thresholds(options: &args::Thresholds) -> Result<i32, Error> {
    let missing = |flag, what: &str| wrong(flag, format!("missing: give {what}"));
    let name =
        options.traffic.sizes.as_ref().ok_or_else(|| missing("--sizes", "a published name or a CDF file"))?;
    let load =
        options.traffic.load.ok_or_else(|| missing("--load", "the load of the link, between 0 and 1"))?;
    if !(load > 0.0 && load < 1.0) {
        return Err(wrong("--load", format!("{load} must lie between 0 and 1, both excluded")));
    }
    if !(1..=8).contains(&options.queues) {
        return Err(wrong("--queues", format!("{} queues: a port has 1 to 8", options.queues)));
    }
    let sizes = sizes("--sizes", name)?;
    let plan = optimal(&sizes, load, usize::from(options.queues));
    let model = Model::new(&sizes, load);
    let single = model.mean(&[]);
    let shares = shares(&plan.thresholds, |a| sizes.mean_capped(a) / sizes.mean());
    if options.json {
        let document = json!({
            "sizes": name, "load": load, "queues": options.queues,
            "thresholds_bytes": plan.thresholds.iter().map(|t| t.get()).collect::<Vec<_>>(),
            "share_of_bytes": shares, "mean_bytes_of_link_time": plan.mean, "mean_with_one_queue": single,
        });
        say!("{document:#}");
        return Ok(0);
    }
    say!("PIAS thresholds for {} at load {}, {} queues", name, load, options.queues);
    say!("(multi-level model; a flow sinks below a queue once it has sent more than its threshold)\n");
    say!("{:>5}  {:>14}  {:>14}", "queue", "up to", "share of bytes");
    for (queue, share) in shares.iter().enumerate() {
        let limit = plan.thresholds.get(queue).map_or("–".into(), Bytes::to_string);
        say!("{queue:>5}  {limit:>14}  {:>13.1} %", share * 100.0);
    }
    let gain = (1.0 - plan.mean / single) * 100.0;
    say!("\nmean completion time: {gain:.1} % less than with one queue, by the model");
    Ok(0)
}

/// The share of all bytes that each queue carries.
fn shares(thresholds: &[Bytes], below: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut bounds = vec![0.0];
    bounds.extend(thresholds.iter().map(|t| below(t.as_f64())));
    bounds.push(1.0);
    bounds.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
