//! What becomes of results when processes are killed or meet, disks are full or read-only, and files are damaged.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::below::files_below;

/// Eight runs of milliseconds.
const EXPERIMENT: &str = r#"title = "two schemes, four loads"
[fabric]
preset = "micro4"
[workload]
sizes = "web-search"
flows = 20
[[scheme]]
name = "fifo"
[[scheme]]
name = "dctcp"
[sweep]
"workload.load" = [0.2, 0.4, 0.6, 0.8]
[[claim]]
id = "1"
paper = 1.0
tolerance = 0
number = { metric = "slowdown_min", of = "dctcp" }
"#;

fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), EXPERIMENT).unwrap();
    dir
}

fn start(dir: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace"));
    command.args(["run", "x.toml", "--jobs", "2"]).current_dir(dir);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How a command ended, and what it said on standard error.
fn told(output: &Output) -> String {
    format!("{}: {}", output.status, stderr(output))
}

/// What a successful run said on standard error.
fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    stderr(&output)
}

/// The results of a run that nothing happens to.
fn undisturbed() -> BTreeMap<PathBuf, Vec<u8>> {
    let dir = prepared();
    said(start(dir.path()));
    files_below(&dir.path().join("out/x"))
}

fn assert_same(found: &BTreeMap<PathBuf, Vec<u8>>, expected: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    assert!(found.keys().eq(expected.keys()), "{when}: {:?}\n{:?}", found.keys(), expected.keys());
    found
        .iter()
        .for_each(|(path, content)| assert!(*content == expected[path], "{when}: {}", path.display()));
}

#[test]
fn a_run_killed_at_any_moment_is_resumed_to_the_same_bytes() {
    let expected = undisturbed();
    let dir = prepared();
    let out = dir.path().join("out/x");
    for moment in 0..40 {
        if moment % 8 == 0 {
            let _ = fs::remove_dir_all(&out);
        }
        let mut child = start(dir.path());
        std::thread::sleep(Duration::from_millis(moment * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        if moment % 3 == 0 {
            said(start(dir.path()));
            assert_same(&files_below(&out), &expected, &format!("killed after {} ms", moment * 2));
        }
    }
}

#[test]
fn several_processes_share_a_folder() {
    let expected = undisturbed();
    for round in 0..10 {
        let dir = prepared();
        let children: Vec<Child> = (0..3).map(|_| start(dir.path())).collect();
        let texts: Vec<String> = children.into_iter().map(said).collect();
        assert!(texts.iter().all(|text| !text.contains("damaged")), "{texts:?}");
        assert_same(&files_below(&dir.path().join("out/x")), &expected, &format!("round {round}"));
    }
}

#[test]
fn what_is_damaged_is_said_and_made_again() {
    let dir = prepared();
    said(start(dir.path()));
    let out = dir.path().join("out/x");
    let expected = files_below(&out);
    let first_run = expected.keys().find(|path| path.starts_with("runs")).unwrap().parent().unwrap();
    let own = expected.keys().filter(|path| !path.starts_with("runs") && !path.ends_with(".lock"));
    let of_run = expected.keys().filter(|path| path.starts_with(first_run));
    for name in own.chain(of_run) {
        let content = &expected[name];
        fs::write(out.join(name), &content[..content.len() / 2]).unwrap();
        let text = said(start(dir.path()));
        let file = name.file_name().unwrap().to_string_lossy().into_owned();
        assert!(text.contains(&file) && text.contains("again"), "{file}: {text}");
        let there = if name.starts_with("runs") { "7 of 8" } else { "8 of 8" };
        assert!(text.contains(&format!("{there} runs were there already")), "{file}: {text}");
        assert_same(&files_below(&out), &expected, &file);
    }
}

#[test]
fn a_folder_removed_in_mid_run_is_a_failure() {
    let dir = prepared();
    // The first run takes milliseconds, the second much longer.
    let text = EXPERIMENT.replace("[0.2, 0.4, 0.6, 0.8]", "[0.5]\n\"workload.flows\" = [20, 1000]");
    fs::write(dir.path().join("x.toml"), text).unwrap();
    let child = in_mid_run(dir.path(), 4);
    // A thread may still write when its process is told to stop.
    let out = dir.path().join("out");
    while out.exists() && fs::remove_dir_all(&out).is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "CONT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let is_said = stderr(&output).contains("was removed while results were written into it");
    assert!(is_said, "{}", told(&output));
    assert!(!dir.path().join("out").exists());
}

/// A command that was stopped when some, but not all of its runs were finished: on a busy machine this process may
/// look late, and then tries again.
fn in_mid_run(dir: &Path, all: usize) -> Child {
    let runs = dir.join("out/x/runs");
    let finished = || {
        let names = fs::read_dir(&runs).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| !name.to_string_lossy().starts_with('.')).count()
    };
    loop {
        let mut child = start(dir);
        while finished() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        signal(&child, "STOP");
        if finished() < all {
            return child;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir_all(dir.join("out")).unwrap();
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.unwrap().success(), "kill -{name}");
}

/// Runs a shell script where it may mount; `None`, with the reason, where that is not allowed.
fn with_mounts(dir: &Path, script: &str) -> Option<Output> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-ec", script])
            .current_dir(dir)
            .env("TAILRACE", env!("CARGO_BIN_EXE_tailrace"));
        command.output()
    };
    let allowed = unshare("mkdir -p probe && mount -t tmpfs tmpfs probe");
    if !allowed.as_ref().is_ok_and(|output| output.status.success()) {
        crate::skip_test(format_args!("file systems cannot be mounted here: {allowed:?}"));
        return None;
    }
    Some(unshare(script).unwrap())
}

#[test]
fn a_finished_folder_on_a_read_only_disk_is_read() {
    let dir = prepared();
    said(start(dir.path()));
    let read_only = "mount --bind out out; mount -o remount,bind,ro out; ";
    let Some(output) = with_mounts(dir.path(), &format!("{read_only} $TAILRACE run x.toml")) else { return };
    assert!(output.status.success(), "{}", told(&output));
    assert!(stderr(&output).contains("8 of 8 runs were there already"), "{}", told(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("dctcp"));

    let run = fs::read_dir(dir.path().join("out/x/runs")).unwrap().next().unwrap().unwrap().path();
    fs::write(run.join("flows.parquet"), "").unwrap();
    let output = with_mounts(dir.path(), &format!("{read_only} $TAILRACE run x.toml")).unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(stderr(&output).contains("Read-only file system"), "{}", told(&output));
}

#[test]
fn a_full_disk_is_a_failure_that_loses_nothing() {
    let dir = prepared();
    said(start(dir.path()));
    let script = "mkdir full; mount -t tmpfs -o size=2m tmpfs full; cp -a out/x full/x; \
                  head -c 4m /dev/zero > full/rest || true; \
                  $TAILRACE run x.toml --out full/x --set workload.flows=21 || echo status $?; \
                  $TAILRACE flows x.toml --set workload.flows=9999 --out full/flows.csv \
                  || echo status $?; diff -r out/x full/x && ls -A full";
    let Some(output) = with_mounts(dir.path(), script) else { return };
    let text = told(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("the disk is full; earlier results are whole").count(), 2, "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "status 1\nstatus 1\nrest\nx\n");
}
