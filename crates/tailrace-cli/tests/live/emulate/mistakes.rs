//! Mistakes, and lack of rights: one clear message.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::{EmulatedFolder, stderr};

#[test]
fn mistakes_get_one_clear_message_and_change_nothing() {
    let Some(place) = EmulatedFolder::new() else { return };
    let path = place.dir.path().join("star.toml");
    for (words, message) in [
        (
            "emulate star.toml --scheme pfabric --name NAME",
            "star.toml:17: scheme[2].name: is pfabric, whose ports read a header that the TCP of programs cannot carry",
        ),
        (
            "emulate star.toml --scheme tags --name NAME",
            "unknown scheme of this experiment \"tags\"; did you mean \"Tags\"?",
        ),
        ("emulate star.toml --name a/b", "\"a/b\" cannot be a name: it must have 1 to 32 letters"),
        ("emulate star.toml --for soon", "soon"),
        ("emulate star.toml --for 0s", "must be more than no time, such as 10s"),
        ("proxy star.toml --servers 1,four", "must be hosts' numbers, such as 4,5,6: h4 has number 4"),
        ("emulate star.toml --clean", "cannot be used with"),
        ("emulate missing.toml", "missing.toml"),
        ("emulate", "<FILE>"),
        ("enter NAME/h0", "emulation"),
    ] {
        let output = place.output(words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains(&message.replace("NAME", &place.name)), "{words}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        place.assert_no_traces();
    }
    let no_ip =
        place.command("emulate star.toml --name NAME").env("PATH", place.dir.path()).output().unwrap();
    assert!(stderr(&no_ip).contains("`ip` of iproute2 cannot be started"), "{}", stderr(&no_ip));
    place.assert_no_traces();
    assert!(path.exists());
}

#[test]
fn without_root_it_says_so() {
    let Some(place) = EmulatedFolder::new() else { return };
    let open = |path: &Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    // Somebody else must be able to read the file and the program, and to write results.
    open(place.dir.path(), 0o777);
    let program = place.dir.path().join("tailrace");
    fs::copy(env!("CARGO_BIN_EXE_tailrace"), &program).unwrap();
    open(&program, 0o755);
    let needs = |who: &str| format!("error: {who} needs root, for hosts are network namespaces");
    for (words, message) in [
        ("emulate star.toml", needs("tailrace emulate")),
        ("emulate --clean", needs("tailrace emulate --clean")),
        ("enter h0", needs("tailrace enter")),
        ("run star.toml --level live --only dctcp --out out", needs("a live run")),
        // A proxy needs none, but a host.
        (
            "proxy star.toml --servers 1",
            "error: no interface here has an address of one of the 3 hosts".into(),
        ),
    ] {
        let setpriv = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        let command = Command::new("setpriv")
            .args(setpriv)
            .arg(&program)
            .args(words.split_whitespace())
            .current_dir(place.dir.path())
            .output();
        let Ok(output) = command else {
            tailrace_linux::skip_test("becoming somebody else needs setpriv");
            return;
        };
        let said = stderr(&output);
        // How late it may be, and what it costs, is said before.
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("note: ")).collect();
        assert!(lines.len() == 1 && lines[0].starts_with(&message), "{words}: {said}");
        assert_ne!(output.status.code(), Some(0), "{words}");
    }
}
