//! What is said, and to whom: text of users is shown, and no one need listen.

use std::process::{Command, Stdio};

use crate::mistakes::place::{ExperimentFolder, FABRIC, rule, scheme, stderr};

fn experiment(title: &str, label: &str) -> String {
    let labelled = scheme("dctcp", &format!("label = \"{label}\""));
    format!("title = \"{title}\"\n{FABRIC}{}{labelled}", rule(""))
}

#[test]
fn a_document_stays_one_whatever_titles_hold() {
    let place = ExperimentFolder::with(&experiment("big\\u001b[2J \\u009b3m", "a\\u0007\\u202eb"));
    let output = place.run(&["run", "x.toml", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["title"], "big\u{1b}[2J \u{9b}3m");
}

#[test]
#[cfg(target_os = "linux")]
fn no_one_need_read_standard_error() {
    let place = ExperimentFolder::with(&experiment("t", "a"));
    let status = |args: &[&str], stderr: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace"));
        command
            .args(args)
            .current_dir(place.dir())
            .stdout(Stdio::null())
            .stderr(stderr)
            .status()
            .unwrap()
            .code()
    };
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    assert_eq!(status(&["run", "missing.toml"], full()), Some(2));
    for _ in 0..2 {
        assert_eq!(status(&["run", "x.toml"], full()), Some(0));
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(status(&["run", "x.toml"], writer.into()), Some(0));
}

/// A path in a document that must be UTF-8.
#[test]
#[cfg(target_os = "linux")]
fn a_path_in_json_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let place = ExperimentFolder::with(&experiment("t", "a"));
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace"));
    let output = command
        .args(["run", "x.toml", "--json", "--out"])
        .arg(odd)
        .current_dir(place.dir())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["runs"][0]["folder"].as_str().unwrap().contains('\u{fffd}'), "{document}");
}

#[test]
fn fields_that_are_too_deep_are_refused() {
    let place = ExperimentFolder::with(&experiment("t", "a"));
    let deep = vec!["a"; 20_000].join(".");
    let message = place.mistake(&["run", "x.toml", "--set", &format!("{deep}=1")]);
    assert!(message.contains("at most 32 parts"), "{message}");
}
