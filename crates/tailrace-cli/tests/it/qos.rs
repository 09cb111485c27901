//! `tailrace qos`: SONiC tables against the constraints of SONiC's YANG models, and tc scripts on a real kernel.
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn qos(dir: &Path, options: &str) -> Output {
    let options = options.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_tailrace")).arg("qos").args(options).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const PIAS: &str = "--scheme pias --sizes web-search --load 0.6 --rates 10Gbps,40Gbps";
const PORTS: &str = "--ports 10Gbps=Ethernet0,Ethernet4 --ports 40Gbps=Ethernet48";

fn document(options: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    serde_json::from_str(&stdout(&qos(dir.path(), options))).unwrap()
}

fn keys(table: &Value) -> Vec<&str> {
    table.as_object().unwrap().keys().map(String::as_str).collect()
}

/// sonic-dscp-tc-map, sonic-tc-queue-map, sonic-wred-profile: `[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})`.
fn assert_name(name: &str) {
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    assert!(letters && name.len() <= 32 && name.starts_with(|c: char| c.is_ascii_alphanumeric()), "{name}");
}

/// A number as SONiC writes it, in text.
fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// What the models of sonic-buildimage (src/sonic-yang-models/yang-models, October 2025 to June 2026) ask of the
/// tables written here.
fn assert_valid(config: &Value) {
    let tables = ["DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "SCHEDULER", "WRED_PROFILE", "QUEUE", "PORT_QOS_MAP"];
    assert!(keys(config).iter().all(|table| tables.contains(table)), "{:?}", keys(config));
    let ((dscp_name, dscps), (queue_name, queues)) =
        (only(&config["DSCP_TO_TC_MAP"]), only(&config["TC_TO_QUEUE_MAP"]));
    assert_name(dscp_name);
    assert_name(queue_name);
    // sonic-dscp-tc-map: dscp 0 to 63; sonic-types: tc 0 to 15; sonic-tc-queue-map: qindex is a digit.
    for (dscp, class) in dscps.as_object().unwrap() {
        assert!(dscp.parse::<u8>().unwrap() < 64 && number(class) < 16, "{dscp}: {class}");
        // Every class has a queue.
        assert!(queues.get(class.as_str().unwrap()).is_some(), "no queue for class {class}");
    }
    for (class, queue) in queues.as_object().unwrap() {
        assert!(class.parse::<u8>().unwrap() < 16 && number(queue) < 10, "{class}: {queue}");
    }
    // sonic-scheduler: DWRR, WRR or STRICT.
    let (scheduler, profile) = only(&config["SCHEDULER"]);
    assert_eq!(profile, &serde_json::json!({ "type": "STRICT" }));
    for (name, profile) in config["WRED_PROFILE"].as_object().into_iter().flatten() {
        assert_name(name);
        assert_wred(profile);
    }
    assert_bound(config, scheduler, (dscp_name, queue_name));
}

/// sonic-wred-profile: max is at least min, probabilities are percent, modes of ECN are named.
fn assert_wred(profile: &Value) {
    assert_eq!(profile["ecn"], "ecn_all");
    for color in ["green", "yellow", "red"] {
        let field = |name: &str| number(&profile[format!("{color}_{name}")]);
        assert!(field("max_threshold") >= field("min_threshold") && field("drop_probability") <= 100);
        assert_eq!(profile[format!("wred_{color}_enable")], "true");
    }
    assert_eq!(keys(profile).len(), 1 + 3 * 4, "{profile}");
}

/// sonic-queue, sonic-port-qos-map: what they refer to is there; keys are `port|X` or `port|X-Y`.
fn assert_bound(config: &Value, scheduler: &str, (dscp_map, queue_map): (&str, &str)) {
    for (key, queue) in config["QUEUE"].as_object().into_iter().flatten() {
        let (port, range) = key.split_once('|').unwrap();
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        assert!(from <= to && to.parse::<u8>().unwrap() < 8, "{key}");
        assert_eq!(queue["scheduler"], scheduler);
        if let Some(profile) = queue.get("wred_profile") {
            assert!(config["WRED_PROFILE"].get(profile.as_str().unwrap()).is_some(), "{profile}");
        }
        assert!(config["PORT_QOS_MAP"].get(port).is_some(), "{port}");
    }
    for binding in config["PORT_QOS_MAP"].as_object().into_iter().flatten().map(|(_, binding)| binding) {
        assert_eq!(
            (&binding["dscp_to_tc_map"], &binding["tc_to_queue_map"]),
            (&dscp_map.into(), &queue_map.into())
        );
    }
}

fn only(table: &Value) -> (&str, &Value) {
    let table = table.as_object().unwrap();
    assert_eq!(table.len(), 1);
    table.iter().map(|(name, value)| (name.as_str(), value)).next().unwrap()
}

#[test]
fn sonic_tables_keep_to_the_models() {
    for options in [
        format!("{PIAS} {PORTS} --format sonic"),
        format!("{PIAS} --format sonic --queues 3"),
        format!("{PIAS} {PORTS} --format sonic --set scheme.pias.params.port.marking=none"),
        "--scheme dctcp --rates 2.5Gbps --ports 2.5Gbps=Ethernet0 --format sonic".into(),
        "--scheme mlfq --rates 400Gbps --format sonic".into(),
        "--scheme d2tcp --rates 10Gbps --ports 10Gbps=Ethernet0 --format sonic".into(),
    ] {
        assert_valid(&document(&options));
    }
}

#[test]
fn sonic_queues_carry_what_the_plan_says() {
    let table =
        "--set scheme.pias.params.port.marking_threshold={\"10Gbps\"=\"65pkt\",\"40Gbps\"=\"250pkt\"}";
    let config = document(&format!("{PIAS} {PORTS} --format sonic --queues 4 {table}"));
    let queue = |dscp: u8| {
        let class = &config["DSCP_TO_TC_MAP"]["TAILRACE"][dscp.to_string()];
        number(&config["TC_TO_QUEUE_MAP"]["TAILRACE"][class.as_str().unwrap()])
    };
    // Queue i is DSCP 7 − i, and the highest of SONiC's queues goes first.
    assert_eq!([7, 6, 5, 4].map(queue), [7, 6, 5, 4]);
    // Nobody's packets last, routing protocols first.
    assert_eq!([0, 3, 8, 46, 63].map(queue), [4; 5]);
    assert_eq!([48, 56].map(queue), [7, 7]);
    assert_eq!(keys(&config["QUEUE"]), ["Ethernet0|4-7", "Ethernet4|4-7", "Ethernet48|4-7"]);
    for (port, bytes) in [("Ethernet0", 65 * 1500), ("Ethernet48", 250 * 1500)] {
        let profile = config["QUEUE"][format!("{port}|4-7")]["wred_profile"].as_str().unwrap();
        let profile = &config["WRED_PROFILE"][profile];
        assert_eq!(
            ["green_min_threshold", "red_max_threshold"].map(|field| number(&profile[field])),
            [bytes; 2]
        );
    }
}

#[test]
fn what_a_format_cannot_say_is_said_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let notes = |options: &str| String::from_utf8(qos(dir.path(), options).stderr).unwrap();
    let sonic = format!("{PIAS} --format sonic");
    assert!(notes(&sonic).contains("each queue's own length with K, pias the port's total"));
    assert!(notes(&sonic).contains("no ports were named"));
    let own = notes(&format!("{sonic} {PORTS} --set scheme.pias.params.port.marking=queue"));
    assert!(!own.contains("port's total") && !own.contains("no ports"), "{own}");
    assert!(notes("--scheme dctcp --rates 1Gbps --format sonic").contains("not ECN-capable"));
}

#[test]
fn a_plan_comes_from_an_experiment_too() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"10Gbps\"\n\
                spine_rate = \"40Gbps\"\ndelay = \"1us\"\nbuffer = \"360KB\"\n[workload]\nsizes = \"web-search\"\n\
                load = 0.5\nflows = 60\n[[scheme]]\nname = \"dctcp\"\n[[scheme]]\nname = \"awafs\"\n\
                params = { placement = \"host\" }\n";
    fs::write(dir.path().join("x.toml"), text).unwrap();
    let plan = |label: &str| -> Value {
        let options = format!("x.toml --scheme {label} --format json");
        serde_json::from_str(&stdout(&qos(dir.path(), &options))).unwrap()
    };
    assert_eq!(plan("dctcp")["queues"].as_array().map(Vec::len), Some(1));
    let awafs = plan("awafs");
    assert_eq!(awafs["queues"].as_array().map(Vec::len), Some(8));
    let rates: Vec<&Value> = awafs["links"].as_array().unwrap().iter().map(|link| &link["rate"]).collect();
    assert_eq!(rates, ["10Gbps", "40Gbps"]);
}

