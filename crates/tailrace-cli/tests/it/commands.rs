//! The commands as a user calls them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::process::{Command, Output};

use crate::below::files_below;

fn tailrace(dir: &std::path::Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tailrace")).args(args).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const SWEEP: &str = r#"title = "two schemes, two loads"
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
spine_rate = "40Gbps"
delay = "1us"
buffer = "360KB"
[workload]
sizes = "web-search"
load = 0.5
flows = 60
[[scheme]]
name = "dctcp"
[[scheme]]
name = "awafs"
params = { period = "1ms", window = "2ms" }
[sweep]
"workload.load" = [0.3, 0.8]
[[expect]]
text = "every flow finishes"
number = { metric = "unfinished", of = "awafs" }
max = 0
"#;

#[test]
fn results_do_not_depend_on_how_many_runs_are_made_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    for jobs in ["1", "4"] {
        stdout(&tailrace(dir.path(), &["run", "x.toml", "--jobs", jobs, "--out", jobs]));
    }
    let read = |jobs: &str, name: &str| fs::read(dir.path().join(jobs).join(name)).unwrap();
    for name in
        ["summary.csv", "summary.parquet", "means.csv", "means.parquet", "claims.json", "experiment.toml"]
    {
        assert_eq!(read("1", name), read("4", name), "{name}");
    }
    for run in fs::read_dir(dir.path().join("1/runs")).unwrap().flatten() {
        for file in fs::read_dir(run.path()).unwrap().flatten() {
            let other = dir.path().join("4/runs").join(run.file_name()).join(file.file_name());
            assert_eq!(fs::read(file.path()).unwrap(), fs::read(&other).unwrap(), "{}", other.display());
        }
    }
}

/// However many threads a run is given, more than there are parts and processors too: not a byte of its folder differs,
/// and what cannot be cut says why.
#[test]
fn results_do_not_depend_on_the_threads_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    let folder_of = |file: &str, threads: &str| {
        let out = format!("{file}-{threads}");
        let said = tailrace(dir.path(), &["run", file, "--threads", threads, "--out", &out]);
        stdout(&said);
        let told = String::from_utf8_lossy(&said.stderr);
        assert!(!told.contains("on one thread") || told.contains("there is one processor"), "{said:?}");
        files_below(&dir.path().join(out))
    };
    let folder = |threads: &str| folder_of("x.toml", threads);
    let one = folder("1");
    assert!(one.len() > 10, "{:?}", one.keys());
    for threads in ["2", "3", "4", "7", "0", "100"] {
        assert!(one == folder(threads), "{threads} threads");
    }
    let said = tailrace(dir.path(), &["run", "x.toml", "--threads", "100", "--fresh", "--out", "100"]);
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(
        told.contains(", since there ") || told.contains(", since the fabric has no more parts"),
        "{told}"
    );
    let star = SWEEP.replace("kind = \"leaf-spine\"", "kind = \"star\"\nhosts = 4");
    let left_out = ["leaves", "spines", "hosts_per_leaf", "spine_rate"];
    let lines = star.lines().filter(|line| !left_out.iter().any(|field| line.starts_with(field)));
    let star = lines.collect::<Vec<_>>().join("\n");
    let near = star.replace("delay = \"1us\"", "delay = \"0s\"");
    fs::write(dir.path().join("near.toml"), near).unwrap();
    let said = tailrace(dir.path(), &["run", "near.toml", "--threads", "2"]);
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(told.contains("on one thread, since so little goes on"), "{told}");
    assert_eq!(told.matches("dctcp on one thread").count(), 1, "once for all runs: {told}");
    let star = star.replace("delay = \"1us\"", "delay = \"20us\"");
    fs::write(dir.path().join("star.toml"), &star).unwrap();
    assert!(folder_of("star.toml", "2") == folder_of("star.toml", "1"), "one rack");
    fs::write(
        dir.path().join("shared.toml"),
        star.replace("buffer = \"360KB\"", "shared_buffer = { total = \"1MB\", alpha = 1.0 }"),
    )
    .unwrap();
    let said = tailrace(dir.path(), &["run", "shared.toml", "--threads", "2"]);
    stdout(&said);
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(
        told.contains(
            "on one thread, since the fabric has one rack, and the ports of a switch share its memory"
        ),
        "{told}"
    );
}

