//! Files that are none, and text that would do something to a terminal.

use std::process::Command;

use crate::mistakes::place::{ExperimentFolder, FABRIC, refused, rule, said_of, scheme, stderr};

fn experiment(title: &str, name: &str) -> String {
    format!("title = \"{title}\"\n{FABRIC}{}{}", rule(""), scheme(name, ""))
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_not_read() {
    let place = ExperimentFolder::with(&experiment("small", "dctcp"));
    let said = Command::new("mkfifo").arg(place.path("pipe.toml")).status().unwrap();
    assert!(said.success());
    for name in ["pipe.toml", "/dev/zero"] {
        let message = place.mistake(&["run", name]);
        assert!(message.contains("it is a pipe or a device, but must be a regular file"), "{message}");
    }
    assert!(place.mistake(&["run", "."]).contains("it is a folder"));
    let within = |field: &str| format!("{FABRIC}[workload]\n{field}\n{}", scheme("dctcp", ""));
    for field in [
        "sizes = { file = \"/dev/zero\" }\nload = 0.5\nflows = 5",
        "flow_list = \"/dev/zero\"",
        "coflow_trace = \"/dev/zero\"",
    ] {
        refused(&within(field), &["workload.", "/dev/zero", "it is a pipe or a device"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_path_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let place = ExperimentFolder::new();
    let name = std::ffi::OsStr::from_bytes(b"r\xe9sum\xe9.toml");
    std::fs::write(place.dir().join(name), experiment("small", "dctcp")).unwrap();
    let run = |name: &std::ffi::OsStr| {
        Command::new(env!("CARGO_BIN_EXE_tailrace"))
            .arg("run")
            .arg(name)
            .current_dir(place.dir())
            .output()
            .unwrap()
    };
    let output = run(name);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = run(std::ffi::OsStr::from_bytes(b"nowhere\xff\x1b[31m.toml"));
    let message = stderr(&output);
    assert!(output.status.code() == Some(2) && message.contains("cannot be read"), "{message}");
    assert!(!message.contains('\u{1b}') && message.contains("\\u001b[31m"), "{message}");
}

#[test]
fn titles_are_shown_and_not_obeyed() {
    let labelled = scheme("dctcp", "label = \"a\\u001b[2Jb\"");
    let text = format!("title = \"red \\u001b[31m and \\u0007bell\"\n{FABRIC}{}{labelled}", rule(""));
    let output = ExperimentFolder::with(&text).run(&["run", "x.toml"]);
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(said.contains("red \\u001b[31m and \\u0007bell") && said.contains("a\\u001b[2Jb"), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{7}']), "{said}");
    refused(&experiment("small", "x\\u001b[31m"), &["unknown scheme \"x\\u001b[31m\""]);
}

#[test]
fn names_of_megabytes_are_shortened() {
    let long = "x".repeat(1 << 20);
    let message = said_of(&experiment("small", &long));
    assert!(
        message.len() < 4_000 && message.contains("unknown scheme") && message.contains("characters) …"),
        "{message}"
    );
    let message = said_of(&format!("{FABRIC}{long} = 1\n"));
    assert!(message.len() < 4_000, "{message:.300}");
    refused(&experiment(&long, "dctcp"), &["title: has 1048576 characters, but may have 300 at most"]);
}

/// Code that calls itself for each level would leave its stack.
#[test]
fn deep_files_are_refused() {
    for depth in [1_000, 100_000] {
        for (open, close) in [("[", "]"), ("{ a = ", "}")] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            refused(&format!("{FABRIC}host_delay = {deep}\n"), &["x.toml:7"]);
        }
        refused(&format!("[a{}]\n", ".a".repeat(depth)), &[]);
    }
}

#[test]
fn capitals_are_a_slip() {
    refused(&experiment("small", "DCTCP"), &["unknown scheme \"DCTCP\"; did you mean \"dctcp\"?"]);
}
