//! Two thousand mutated files: experiments and the files that they name. Each is planned or refused with a message that
//! says where, within two seconds and a bounded memory. The same ones in every run.
#![expect(clippy::print_stdout, reason = "how many inputs there were is for whoever runs it")]

use tailrace_fuzz::{Limit, Outcome, TARGETS, run};

fn mutate(name: &str, count: u64) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("the target exists");
    let outcomes = run(target, 2026, Limit::Inputs(count));
    assert_eq!(outcomes.values().sum::<u64>(), count);
    let used =
        outcomes.iter().filter(|(outcome, _)| matches!(outcome, Outcome::Used(_))).map(|(_, count)| count);
    let used: u64 = used.sum();
    println!("{name}: {used} of {count} used, {} outcomes", outcomes.len());
    // Mutations that break all files, or none, would show little.
    assert!((1..count / 2).contains(&used), "{used} of {count} are used");
}

#[test]
fn experiments() {
    mutate("experiment_file", 1_100);
}

#[test]
fn flow_sizes() {
    mutate("cdf_file", 300);
}

#[test]
fn flow_lists() {
    mutate("flow_list", 300);
}

#[test]
fn coflow_traces() {
    mutate("coflow_trace", 300);
}
