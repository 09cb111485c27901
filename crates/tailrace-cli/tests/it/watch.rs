//! `tailrace run --watch`: what is seen of runs while they are made, in lines and on a terminal.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const SWEEP: &str = r#"[fabric]
preset = "spine144"
leaves = 2
spines = 2
hosts_per_leaf = 4
[workload]
sizes = "web-search"
load = 0.5
flows = 400
[[scheme]]
name = "dctcp"
[[scheme]]
name = "pias"
[sweep]
"workload.load" = [0.3, 0.8]
"#;

fn tailrace(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tailrace")).args(args).current_dir(dir).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn u64_of(line: &Value, pointer: &str) -> u64 {
    line.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {line}"))
}

/// Files of all runs, by name.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => {
                vec![(path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())]
            }
        })
        .collect();
    all.sort();
    all
}

#[test]
fn runs_are_seen_in_lines_and_are_the_same_runs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    let seen = lines(&tailrace(dir.path(), &["run", "x.toml", "--watch", "--out", "seen"]));
    assert!(tailrace(dir.path(), &["run", "x.toml", "--out", "unseen"]).status.success());
    let [seen_files, unseen_files] = ["seen/runs", "unseen/runs"].map(|name| files(&dir.path().join(name)));
    assert_eq!(seen_files.len(), unseen_files.len());
    assert!(seen_files == unseen_files, "to look changes nothing");

    let (last, views) = seen.split_last().unwrap();
    assert_eq!(last["runs"].as_array().unwrap().len(), 4);
    let (ends, views): (Vec<&Value>, Vec<&Value>) =
        views.iter().partition(|line| line.get("is_finished").is_some());
    assert_eq!(ends.len(), 4);
    for run in 0..4 {
        let own: Vec<_> = views.iter().filter(|line| line["run"] == run).collect();
        assert!(!own.is_empty(), "run {run}");
        for line in own {
            assert_eq!(line["scheme"], last["runs"][run]["scheme"]);
            assert_eq!(line["point"], last["runs"][run]["point"]);
            let (delivered, hops) = (u64_of(line, "/packets/delivered"), u64_of(line, "/packets/hops"));
            assert!(delivered > 0 && hops >= 2 * delivered, "{line}");
            assert!(u64_of(line, "/finished") <= u64_of(line, "/started"), "{line}");
            let ports = line["ports"].as_array().unwrap();
            assert_eq!(ports.len(), 10);
            assert!(ports[0]["utilisation"].as_f64().unwrap() > 0.3, "the busiest: {}", ports[0]);
            for port in ports {
                let utilisation = port["utilisation"].as_f64().unwrap();
                assert!((0.0..=1.001).contains(&utilisation), "{port}");
                assert_eq!(port["queued_bytes"].as_array().unwrap().len(), 8);
            }
        }
    }
    let again = lines(&tailrace(dir.path(), &["run", "x.toml", "--watch", "--out", "seen"]));
    let there = again.iter().filter(|line| line["was_there"] == true).count();
    assert_eq!((again.len(), there), (5, 4), "nothing was to be made");
}

#[test]
fn at_flow_level_there_are_flows_to_see() {
    let dir = tempfile::tempdir().unwrap();
    let text = SWEEP.replace("dctcp", "rcp").replace("pias", "srpt").replace("flows = 400", "flows = 100000");
    fs::write(dir.path().join("x.toml"), text).unwrap();
    let seen = lines(&tailrace(dir.path(), &["run", "x.toml", "--watch", "--level", "flow"]));
    let views: Vec<_> = seen.iter().filter(|line| line.get("started").is_some()).collect();
    assert!(!views.is_empty());
    assert!(views.iter().all(|line| line.get("ports").is_none() && u64_of(line, "/started") > 0));
}

#[test]
fn on_a_terminal_a_run_fills_the_screen_and_q_ends_it() {
    if Command::new("script").arg("--version").output().is_err() {
        crate::skip_test("there is no script(1)");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP.replace("flows = 400", "flows = 40000")).unwrap();
    let command =
        format!("stty rows 24 cols 100; {} run x.toml --watch --jobs 1", env!("CARGO_BIN_EXE_tailrace"));
    let typed = "sleep 1.5; printf q; sleep 1";
    let output = Command::new("sh")
        .args(["-c", &format!("({typed}) | script -qec '{command}' /dev/null")])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(130), "{text}");
    for said in ["dctcp, workload.load 0.3 · q ends", "run 0/4 · ", "flows    ", "frames   ", "q7 mark drop"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    // The terminal is as it was.
    assert!(text.contains("\u{1b}[?1049h") && text.contains("\u{1b}[?1049l"), "{text}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    for other in [&["--json"][..], &["--part", "1/2"], &["--cluster", "local"], &["--dry-run"]] {
        let arguments = [&["run", "x.toml", "--watch"], other].concat();
        let output = tailrace(dir.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{other:?}");
    }
}
