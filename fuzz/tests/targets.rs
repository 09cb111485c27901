//! Every target, its corpus first, then so many mutations, the same ones in every run. With `FUZZ_SECONDS` there are as many as
//! the time allows, and `FUZZ_SEED` gives others: `make fuzz`, `make soak`.
#![expect(clippy::print_stdout, reason = "how many inputs there were is for whoever runs it")]

use std::time::Duration;

use tailrace_fuzz::{Limit, TARGETS, run};

/// Mutations of each target: some seconds of one processor.
const INPUTS: u64 = 300;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is \"{text}\", but must be a whole number")))
}

fn fuzz(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("the target exists");
    let limit = match number("FUZZ_SECONDS") {
        Some(seconds) => Limit::Time(Duration::from_secs(seconds)),
        None => Limit::Inputs(INPUTS),
    };
    let outcomes = run(target, number("FUZZ_SEED").unwrap_or(1), limit);
    println!("{name}: {} inputs, {} outcomes", outcomes.values().sum::<u64>(), outcomes.len());
}

macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { fuzz(stringify!($name)); })*

        #[test]
        fn every_target_is_tested() {
            assert_eq!(TARGETS.map(|target| target.name), [$(stringify!($name)),*]);
        }
    };
}

tests! {
    agenda, cdf_file, coflow_trace, experiment_file, flow_list, frames, graph_file, headers, live_record, memcached, scenario_text, trace,
    transport,
}
