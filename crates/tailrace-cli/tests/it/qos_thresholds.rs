//! Marking thresholds that no switch can have are refused by `tailrace qos`, and nothing is written.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const FILE: &str = r#"[fabric]
kind = "star"
hosts = 4
host_rate = "10Gbps"
delay = "1us"
buffer = "360KB"
[workload]
sizes = "web-search"
load = 0.5
flows = 20
[[scheme]]
name = "dctcp"
label = "deep"
"#;

fn qos(dir: &Path, options: &str) -> Output {
    let options = options.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_tailrace")).arg("qos").args(options).current_dir(dir).output().unwrap()
}

/// The options for K with a scheme's name, and with a file.
fn with_threshold(threshold: &str) -> [String; 2] {
    let set = |label| format!("--set scheme.{label}.params.port.marking_threshold={threshold} --out k");
    [format!("--scheme dctcp --rates 1Gbps {}", set("dctcp")), format!("x.toml {}", set("deep"))]
}

#[test]
fn thresholds_outside_of_what_a_switch_can_hold_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), FILE).unwrap();
    let formats = [
        ("sonic", "4294967295 bytes, from a full packet to what SAI's 32 bits hold"),
        ("linux-tc", "67108864 bytes, from a full packet to 64 MiB"),
        ("json", "18446744073709551615 bytes"),
    ];
    for (format, most) in formats {
        for (threshold, bytes) in [("1B", "1"), ("1499B", "1499"), ("5GB", "5000000000")] {
            if format == "json" && threshold == "5GB" {
                continue; // Nothing is known of the switch.
            }
            let [named, _] = with_threshold(threshold);
            let output = qos(dir.path(), &format!("{named} --format {format}"));
            let text = String::from_utf8_lossy(&output.stderr);
            let said = format!(
                "error: scheme.dctcp.params.port.marking_threshold: {bytes} bytes at 1Gbps, but {format} takes 1500 to {most}"
            );
            assert!(output.status.code() == Some(2) && text.starts_with(&said), "{said:?} is not in: {text}");
            assert_eq!(text.lines().count(), 1, "{text}");
        }
        let [_, filed] = with_threshold("361KB");
        let text = String::from_utf8(qos(dir.path(), &format!("{filed} --format {format}")).stderr).unwrap();
        let said = "error: scheme.deep.params.port.marking_threshold: 361000 bytes at 10Gbps";
        assert!(text.starts_with(said) && text.contains("to 360000 bytes"), "{text}");
        assert!(text.contains("the file's fabric.buffer"), "{text}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "something was written");
}

#[test]
fn thresholds_at_the_ends_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), FILE).unwrap();
    for format in ["sonic", "linux-tc", "json"] {
        let [least, _] = with_threshold("1500B");
        let [_, most] = with_threshold("360KB");
        for options in [least, most] {
            let output = qos(dir.path(), &format!("{options} --format {format}"));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn a_threshold_of_another_rate_is_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let notes = |rates: &str| {
        let kinds = "--known web-search --known-load 0.5";
        let output = qos(dir.path(), &format!("--scheme karuna {kinds} --format json --rates {rates}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // Karuna's are for 10 and 40 Gbps.
    assert!(!notes("10Gbps,40Gbps").contains("marking threshold"));
    let said = notes("1Gbps,25Gbps,100Gbps");
    for (rate, given) in [("1Gbps", "10Gbps"), ("25Gbps", "10Gbps"), ("100Gbps", "40Gbps")] {
        let note = format!("note: there is no marking threshold for {rate}: that of {given} is taken");
        assert!(said.contains(&note), "{said}");
    }
}
