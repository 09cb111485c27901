//! `tailrace-bench --schemes`: the cost of a packet-hop under each scheme, against DCTCP in the same round.

use crate::error::Error;
use serde_json::json;
use tailrace_console::complain;

use crate::args;
use crate::stacks::Stack;
use crate::{Report, median};

/// What the others are compared with.
const BASE: &str = "dctcp";

pub fn compare(options: &args::Bench) -> Result<Report, Error> {
    let names: Vec<&str> = tailrace_schemes::NAMES.iter().copied().filter(|name| *name != BASE).collect();
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for round in 1..=options.rounds {
        complain!("round {round} of {}", options.rounds);
        let base = Stack::Scheme(BASE.to_owned()).run(options.flows)?.hops_per_second();
        for (name, ratios) in names.iter().zip(&mut ratios) {
            ratios.push(base / Stack::Scheme((*name).to_owned()).run(options.flows)?.hops_per_second());
        }
    }
    let mut text = format!(
        "cost of a packet-hop against {BASE}, Web Search at 60 %, 144 hosts, {} flows,\n\
         a third of the bytes each with deadlines, of known and of unknown size, of two slices\n",
        options.flows
    );
    let mut report = serde_json::Map::new();
    for (name, ratios) in names.iter().zip(ratios) {
        let ratio = median(ratios);
        text += &format!("{name:<10} {ratio:.2}\n");
        report.insert((*name).to_owned(), json!(ratio));
    }
    Ok((json!({ "cost_against_dctcp": report }), text))
}