/// What is built in is the repository's, and is run again only as far as it is not there.
#[test]
fn the_demo_needs_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let first = tailrace(dir.path(), &["demo", "--scale", "0.002"]);
    assert!(first.status.success(), "{first:?}");
    let file = dir.path().join("tailrace-demo").join("demo.toml");
    let ours = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/demo.toml");
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(ours).unwrap());
    assert!(
        stdout(&first).contains("AWAFS") && stdout(&first).contains("tailrace-demo/results"),
        "{first:?}"
    );
    assert_eq!(stdout(&tailrace(dir.path(), &["demo", "--scale", "0.002"])), stdout(&first));
    std::fs::write(&file, "title = \"mine\"\n").unwrap();
    let refused = tailrace(dir.path(), &["demo", "--scale", "0.002"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("is not what `tailrace demo` writes"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "title = \"mine\"\n");
}

#[test]
fn json_is_one_document() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    let text = stdout(&tailrace(dir.path(), &["run", "x.toml", "--json"]));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["runs"].as_array().map(Vec::len), Some(4));
    assert!(document["runs"][0]["summary"]["classes"][0]["fct_mean_us"].is_f64());
}

#[test]
fn check_exits_zero_only_if_all_holds() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    fs::write(dir.path().join("y.toml"), SWEEP.replace("max = 0", "min = 1")).unwrap();
    let text = stdout(&tailrace(dir.path(), &["check", "x.toml"]));
    assert!(
        text.contains("all runs (4) made twice, equal digests")
            && text.contains("holds: every flow finishes"),
        "{text}"
    );
    let output = tailrace(dir.path(), &["check", "x.toml", "y.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("✗ FAILS: every flow finishes (0; expected at least 1)"), "{text}");
}

#[test]
fn flow_lists_replay_the_same_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    let start = SWEEP.find("[workload]").unwrap();
    let end = SWEEP.find("[[scheme]]").unwrap();
    let sweep = SWEEP.find("[sweep]").unwrap();
    let fct = |text: &str| {
        let document: serde_json::Value = serde_json::from_str(text).unwrap();
        document["runs"][0]["summary"]["classes"][0]["fct_mean_us"].as_f64().unwrap()
    };
    let first = fct(&stdout(&tailrace(dir.path(), &["run", "x.toml", "--json"])));
    for list in ["flows.csv", "flows.parquet"] {
        stdout(&tailrace(dir.path(), &["flows", "x.toml", "--out", list]));
        let text = format!("{}[workload]\nflow_list = \"{list}\"\n{}", &SWEEP[..start], &SWEEP[end..sweep]);
        let name = format!("{list}.toml");
        fs::write(dir.path().join(&name), text).unwrap();
        let replayed =
            fct(&stdout(&tailrace(dir.path(), &["run", &name, "--json", "--out", &format!("of-{list}")])));
        assert!((replayed / first - 1.0).abs() < 1e-6, "{list}: {replayed} against {first}");
    }
}

#[test]
fn catalogues_and_thresholds_speak() {
    let dir = tempfile::tempdir().unwrap();
    for name in tailrace_schemes::NAMES {
        let text = stdout(&tailrace(dir.path(), &["schemes", name]));
        assert!(text.contains("parameters") && text.contains("source:"), "{text}");
    }
    // A field that has several forms shows them all.
    let text = stdout(&tailrace(dir.path(), &["schemes", "pias"]));
    for form in ["\"optimal\"", "{ published = \"web-search\" }", "[\"10KB\", \"100KB\"]"] {
        assert!(text.contains(form), "{form} is not in\n{text}");
    }
    for list in ["schemes", "workloads", "fabrics"] {
        let text = stdout(&tailrace(dir.path(), &[list, "--json"]));
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(document.as_array().is_some_and(|all| all.len() > 3), "{text}");
    }
    let text =
        stdout(&tailrace(dir.path(), &["thresholds", "--sizes", "web-search", "--load", "0.8", "--json"]));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["thresholds_bytes"].as_array().map(Vec::len), Some(7));
}

