//! `tailrace qos` from kinds of flows: the same thresholds as `tailrace thresholds`, and as from a file.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const KINDS: &str =
    "--deadline-load 0.15 --known rpc.cdf --known-load 0.3 --unknown web-search --unknown-load 0.15";

/// The same flows in a file.
const FILE: &str = r#"[fabric]
kind = "star"
hosts = 16
host_rate = "10Gbps"
delay = "1us"
buffer = "1MB"
[workload]
load = 0.6
flows = 100
[[workload.rule]]
sizes = { fixed = "10KB" }
byte_share = 0.25
deadline = { fixed = "20ms" }
[[workload.rule]]
sizes = { file = "rpc.cdf" }
byte_share = 0.5
[[workload.rule]]
sizes = "web-search"
byte_share = 0.25
reveals = "nothing"
[[scheme]]
name = "karuna"
params = { port = { queues = 6 } }
"#;

fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rpc.cdf"), "500 0\n2000 0.5\n100000 1\n").unwrap();
    fs::write(dir.path().join("x.toml"), FILE).unwrap();
    dir
}

fn tailrace(dir: &Path, options: &str) -> Output {
    let options = options.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_tailrace")).args(options).current_dir(dir).output().unwrap()
}

fn document(dir: &Path, options: &str) -> Value {
    let output = tailrace(dir, options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The thresholds of a kind, in the words of a plan, one a level.
fn levels(document: &Value, field: &str) -> Vec<String> {
    let bytes = document[field].as_array().unwrap().iter().map(|bytes| bytes.as_u64().unwrap());
    bytes.map(|bytes| tailrace_core::Bytes::new(bytes).to_string()).collect()
}

#[test]
fn one_command_gives_the_thresholds_of_the_other() {
    let dir = prepared();
    let plan =
        document(dir.path(), &format!("qos --scheme karuna {KINDS} --queues 6 --rates 10Gbps --format json"));
    assert_eq!(plan["queues"], document(dir.path(), "qos x.toml --format json")["queues"]);
    let thresholds = document(dir.path(), &format!("thresholds --scheme karuna {KINDS} --queues 6 --json"));
    for (field, words) in [("splitting_bytes", "known sizes: "), ("sieving_bytes", "unknown sizes: ")] {
        for (queue, bytes) in levels(&thresholds, field).iter().enumerate() {
            let holds = plan["queues"][queue + 1]["holds"].as_str().unwrap();
            let part = holds.split("; ").find(|part| part.starts_with(words)).unwrap();
            // A threshold that repeats the one before it leaves the level to the other kind.
            let empty = part.ends_with("none") || part.ends_with("nothing");
            assert!(part.contains(bytes) || empty, "{bytes} is not in {part:?}");
        }
    }
}

#[test]
fn a_kind_that_is_not_there_is_left_out() {
    let dir = prepared();
    for kinds in [
        "--known rpc.cdf --known-load 0.3",
        "--unknown web-search --unknown-load 0.3 --deadline-load 0.1",
        "--known rpc.cdf --known-load 0 --unknown web-search --unknown-load 0.3",
    ] {
        let options = format!("qos --scheme karuna {kinds} --rates 10Gbps --format json");
        assert_eq!(document(dir.path(), &options)["queues"].as_array().unwrap().len(), 8);
    }
}

#[test]
fn kinds_say_which_option_is_wrong() {
    let dir = prepared();
    let known = "--known rpc.cdf --known-load 0.3";
    for (options, said) in [
        ("--scheme karuna --known rpc.cdf".to_owned(), "--known-load: missing"),
        ("--scheme karuna --known-load 0.3".to_owned(), "--known: missing"),
        ("--scheme karuna --deadline-load 0.3".to_owned(), "--known: missing: give --known and --known-load"),
        ("--scheme karuna --unknown web-serch --unknown-load 0.3".to_owned(), "did you mean \"web-search\"?"),
        (format!("--scheme karuna {known} --deadline-load nan"), "--deadline-load: NaN must be at least 0"),
        (format!("--scheme karuna {known} --deadline-load 0.7"), "they are 1.00 together"),
        (format!("--scheme karuna {known} --sizes web-search"), "--sizes: is for flows that are all alike"),
        (format!("--scheme karuna {known} --load 0.3"), "--load: is for flows that are all alike"),
        (format!("--scheme pias {known}"), "--known: means nothing for pias, which tells no kinds of flows"),
        (format!("x.toml {known}"), "--known: the experiment file says this"),
    ] {
        let rates = if options.starts_with('x') { "" } else { "--rates 10Gbps" };
        let output = tailrace(dir.path(), &format!("qos {options} {rates} --format json --out k.json"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(said), "{said:?} is not in: {text}");
        assert!(text.lines().count() == 1 && !dir.path().join("k.json").exists(), "{text}");
    }
}

/// Each `tailrace qos` of the guide that writes a script, and the table of queues that it shows of it.
#[test]
fn the_guide_shows_the_queues_of_its_scripts() {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let guide = fs::read_to_string(guides.join("switch-queues.md")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for name in ["queries.cdf", "reads.cdf"] {
        fs::copy(guides.join(name), dir.path().join(name)).unwrap();
    }
    let joined = guide.replace("\\\n", " ");
    let commands: Vec<&str> = joined
        .lines()
        .filter(|line| line.starts_with("tailrace qos ") && line.contains("linux-tc"))
        .collect();
    assert_eq!(commands.len(), 2);
    for command in commands {
        let program = env!("CARGO_BIN_EXE_tailrace");
        let script = command.replacen("tailrace", program, 1);
        let output = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let file = command.rsplit(' ').next().unwrap();
        let text = fs::read_to_string(dir.path().join(file)).unwrap();
        let rows =
            text.lines().skip_while(|line| !line.starts_with("# queue")).take_while(|line| *line != "#");
        for row in rows {
            assert!(guide.contains(&format!("{row}\n")), "the guide does not show, for {command}:\n{row}");
        }
    }
}
