//! Sweeps at the live level: finished runs are kept, and no two runs are under way at once.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tailrace_linux::Namespace;

use crate::below::files_below;
use crate::place::{EmulatedFolder, stderr};

/// Two points of half a second each and more, whose packets may come late.
const SWEEP: &str = r#"
[fabric]
kind = "star"
hosts = 3
host_rate = "100Mbps"
delay = "2ms"
[transport]
min_rto = "400ms"
[workload]
sizes = { fixed = "20KB" }
load = 0.01
flows = 10
[[scheme]]
name = "dctcp"
[sweep]
"workload.load" = [0.01, 0.02]
"#;
const RUN: &str = "run sweep.toml --level live --jobs 4 --json --out out";

/// Runs that have finished.
fn finished(place: &EmulatedFolder) -> Vec<PathBuf> {
    let runs = fs::read_dir(place.dir.path().join("out/runs")).into_iter().flatten();
    let runs = runs.map(|run| run.unwrap().path());
    // What is not finished is written aside.
    runs.filter(|run| run.join("summary.json").exists() && !hidden(run)).collect()
}

fn hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn is_too_slow(output: &Output) -> bool {
    stderr(output).contains("the machine was too slow")
}

#[test]
fn what_was_finished_before_a_kill_is_kept_and_runs_are_one_after_another() {
    let Some(place) = EmulatedFolder::new() else { return };
    fs::write(place.dir.path().join("sweep.toml"), SWEEP).unwrap();
    for _ in 0..4 {
        let _ = fs::remove_dir_all(place.dir.path().join("out"));
        let killed = place.command(RUN).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut killed = Started(killed.unwrap());
        while finished(&place).is_empty() && killed.0.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        killed.0.kill().unwrap();
        let mut said = String::new();
        killed.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        drop(killed);
        let kept = finished(&place);
        if kept.len() != 1 {
            assert!(said.contains("the machine was too slow"), "{kept:?} {said}");
            continue;
        }
        assert!(!said.contains("waits for another live run"), "{said}");
        let before = files_below(&kept[0]);
        // The kernel has taken the killed one's turn back.
        let output = place.output(RUN);
        if is_too_slow(&output) {
            continue;
        }
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!stderr(&output).contains("waits for another live run"), "{}", stderr(&output));
        assert_eq!(files_below(&kept[0]), before);
        assert_eq!(finished(&place).len(), 2);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let runs = json["runs"].as_array().unwrap();
        let loads: Vec<f64> =
            runs.iter().map(|run| run["point"]["workload.load"].as_f64().unwrap()).collect();
        assert_eq!(loads, [0.01, 0.02]);
        for run in runs {
            let summary = &run["summary"];
            assert_eq!(summary["lateness"]["count"], summary["packets"]["delivered"], "{summary}");
        }
        return;
    }
    tailrace_linux::skip_test("the machine was too slow four times");
}

/// A live run under way, and one that waits for it.
struct Turns<'a> {
    place: &'a EmulatedFolder,
    /// What is said to others is said here: they have their own.
    apart: Namespace,
}

/// A run that has been started, and is ended by its pid if a test fails.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Turns<'_> {
    fn start(&self, out: &str, flows: u32) -> io::Result<Started> {
        let words = format!("run sweep.toml --level live --out {out} --set workload.flows={flows} --fresh");
        let mut command = self.place.command(&words);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        self.apart.inside(move || command.spawn()).map(Started)
    }

    /// Whether somebody has the turn.
    fn is_taken(&self) -> bool {
        let sockets = self.apart.inside(|| fs::read_to_string("/proc/thread-self/net/unix")).unwrap();
        sockets.contains("@tailrace-live-run")
    }

    /// Starts one that has to wait; returns what it says of that.
    fn waiting(&self, out: &str) -> (Started, BufReader<impl Read + use<>>, String) {
        let mut run = self.start(out, 2).unwrap();
        let mut said = BufReader::new(run.0.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("waits for") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it did not wait");
        }
        (run, said, line)
    }
}

#[test]
fn live_runs_of_other_processes_are_waited_for_as_long_as_they_live() {
    let Some(place) = EmulatedFolder::new() else { return };
    fs::write(place.dir.path().join("sweep.toml"), SWEEP).unwrap();
    let turns = Turns { place: &place, apart: Namespace::unnamed().unwrap() };
    let mut first = turns.start("first", 1_000_000).unwrap();
    let taken = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        turns.is_taken()
    });
    assert!(taken && first.0.try_wait().unwrap().is_none(), "it has not taken the turn, or has ended");
    let expected = format!("waits for another live run, pid {}\n", first.0.id());
    let (mut second, mut rest, line) = turns.waiting("second");
    assert!(line.ends_with(&expected), "{line}");
    // Who waits may be interrupted.
    let (mut third, _, _) = turns.waiting("third");
    let interrupt = Command::new("kill").args(["-INT", &third.0.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(third.0.wait().unwrap().code(), Some(130));
    assert!(second.0.try_wait().unwrap().is_none());
    drop(first);
    let mut said = String::new();
    rest.read_to_string(&mut said).unwrap();
    let status = second.0.wait().unwrap();
    assert!(status.success() || said.contains("the machine was too slow"), "{said}");
    assert!(!turns.is_taken());
}

#[test]
fn who_asks_for_more_hosts_than_a_core_carries_is_told_before_they_run() {
    let Some(place) = EmulatedFolder::new() else { return };
    let much = "hosts with 100Mbps each may ask for";
    let many = "--set fabric.hosts=9 --set workload.sizes={fixed='1KB'} --set fabric.delay=2ms";
    let run = |words: &str| stderr(&place.output(words));
    let said = run(&format!("run star.toml --level live --only dctcp --out a {many}"));
    assert!(said.contains(&format!("note: dctcp at live level: 9 {much} 900Mbps")), "{said}");
    let said = run("run star.toml --level live --only dctcp --out b --set workload.sizes={fixed='1KB'}");
    assert!(!said.contains(much), "{said}");
    let (_, _, said) = place.start("--for 100ms --set fabric.hosts=17").end();
    assert!(said.contains(&format!("note: 17 {much} 1.7Gbps")), "{said}");
    let (_, _, said) = place.start("--for 100ms --set fabric.host_rate=10Gbps").end();
    assert!(said.contains("note: 3 hosts with 10Gbps each may ask for 30Gbps"), "{said}");
    assert!(said.contains("one core's work, which carries 1.6Gbps"), "{said}");
    let (_, _, said) = place.start("--for 100ms").end();
    assert!(!said.contains(much), "{said}");
}