#[test]
fn thresholds_for_deadlines_and_known_sizes() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rpc.cdf"), "500 0\n2000 0.5\n100000 1\n").unwrap();
    let mut options = "thresholds --scheme karuna --deadline-load 0.2 --known rpc.cdf --known-load 0.1 \
                       --unknown web-search --unknown-load 0.3 --queues 4"
        .split_whitespace()
        .collect::<Vec<_>>();
    let text = stdout(&tailrace(dir.path(), &options));
    let rows: Vec<&str> = text.lines().filter(|line| line.ends_with('%')).collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert!(rows[0].contains("deadlines only") && rows[0].contains("33.3 %"), "{text}");
    assert!(rows[1].contains("up to") && rows[3].contains("above"), "{text}");

    options.push("--json");
    let document: serde_json::Value = serde_json::from_str(&stdout(&tailrace(dir.path(), &options))).unwrap();
    let numbers = |field: &str| -> Vec<f64> {
        document[field].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    assert_eq!(numbers("dscp"), [7.0, 6.0, 5.0, 4.0]);
    assert!((numbers("share_of_bytes").iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert_eq!((numbers("splitting_bytes").len(), numbers("sieving_bytes").len()), (2, 2));
    assert!(document["mean_bytes_of_link_time"].as_f64() < document["mean_with_one_queue"].as_f64());
}

#[test]
fn the_guide_to_switch_queues_shows_what_the_command_prints() {
    let guides = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let guide = fs::read_to_string(guides.join("switch-queues.md")).unwrap();
    let joined = guide.replace("\\\n", " ");
    let commands = joined.lines().filter_map(|line| line.strip_prefix("tailrace thresholds "));
    let mut count = 0;
    for command in commands {
        let args: Vec<&str> = ["thresholds"].into_iter().chain(command.split_whitespace()).collect();
        let text = stdout(&tailrace(&guides, &args));
        assert!(guide.contains(&text), "the guide does not show, for {command}:\n{text}");
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn a_capture_holds_every_packet_of_its_port() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    let both = ["--pcap", "leaf0->host1", "--pcap", "host1->leaf0"];
    stdout(&tailrace(dir.path(), &[&["run", "x.toml"][..], &both].concat()));
    for run in fs::read_dir(dir.path().join("out/x/runs")).unwrap().flatten() {
        for port in ["leaf0->host1", "host1->leaf0"] {
            let file = format!("{}.pcap", port.replace("->", "-"));
            let capture = fs::read(run.path().join(file)).unwrap();
            assert_eq!(capture[..4], 0xA1B2_3C4Du32.to_be_bytes(), "nanosecond pcap");
            // 24 bytes of file header; each record has 16 of its own and 54 stored.
            assert_eq!((capture.len() - 24) % 70, 0);
            let sent = sent_packets(&run.path().join("ports.parquet"), port);
            assert_eq!((capture.len() - 24) / 70, sent as usize);
        }
    }
    let output = tailrace(dir.path(), &["run", "x.toml", "--pcap", "nowhere", "--out", "other"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--pcap") && !dir.path().join("other").exists());
}

fn sent_packets(ports: &std::path::Path, name: &str) -> u64 {
    use arrow_array::cast::AsArray;
    let batch = tailrace_experiment::read_parquet(ports).unwrap().remove(0);
    let names = batch.column_by_name("name").unwrap().as_string::<i32>();
    let row = (0..batch.num_rows()).find(|&row| names.value(row) == name).unwrap();
    batch.column_by_name("sent_packets").unwrap().as_primitive::<arrow_array::types::UInt64Type>().value(row)
}

#[test]
fn what_a_killed_run_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    stdout(&tailrace(dir.path(), &["run", "x.toml"]));
    let out = dir.path().join("out/x");
    fs::write(out.join(".tmp-0123.pcap"), "half").unwrap();
    fs::create_dir(out.join("runs/.tmp-0123")).unwrap();
    stdout(&tailrace(dir.path(), &["run", "x.toml"]));
    for folder in [out.clone(), out.join("runs")] {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.map(|name| name.to_string_lossy().into_owned()).all(|name| !name.starts_with(".tmp-")));
    }
}

#[test]
fn the_list_of_schemes_tells_at_which_levels_they_exist() {
    let here = std::path::Path::new(".");
    let list: serde_json::Value =
        serde_json::from_str(&stdout(&tailrace(here, &["schemes", "--json"]))).unwrap();
    let is_of_both = |entry: &&serde_json::Value| entry["levels"] == serde_json::json!(["packet", "flow"]);
    let of_both = list.as_array().unwrap().iter().filter(is_of_both);
    let of_both: Vec<&str> = of_both.map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(of_both, ["qjump", "mlfq", "pias", "karuna", "pfabric", "rcp", "baraat", "uranus"]);
    let one = stdout(&tailrace(here, &["schemes", "stf"]));
    assert!(one.contains("levels: flow\n") && one.contains("parameters (scheme.params): none\n"), "{one}");
}

#[test]
fn a_reader_who_has_read_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tailrace"))
        .args(["schemes", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(141), vec![]));
}

#[test]
fn runs_that_measure_nothing_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), format!("{SWEEP}\n[measure]\nwarmup = \"100s\"\n")).unwrap();
    let warned = |warmup: &str| {
        let set = format!("measure.warmup=\"{warmup}\"");
        let output = tailrace(dir.path(), &["run", "x.toml", "--set", &set]);
        String::from_utf8_lossy(&output.stderr).contains("warning: 4 of 4 runs have measured nothing")
    };
    assert_eq!((warned("100s"), warned("0s")), (true, false));
}

