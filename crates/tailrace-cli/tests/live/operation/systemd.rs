//! An agent under systemd: what it tells, and that the unit's rights suffice.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::agents::*;
use crate::common::*;

const UNIT: &str = include_str!("../../../../../examples/systemd/tailrace-agent@.service");

fn setting(name: &str) -> &'static str {
    UNIT.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap()
}

#[test]
fn it_tells_systemd_how_it_is_with_the_rights_of_the_unit() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let (file, socket) = (place.path().join("eth0.toml"), place.path().join("notify"));
    fs::write(&file, "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"mlfq\"\n").unwrap();
    let systemd = UnixDatagram::bind(&socket).unwrap();
    systemd.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let told = || {
        let mut bytes = [0; 256];
        let count = systemd.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let rights: Vec<String> = setting("CapabilityBoundingSet")
        .split(' ')
        .map(|name| format!("+{}", name[4..].to_lowercase()))
        .collect();
    let mut words = setting("ExecStart").split(' ');
    assert_eq!(words.next(), Some("/usr/local/bin/tailrace"));
    let arguments: Vec<String> =
        words.map(|word| word.replace("/etc/tailrace/%I.toml", text(&file))).collect();
    assert_eq!(arguments, ["agent", text(&file)]);
    let spawn = || {
        let mut command = Command::new("setpriv");
        command.arg(format!("--bounding-set=-all,{}", rights.join(","))).arg("--no-new-privs");
        command.arg(env!("CARGO_BIN_EXE_tailrace")).args(&arguments);
        command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "400000");
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    };
    let mut agent = a.inside(spawn).unwrap();
    wait_for(&mut agent, "read its file again");
    assert_eq!([told(), told(), told()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    assert_eq!(setting("ExecReload"), "/bin/kill -HUP $MAINPID");
    signal(&agent, Signal::SIGHUP);
    let after = || std::iter::repeat_with(told).find(|text| text != "WATCHDOG=1").unwrap();
    assert!(after().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(after(), "READY=1");
    // systemd ends one that is silent for longer than it says there.
    signal(&agent, Signal::SIGTERM);
    assert_eq!(after(), "STOPPING=1");
    assert!(agent.wait().unwrap().success());
    // A socket that is gone is one message, before anything is attached.
    fs::remove_file(&socket).unwrap();
    let start = || tailrace(&["agent", text(&file)]).env("NOTIFY_SOCKET", &socket).output();
    let output = a.inside(start).unwrap();
    let said = said(&output);
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("NOTIFY_SOCKET is ") && said.contains("cannot be reached"), "{said}");
}
