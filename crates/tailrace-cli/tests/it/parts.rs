//! Experiments that are made in parts, and put together.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::below::files_below;

const EXPERIMENT: &str = r#"title = "two schemes, two loads, two seeds"
[fabric]
preset = "micro4"
[workload]
sizes = { file = "x.cdf" }
flows = 20
[[scheme]]
name = "fifo"
[[scheme]]
name = "dctcp"
[sweep]
"workload.load" = [0.3, 0.6]
seed = [1, 2]
[[claim]]
id = "1"
paper = 1.0
tolerance = 0
number = { metric = "slowdown_min", of = "dctcp" }
"#;

fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), EXPERIMENT).unwrap();
    fs::write(dir.path().join("x.cdf"), "1000 0\n30000 1\n").unwrap();
    dir
}

fn tailrace(dir: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace"));
    command.args(args.split_whitespace()).current_dir(dir).output().unwrap()
}

/// What a command said, which ended with this status.
fn said(dir: &Path, args: &str, status: i32) -> String {
    let output = tailrace(dir, args);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args}: {text}");
    text.into_owned()
}

#[test]
fn parts_put_together_are_to_the_byte_what_one_command_makes() {
    let dir = prepared();
    said(dir.path(), "run x.toml --out whole", 0);
    for part in ["3/3", "1/3", "2/3"] {
        let text = said(dir.path(), &format!("run x.toml --out parts --part {part}"), 0);
        assert!(text.contains(&format!("part {part}: ")) && text.contains("tailrace gather parts"), "{text}");
    }
    // Nothing but the folder is needed.
    fs::remove_file(dir.path().join("x.toml")).unwrap();
    fs::remove_file(dir.path().join("x.cdf")).unwrap();
    let text = said(dir.path(), "gather parts", 0);
    assert!(text.starts_with("two schemes, two loads, two seeds\n") && !text.contains("missing"), "{text}");
    assert_eq!(files_below(&dir.path().join("parts")), files_below(&dir.path().join("whole")));
}

#[test]
fn a_missing_part_is_said() {
    let dir = prepared();
    said(dir.path(), "run x.toml --part 1/4", 0);
    said(dir.path(), "run x.toml --part 3/4", 0);
    said(dir.path(), "show out/x", 0);
    assert!(!dir.path().join("out/x/summary.csv").exists(), "the tables alone");
    let text = said(dir.path(), "gather out/x", 1);
    assert!(
        text.contains("4 of 8 runs are missing; tables, claims and plots are of the others:\n"),
        "{text}"
    );
    assert!(
        text.contains("  dctcp, workload.load = 0.3, seed = 1\n  dctcp, workload.load = 0.3, seed = 2\n")
    );
    let shown = said(dir.path(), "show out/x", 0);
    assert!(shown.contains("means of 2 seeds") && shown.contains("4 of 8 runs are missing"), "{shown}");
    let rows = fs::read_to_string(dir.path().join("out/x/summary.csv")).unwrap();
    assert!(rows.contains("\nfifo,0.3,1,all,") && !rows.contains("dctcp"), "{rows}");

    said(dir.path(), "run x.toml --part 2/4", 0);
    said(dir.path(), "run x.toml --part 4/4", 0);
    assert!(!said(dir.path(), "gather out/x", 0).contains("missing"));
}

#[test]
fn a_damaged_run_counts_as_missing() {
    let dir = prepared();
    said(dir.path(), "run x.toml", 0);
    let run = fs::read_dir(dir.path().join("out/x/runs")).unwrap().next().unwrap().unwrap().path();
    fs::write(run.join("ports.parquet"), "").unwrap();
    let text = said(dir.path(), "gather out/x", 1);
    assert!(text.contains("ports.parquet: is damaged: it does not match its checksum"), "{text}");
    assert!(text.contains("the run counts as missing") && text.contains("1 of 8 runs are missing"), "{text}");
}

#[test]
fn what_cannot_be_gathered_says_why() {
    let dir = prepared();
    let plan = dir.path().join("out/x/plan.parquet");
    assert!(
        said(dir.path(), "gather nowhere", 2)
            .contains("nowhere: is no folder; give one that tailrace run has written")
    );
    said(dir.path(), "run x.toml --part 8/8", 0);
    fs::remove_dir_all(dir.path().join("out/x/runs")).unwrap();
    assert!(said(dir.path(), "gather out/x", 1).contains("out/x: none of its 8 runs is finished"));
    said(dir.path(), "run x.toml", 0);
    let whole = fs::read(&plan).unwrap();
    fs::write(&plan, &whole[1..]).unwrap();
    let text = said(dir.path(), "gather out/x", 1);
    assert!(text.contains("plan.parquet: is damaged: it does not match its checksum"), "{text}");
    assert!(said(dir.path(), "run x.toml", 0).contains("plan.parquet"));
    assert_eq!(fs::read(&plan).unwrap(), whole);
}

#[test]
fn what_is_no_part_is_refused() {
    let dir = prepared();
    for part in ["0/3", "4/3", "3", "a/b", "1/0", "1/", "-1/3", "1/3/5"] {
        let text = said(dir.path(), &format!("run x.toml --part={part}"), 2);
        assert!(
            text.contains(&format!("'{part}'")) && text.contains("must be K/N with K from 1 to N"),
            "{text}"
        );
    }
    assert!(!dir.path().join("out").exists());
}
