//! Which kept runs are used again, and which are not.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tailrace_experiment::BUILD;

const EXPERIMENT: &str = r#"title = "two schemes"
[fabric]
preset = "micro4"
[workload]
sizes = { file = "x.cdf" }
load = 0.5
flows = 20
[[scheme]]
name = "fifo"
[[scheme]]
name = "dctcp"
"#;

fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), EXPERIMENT).unwrap();
    fs::write(dir.path().join("x.cdf"), "1000 0\n30000 1\n").unwrap();
    dir
}

fn run(dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tailrace")).args(["run", "x.toml"]).current_dir(dir).output().unwrap()
}

/// What a successful run said on standard error.
fn said(dir: &Path) -> String {
    let output = run(dir);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// The folders of runs.
fn runs(dir: &Path) -> Vec<PathBuf> {
    let mut runs: Vec<PathBuf> =
        fs::read_dir(dir.join("out/x/runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    runs
}

#[test]
fn runs_of_another_build_are_not_used_and_not_lost() {
    let dir = prepared();
    said(dir.path());
    let summary = fs::read(dir.path().join("out/x/summary.csv")).unwrap();
    for run in runs(dir.path()) {
        let name = run.file_name().unwrap().to_string_lossy().replace(BUILD, "0123456789abcdef");
        fs::rename(&run, run.with_file_name(name)).unwrap();
    }
    let text = said(dir.path());
    assert!(text.contains("2 kept runs of another build of Tailrace are not used"), "{text}");
    assert!(!text.contains("were there already"), "{text}");
    assert_eq!(runs(dir.path()).len(), 4);
    assert_eq!(fs::read(dir.path().join("out/x/summary.csv")).unwrap(), summary);
    let text = said(dir.path());
    assert!(text.contains("2 of 2 runs were there already"), "{text}");
}

#[test]
fn a_run_in_the_place_of_this_builds_must_be_of_this_build() {
    let dir = prepared();
    said(dir.path());
    let run = &runs(dir.path())[0];
    let summary = fs::read_to_string(run.join("summary.json")).unwrap();
    assert!(summary.contains(&format!("\"build\": \"{BUILD}\"")), "{summary}");
    fs::write(run.join("summary.json"), summary.replace(BUILD, "0123456789abcdef")).unwrap();
    let text = said(dir.path());
    assert!(text.contains("1 of 2 runs were there already"), "{text}");
    assert_eq!(fs::read_to_string(run.join("summary.json")).unwrap(), summary);
}

#[test]
fn a_changed_table_of_sizes_is_run() {
    let dir = prepared();
    said(dir.path());
    fs::write(dir.path().join("x.cdf"), "1000 0\n60000 1\n").unwrap();
    let text = said(dir.path());
    assert!(!text.contains("were there already") && !text.contains("another build"), "{text}");
    fs::write(dir.path().join("x.cdf"), "1000 0\n30000 1\n").unwrap();
    assert!(said(dir.path()).contains("2 of 2 runs were there already"));
}

#[test]
fn a_changed_flow_list_is_run() {
    let dir = prepared();
    let text = EXPERIMENT
        .replace("sizes = { file = \"x.cdf\" }\nload = 0.5\nflows = 20", "flow_list = \"flows.csv\"");
    fs::write(dir.path().join("x.toml"), text).unwrap();
    let list = |size: u32| {
        let text = format!("src,dst,size_bytes,start_ns\n0,1,{size},0\n2,3,2000,100\n");
        fs::write(dir.path().join("flows.csv"), text).unwrap();
    };
    let sizes = || fs::read_to_string(dir.path().join("out/x/summary.csv")).unwrap();
    list(5_000);
    said(dir.path());
    let first = sizes();
    list(50_000);
    let text = said(dir.path());
    assert!(!text.contains("were there already"), "{text}");
    assert_ne!(sizes(), first);
    list(5_000);
    assert!(said(dir.path()).contains("2 of 2 runs were there already"));
    assert_eq!(sizes(), first);
}