/// One field changed leaves the scheme's own defaults for the others: DCTCP has one queue.
#[test]
fn an_override_changes_one_field() {
    let plan = document(
        "--scheme dctcp --rates 1Gbps --format json --set scheme.dctcp.params.port.marking_threshold=30KB",
    );
    assert_eq!(plan["queues"].as_array().map(Vec::len), Some(1));
    assert_eq!(plan["links"][0]["marking"]["above_bytes"], 30_000);
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let options = "--scheme dctcp --rates 1Gbps --format linux-tc --out dctcp.sh";
    assert_eq!(stdout(&qos(dir.path(), options)), "dctcp.sh\n");
    let before = fs::read(dir.path().join("dctcp.sh")).unwrap();
    assert!(before.starts_with(b"#!/bin/sh\n"));
    let output = qos(dir.path(), &format!("{options} --set scheme.dctcp.params.port.marking_threshold=5GB"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read(dir.path().join("dctcp.sh")).unwrap(), before);
    assert_eq!(qos(dir.path(), &format!("{options}/nowhere")).status.code(), Some(1));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "something was left behind");
}

/// Scripts for all ways to mark, from one queue to eight.
fn scripts(dir: &Path) -> Vec<(String, usize, String)> {
    let mut scripts = Vec::new();
    for marking in ["port", "queue", "port-except-first", "none"] {
        for queues in [1, 2, 3, 8] {
            let set = format!("--queues {queues} --set scheme.pias.params.port.marking={marking}");
            let name = format!("{marking}-{queues}.sh");
            stdout(&qos(dir, &format!("{PIAS} --format linux-tc {set} --out {name}")));
            scripts.push((marking.to_owned(), queues, name));
        }
    }
    scripts
}

