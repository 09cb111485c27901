//! `tailrace run --only LABEL`: some of an experiment's schemes, into the same folder.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const EXPERIMENT: &str = r#"title = "three schemes, two loads"
[fabric]
preset = "micro4"
[workload]
sizes = "web-search"
flows = 30
[[scheme]]
name = "dctcp"
label = "DCTCP"
[[scheme]]
name = "dctcp"
label = "DCTCP deep"
params = { port.marking_threshold = "200pkt" }
[[scheme]]
name = "fifo"
[sweep]
"workload.load" = [0.3, 0.8]
[[claim]]
id = "alone"
paper = 1.0
tolerance = 0
number = { metric = "slowdown_min", of = "DCTCP" }
[[claim]]
id = "compared"
paper = -0.2
tolerance = 0
number = { metric = "fct_mean_us", of = "DCTCP", against = "fifo" }
"#;

fn run(dir: &Path, options: &[&str]) -> Output {
    let args = ["run", "x.toml"].iter().chain(options);
    Command::new(env!("CARGO_BIN_EXE_tailrace")).args(args).current_dir(dir).output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), EXPERIMENT).unwrap();
    dir
}

/// Experiments of several files, each in its own folder; what they have in common is no mistake of one.
#[test]
fn several_files_run_one_after_another_once_all_are_read() {
    let dir = prepared();
    let tailrace = |words: &str| {
        let args = words.split(' ');
        Command::new(env!("CARGO_BIN_EXE_tailrace")).args(args).current_dir(dir.path()).output().unwrap()
    };
    fs::write(dir.path().join("y.toml"), EXPERIMENT.replace("0.8]", "0.4]")).unwrap();
    let refused = |words: &str, why: &str| {
        let output = tailrace(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
        assert!(!dir.path().join("out").exists(), "{words}");
    };
    fs::write(dir.path().join("wrong.toml"), EXPERIMENT.replace("micro4", "micro5")).unwrap();
    refused("run x.toml wrong.toml", "wrong.toml:3: fabric.preset: unknown preset");
    refused("run x.toml y.toml --json", "--json: is for one experiment, but 2 files are given");
    refused("run x.toml y.toml --part 1/2", "--part: is for one experiment");
    fs::create_dir(dir.path().join("other")).unwrap();
    fs::write(dir.path().join("other/x.toml"), EXPERIMENT).unwrap();
    refused(
        "run x.toml other/x.toml",
        "x.toml and other/x.toml would have the same folder, x: run them by themselves",
    );
    said(&tailrace("run x.toml y.toml --only fifo"));
    said(&tailrace("run x.toml y.toml --only fifo --out both"));
    for folder in ["out", "both"] {
        let runs =
            |name: &str| fs::read_dir(dir.path().join(folder).join(name).join("runs")).unwrap().count();
        assert_eq!([runs("x"), runs("y")], [2, 2], "{folder}");
        assert!(dir.path().join(folder).join("y/summary.csv").exists(), "{folder}");
    }
}

#[test]
fn the_same_folder_takes_the_other_schemes_later() {
    let dir = prepared();
    let runs = || fs::read_dir(dir.path().join("out/x/runs")).unwrap().count();
    let read = |folder: &str, name: &str| fs::read(dir.path().join(folder).join(name)).unwrap();
    said(&run(dir.path(), &["--only", "DCTCP"]));
    assert_eq!(runs(), 2);
    said(&run(dir.path(), &["--only", "DCTCP", "--only", "DCTCP deep"]));
    assert_eq!(runs(), 4);
    let text = said(&run(dir.path(), &[]));
    assert!(text.contains("4 of 6 runs were there already"), "{text}");
    said(&run(dir.path(), &["--out", "at-once"]));
    for name in ["summary.csv", "claims.json", "experiment.toml"] {
        assert_eq!(read("out/x", name), read("at-once", name), "{name}");
    }
}

#[test]
fn claims_that_need_others_are_not_measured() {
    let dir = prepared();
    said(&run(dir.path(), &["--only", "DCTCP"]));
    let summary = fs::read_to_string(dir.path().join("out/x/summary.csv")).unwrap();
    assert!(summary.lines().skip(1).all(|line| line.starts_with("DCTCP,")), "{summary}");
    let claims = fs::read(dir.path().join("out/x/claims.json")).unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    assert!(claims[0]["measured"].is_f64(), "{claims}");
    assert_eq!((&claims[1]["measured"], &claims[1]["verdict"]), (&().into(), &"not measured here".into()));
}

/// A scheme that cannot be used does not keep others from being run, at either level.
#[test]
fn what_is_left_out_is_not_checked() {
    let dir = prepared();
    let wrong = EXPERIMENT.replace("port.marking_threshold = \"200pkt\"", "windwo = 3");
    fs::write(dir.path().join("x.toml"), wrong).unwrap();
    let all = run(dir.path(), &[]);
    assert_eq!(all.status.code(), Some(2), "{}", String::from_utf8_lossy(&all.stderr));
    said(&run(dir.path(), &["--only", "DCTCP", "--only", "fifo"]));

    let both = EXPERIMENT.replace("name = \"fifo\"", "name = \"rcp\"\nlabel = \"fifo\"");
    fs::write(dir.path().join("x.toml"), both).unwrap();
    let all = run(dir.path(), &["--level", "flow", "--out", "rates"]);
    let text = String::from_utf8_lossy(&all.stderr).into_owned();
    assert!(all.status.code() == Some(2) && text.contains("dctcp has no rule for rates"), "{text}");
    said(&run(dir.path(), &["--level", "flow", "--only", "fifo", "--out", "rates"]));
}

#[test]
fn a_label_that_is_not_there_is_a_mistake() {
    let dir = prepared();
    for (label, words) in [
        ("DCTPC", "did you mean \"DCTCP\"?"),
        ("pias", "known are DCTCP, DCTCP deep, fifo"),
        ("dctcp", "--only: unknown scheme of this experiment \"dctcp\""),
        ("", "unknown scheme of this experiment \"\""),
    ] {
        let output = run(dir.path(), &["--only", "fifo", "--only", label]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with("error: --only: ") && text.contains(words), "{words:?} is not in: {text}");
        assert!(!dir.path().join("out").exists());
    }
}
