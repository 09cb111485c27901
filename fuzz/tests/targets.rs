//! Every target, its corpus first, then mutations for ten seconds, or as long as `FUZZ_SECONDS` says. `FUZZ_SEED` gives
//! other mutations.
#![expect(clippy::print_stdout, reason = "how many inputs there were is for whoever runs it")]

use std::time::Duration;

use tailrace_fuzz::{Limit, TARGETS, run};

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => {
            text.parse().unwrap_or_else(|_| panic!("{variable} is \"{text}\", but must be a whole number"))
        }
        Err(_) => otherwise,
    }
}

fn fuzz(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("the target exists");
    let limit = Limit::Time(Duration::from_secs(number("FUZZ_SECONDS", 10)));
    let outcomes = run(target, number("FUZZ_SEED", 1), limit);
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