#[test]
fn a_script_is_a_script() {
    let dir = tempfile::tempdir().unwrap();
    for (marking, queues, name) in scripts(dir.path()) {
        let text = fs::read_to_string(dir.path().join(&name)).unwrap();
        let count =
            |part: &str| text.lines().filter(|line| line.starts_with("tc ") && line.contains(part)).count();
        let red = match (marking.as_str(), queues) {
            ("none", _) => 0,
            ("queue", queues) => queues,
            ("port-except-first", 2..) => 2,
            _ => 1,
        };
        assert_eq!(count(" red $RED"), red, "{name}\n{text}");
        assert_eq!(count(" ets ") > 0, queues > 1, "{name}\n{text}");
        let parsed = Command::new("sh").arg("-n").arg(dir.path().join(&name)).output().unwrap();
        assert!(parsed.status.success(), "{name}: {}", String::from_utf8_lossy(&parsed.stderr));
    }
}

/// A network namespace with a veth pair, gone when dropped.
#[cfg(target_os = "linux")]
struct Namespace(String);

#[cfg(target_os = "linux")]
impl Namespace {
    /// `None`, and why, where this machine cannot have one with the queues that scripts use.
    fn new() -> Option<Self> {
        let name = format!("tailrace-qos-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        if !made.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: a network namespace takes root and iproute2");
            return None;
        }
        let here = Namespace(name);
        assert!(here.run("ip link add v0 type veth peer name v1").status.success());
        for qdisc in ["red limit 9000 min 3000 max 3001 avpkt 1500 burst 2 bandwidth 1mbit", "ets strict 2"] {
            let output = here.run(&format!("tc qdisc replace dev v0 root {qdisc}"));
            if !output.status.success() {
                eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
                return None;
            }
        }
        Some(here)
    }

    fn run(&self, command: &str) -> Output {
        let args = ["netns", "exec", &self.0].into_iter().chain(command.split(' '));
        Command::new("ip").args(args).output().unwrap()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_kernel_takes_every_script() {
    let Some(namespace) = Namespace::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    for (marking, queues, name) in scripts(dir.path()) {
        for rate in ["10Gbps", "40Gbps"] {
            let script = dir.path().join(&name);
            let output = namespace.run(&format!("sh {} {rate} v0", script.display()));
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let shown = String::from_utf8(namespace.run("tc qdisc show dev v0").stdout).unwrap();
        assert_eq!(shown.contains("qdisc red"), marking != "none", "{name}: {shown}");
        assert_eq!(shown.contains("qdisc ets"), queues > 1, "{name}: {shown}");
    }
    // A rate that was not planned changes nothing.
    let script = dir.path().join("port-8.sh");
    assert_eq!(namespace.run(&format!("sh {} 25Gbps v0", script.display())).status.code(), Some(2));
}