/// One claim that holds, one that is declared, one that nobody has measured; then the first is made to judge nothing.
#[test]
fn claims_are_listed_and_checked_by_what_they_say_of_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let claims = |wrong: &str| {
        format!(
            r#"{SWEEP}
[[claim]]
id = "all end"
source = "figure 1"
paper = 0
tolerance = 0
wrong = "{wrong}"
number = {{ metric = "unfinished", of = "awafs" }}
measured = {{ value = 0, wrong = 7, scale = 1 }}
[[claim]]
id = "shorter"
source = "figure 2"
paper = "lower"
number = {{ metric = "fct_p99_us", of = "dctcp", against = "dctcp" }}
measured = {{ value = 0, scale = 1 }}
deviation = {{ within = [-0.01, 0.01], reason = "it is the same" }}
[[claim]]
id = "far off"
source = "figure 3"
paper = 1e9
tolerance = 1
number = {{ metric = "fct_p99_us", of = "dctcp" }}
"#
        )
    };
    fs::write(dir.path().join("x.toml"), claims("dctcp")).unwrap();
    let text = stdout(&tailrace(dir.path(), &["claims", "x.toml"]));
    for said in [
        "all end: paper 0, here 0 at scale 1: holds, as in the paper",
        "shorter: paper lower, here 0 at scale 1: deviates, no change here",
        "far off: paper 1000000000, not measured",
        "1 hold, 0 in shape, 1 deviate, 0 undecided, 1 not measured",
    ] {
        assert!(text.contains(said), "{said:?} is not in:\n{text}");
    }
    let document = stdout(&tailrace(dir.path(), &["claims", "x.toml", "--json"]));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document[1]["verdict"]["standing"], "deviates");
    let checked = tailrace(dir.path(), &["check", "x.toml"]);
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{text}");
    for said in [
        "✗ claim all end: paper 0, here 0: as in the paper; judges nothing, since dctcp passes too",
        "≠ claim shorter: paper lower, here 0: no change here; DEVIATION: it is the same",
        "does not hold, and no deviation is declared",
        "shortfalls: 2",
    ] {
        assert!(text.contains(said), "{said:?} is not in:\n{text}");
    }
}

#[test]
fn a_dry_run_says_what_would_be_run_and_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), SWEEP).unwrap();
    let dry = || stdout(&tailrace(dir.path(), &["run", "x.toml", "--jobs", "2", "--dry-run"]));
    let said = dry();
    assert!(
        said.contains("  4 runs: 2 of each of ") && said.contains("; 0 are in out/x already\n"),
        "{said}"
    );
    assert!(said.contains("packet-hops in all, ") && said.contains(" on 2 cores at 12 million"), "{said}");
    assert!(said.contains(" MB of results from "), "{said}");
    assert!(!dir.path().join("out").exists());
    stdout(&tailrace(dir.path(), &["run", "x.toml"]));
    assert!(dry().contains("; 4 are in out/x already\n"), "{}", dry());
}

#[test]
fn a_dry_run_knows_the_threads_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let lone = "[fabric]\npreset = \"spine144\"\n[[scheme]]\nname = \"dctcp\"\n\
                [workload]\nsizes = \"web-search\"\nload = 0.6\nflows = 20000\n";
    fs::write(dir.path().join("x.toml"), lone).unwrap();
    let seconds = |options: &[&str], on: &str| {
        let said = stdout(&tailrace(dir.path(), &[&["run", "x.toml", "--dry-run"], options].concat()));
        let cost = said.split("packet-hops in all, ").nth(1).unwrap_or_else(|| panic!("{said}"));
        assert!(cost.contains(on), "{said}");
        cost.split(' ')
            .next()
            .and_then(|number| number.parse::<f64>().ok())
            .unwrap_or_else(|| panic!("{said}"))
    };
    let one = seconds(&["--threads", "1"], " s on one core at 12 million a second\n");
    if std::thread::available_parallelism().is_ok_and(|there_are| there_are.get() > 1) {
        let two = seconds(
            &["--threads", "2"],
            " on 2 cores at 12 million a second, 0.8 times that where they share",
        );
        assert!((one / two - 1.6).abs() < 0.1, "{one} {two}");
        assert_eq!(seconds(&[], " on 2 cores"), two);
        // What has no processors does not help.
        if std::thread::available_parallelism().is_ok_and(|there_are| there_are.get() == 2) {
            assert_eq!(seconds(&["--threads", "2", "--jobs", "8"], " on 2 cores"), two);
        }
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let help = stdout(&tailrace(dir.path(), &["--help"]));
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> =
        names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(names.contains(&"run") && names.contains(&"new-scheme"), "{names:?}");
    stdout(&tailrace(dir.path(), &["man", "pages"]));
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&tailrace(dir.path(), &["completions", shell]));
        for name in &names {
            assert!(script.contains(name), "{shell}: {name}");
            let page = fs::read_to_string(dir.path().join(format!("pages/tailrace-{name}.1"))).unwrap();
            assert!(page.contains(".SH NAME"), "{name}");
        }
    }
}
