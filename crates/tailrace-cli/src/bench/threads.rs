//! `tailrace bench --threads`: one run on one thread and on several, by the clock on the wall.

use std::time::Instant;

use serde_json::{Value, json};
use tailrace_core::Running;
use tailrace_experiment::Error;
use tailrace_run::{Control, Threads};
use tailrace_scenario::Scenario;

use super::growth::Size;
use super::parts::scenario;
use super::{Report, median};
use crate::args;

/// Follows nothing, on so many threads.
struct OnThreads(usize);

impl Control for OnThreads {
    fn progress(&self, _: &mut dyn Running) {}
    fn note(&self, text: String) {
        complain!("{text}");
    }
    fn interrupted(&self) -> bool {
        false
    }
    fn threads(&self) -> Threads {
        Threads { at_most: self.0, asked: true }
    }
}

/// Both fabrics, on one thread up to as many as there are processors; the smaller one on twice as many as well, to see what
/// waiting costs.
pub fn measure(options: &args::Bench) -> Result<Report, Error> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let counts = |more: &[usize]| (1..=processors).chain(more.iter().copied()).collect::<Vec<_>>();
    let fabrics = [
        ("144 hosts", scenario(options.flows, "pias")?, counts(&[2 * processors])),
        ("1,024 hosts", Scenario::parse(&Size::of_hosts(32, 32).text())?, counts(&[])),
    ];
    let mut text = format!(
        "{processors} processors\n\n| fabric | threads | M packet-hops/s | times one thread |\n|---|---|---|---|\n"
    );
    let mut rows: Vec<Value> = Vec::new();
    for (name, scenario, counts) in fabrics {
        let mut rounds: Vec<Vec<f64>> = Vec::new();
        for round in 1..=options.rounds {
            complain!("{name}: round {round} of {}", options.rounds);
            rounds.push(counts.iter().map(|&threads| rate(&scenario, threads)).collect::<Result<_, _>>()?);
        }
        for (place, threads) in counts.iter().enumerate() {
            let rate = median(rounds.iter().map(|round| round[place]).collect());
            let times = median(rounds.iter().map(|round| round[place] / round[0]).collect());
            text += &format!("| {name} | {threads} | {:.2} | {times:.2} |\n", rate / 1e6);
            rows.push(
                json!({ "fabric": name, "threads": threads, "packet_hops_per_second": rate, "times": times }),
            );
        }
    }
    Ok((json!({ "threads": rows }), text))
}

/// Packet-hops a second.
#[expect(clippy::disallowed_methods, reason = "a benchmark of wall time")]
fn rate(scenario: &Scenario, threads: usize) -> Result<f64, Error> {
    let start = Instant::now();
    let feed = tailrace_run::feed(scenario)?;
    let (outcome, _) = tailrace_run::run(scenario, feed, &OnThreads(threads), Vec::new())?;
    Ok(outcome.packet_hops() as f64 / start.elapsed().as_secs_f64())
}
