//! `tailrace run` at the live level: what it says of its lateness, and what it writes down of it.

use std::fs;
use std::process::Output;

use crate::place::{EmulatedFolder, stderr};

/// A live run that is lenient with the machine.
const SMALL: &str =
    "run star.toml --level live --only dctcp --out out --set fabric.delay=2ms --set transport.min_rto=200ms";

/// What came of a command on a machine that was not too slow for it; if it always was, that is said.
fn in_time(run: impl Fn() -> Output) -> Option<Output> {
    let too_slow = |output: &Output| stderr(output).contains("the machine was too slow");
    let output = (0..4).map(|_| run()).find(|output| !too_slow(output));
    if output.is_none() {
        tailrace_linux::skip_test("the machine was too slow four times");
    }
    output
}

#[test]
fn a_live_run_says_how_late_it_was_at_both_ends_and_writes_it_down() {
    let Some(place) = EmulatedFolder::new() else { return };
    let words = format!("{SMALL} --set workload.sizes={{fixed='20KB'}} --set workload.flows=10");
    let Some(output) = in_time(|| place.output(&words)) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    let line =
        said.lines().find(|line| line.starts_with("live: in each run 99 % of the packets left less than "));
    assert!(line.is_some_and(|line| line.contains("; half of them came in less than ")), "{said}");
    assert!(!said.contains("none of theirs"), "{said}");
    let runs = fs::read_dir(place.dir.path().join("out/runs")).unwrap();
    let runs: Vec<_> =
        runs.map(|run| run.unwrap().path()).filter(|run| run.join("summary.json").exists()).collect();
    assert_eq!(runs.len(), 1);
    assert!(fs::metadata(runs[0].join("lag.parquet")).unwrap().len() > 100);
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(runs[0].join("summary.json")).unwrap()).unwrap();
    // A packet is in its lag when it has been handed over, and what is lost is in none.
    let (entered, left) = (&summary["entry_lateness"]["count"], &summary["lateness"]["count"]);
    assert_eq!((entered, left), (&summary["packets"]["injected"], &summary["packets"]["delivered"]));
    assert_eq!(summary["strays"]["strange"], 0);
}
