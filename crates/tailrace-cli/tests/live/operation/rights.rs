//! What an agent may do once it is attached, and that there is one of them.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::agents::*;
use crate::common::*;

const NOTHING: &str = "0000000000000000";

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim()
}

#[test]
fn it_goes_on_without_rights_and_still_changes_its_tables_and_learns() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    let write = |scheme: &str| {
        fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n[scheme]\n{scheme}\n")).unwrap();
    };
    write("name = \"mlfq\"");
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    // A scheme that hears of flows, which the first one need not.
    write("name = \"awafs\"\nparams = { placement = \"host\", period = \"100ms\" }");
    signal(&agent, Signal::SIGHUP);
    wait_for(&mut agent, "read again; flows go on");
    let process = format!("/proc/{}", agent.id());
    let nobody = ["65534"; 4].join("\t");
    for thread in fs::read_dir(format!("{process}/task")).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        assert_eq!(["Uid", "Gid"].map(|name| field(&status, name)), [nobody.as_str(); 2]);
        assert_eq!(["CapPrm", "CapEff", "CapAmb"].map(|name| field(&status, name)), [NOTHING; 3]);
    }
    let status = fs::read_to_string(format!("{process}/status")).unwrap();
    assert_eq!(field(&status, "NoNewPrivs"), "1");
    signal(&agent, Signal::SIGTERM);
    assert!(agent.wait().unwrap().success());
}

#[test]
fn a_file_that_its_user_cannot_read_is_noted() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o700)).unwrap();
    let file = place.path().join("agent.toml");
    fs::write(&file, "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"mlfq\"\n").unwrap();
    let mut agent = start(&a, &["agent", text(&file)], "note: user nobody cannot read");
    signal(&agent, Signal::SIGHUP);
    wait_for(&mut agent, "the agent goes on as before");
    signal(&agent, Signal::SIGKILL);
    agent.wait().unwrap();
}

#[test]
fn an_interface_has_one_agent() {
    let Some(Pair { a, b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    fs::write(&file, "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"mlfq\"\n").unwrap();
    let arguments = ["agent", text(&file)];
    let mut first = start(&a, &arguments, "read its file again");
    let refused = |expected: &str| {
        let output = a.inside(|| tailrace(&arguments).output()).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), errors.lines().count()), (Some(1), 1), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    };
    refused(&format!("error: interface eth0 has an agent already, process {}:", first.id()));
    // An interface of this name on another machine is another one.
    let mut other = start(&b, &arguments, "read its file again");
    for agent in [&mut first, &mut other] {
        signal(agent, Signal::SIGKILL);
        agent.wait().unwrap();
    }
    // The first one's name went with it, and the next one takes it; unless somebody else does.
    let mut next = start(&a, &arguments, "read its file again");
    signal(&next, Signal::SIGTERM);
    let mut rest = String::new();
    next.stderr.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert!(next.wait().unwrap().success(), "{rest}");
    let squat = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0tailrace/agent/eth0')\ns.listen()\n\
                 print('held', file=sys.stderr)\nsys.stdin.read()\n";
    let python = || {
        let mut python = Command::new("python3");
        python.args(["-c", squat]).uid(65534).gid(65534).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let mut squatter = a.inside(python).unwrap();
    wait_for(&mut squatter, "held");
    refused(&format!("process {} of user 65534 holds the agent's name", squatter.id()));
    drop(squatter.stdin.take());
    squatter.wait().unwrap();
}
