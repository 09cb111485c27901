//! The command without its live half (`cargo test -p tailrace-cli --no-default-features --test lean`): all that simulates works,
//! and commands on real packets answer with one line that names what is missing.
#![cfg(not(live))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::{Command, Output};

const MISSING: &str = "error: this build of Tailrace has no live half";

/// Runs the command in a folder.
fn tailrace(words: &str, dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tailrace")).args(words.split(' ')).current_dir(dir).output().unwrap()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A folder with an experiment, a list of flows, and a live scenario.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let scenario =
        "[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.4\nflows = 30\n";
    let experiment = format!(
        "{scenario}[[scheme]]\nname = \"dctcp\"\n[[scheme]]\nname = \"pias\"\n[[expect]]\nstatement = \"all flows finish\"\n\
         scheme = \"dctcp\"\nunfinished = {{ at_most = 0 }}\n"
    );
    let plain = experiment.split("[[expect]]").next().unwrap();
    std::fs::write(dir.path().join("own.toml"), plain).unwrap();
    std::fs::write(dir.path().join("live.toml"), format!("level = \"live\"\n{plain}")).unwrap();
    std::fs::write(dir.path().join("flows.csv"), "start_s,src,dst,bytes\n0,0,1,20000\n0.001,1,2,3000000\n")
        .unwrap();
    std::fs::write(dir.path().join("agent.toml"), "[agent]\ninterface = \"lo\"\n[scheme]\nname = \"pias\"\n")
        .unwrap();
    dir
}

#[test]
fn all_that_simulates_works() {
    let place = place();
    let fluid = root().join("experiments/uranus/fluid/wvcc.toml");
    for words in [
        "run own.toml --only dctcp",
        "run own.toml --level flow --only pias --out out/flow",
        "check own.toml",
        "compare flows.csv --schemes dctcp,pias --out out/compared",
        "describe flows.csv",
        "show out/own",
        "thresholds --sizes web-search --load 0.6 --queues 4",
        "qos own.toml --scheme pias --format sonic",
        "schemes pias",
        &format!("fluid {} --out out/fluid", fluid.display()),
    ] {
        let output = tailrace(words, place.path());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "tailrace {words}: {said}");
    }
    assert!(place.path().join("out/own/summary.csv").exists());
}

#[test]
fn real_packets_are_refused_in_one_line() {
    let place = place();
    for words in [
        "emulate own.toml",
        "enter h0",
        "switch own.toml",
        "proxy own.toml --memcached 127.0.0.1:11211",
        "replay own.toml",
        "measure",
        "agent agent.toml",
        "control agent.toml",
        "run live.toml",
        "run own.toml --level live",
        "check live.toml",
        "qos own.toml --scheme pias --apply lo",
    ] {
        let output = tailrace(words, place.path());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with(MISSING) && said.lines().count() == 1, "tailrace {words}: {said}");
        assert_eq!(output.status.code(), Some(1), "tailrace {words}: {said}");
    }
    assert!(!place.path().join("out").exists(), "nothing is left behind");
}
