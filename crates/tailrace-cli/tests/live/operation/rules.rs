//! Rules of an agent that runs: they come and change when it has no rights any more, and hold with pins when it is gone.

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use tailrace_linux::Namespace;

use crate::agents::*;
use crate::common::*;
use crate::frames::Tap;
use crate::operation::pins::BpfFs;
use crate::teller::{Cgroup, Said, Teller};

const KARUNA: &str = "[scheme]\nname = \"karuna\"\nparams = { thresholds = { splitting = [\"1KB\"], sieving = [\"250KB\"] }, \
                      port = { queues = 3 } }\n";

const AT: &str = "[agent]\ninterface = \"eth0\"\nrate = \"1Gbps\"\n";

fn read_again(agent: &mut std::process::Child) {
    signal(agent, Signal::SIGHUP);
    wait_for(agent, "read again; flows go on");
}

fn json(namespace: &Namespace, question: &str) -> serde_json::Value {
    let output = namespace.inside(|| tailrace(&["agent", question, "--json"]).output()).unwrap();
    serde_json::from_str(&said(&output)).unwrap()
}

fn tell(namespace: &Namespace, cgroup: &Cgroup) -> Result<(), Errno> {
    let mut teller = Teller::start(namespace, cgroup);
    teller.open();
    teller.tell(Said { size: 5_000, ..Said::default() })
}

#[test]
fn a_cgroup_is_heard_from_the_reload_on_that_names_it() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let Some(cgroup) = Cgroup::new("reload") else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    // The agent reads it as nobody.
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let write = |rule: &str| {
        fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n{KARUNA}{rule}")).unwrap();
    };
    write("");
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    assert_eq!(tell(&a, &cgroup), Err(Errno::ENOPROTOOPT), "nobody is heard");
    write(&format!("[[rule]]\ncgroup = \"{}\"\n", text(&cgroup.path)));
    read_again(&mut agent);
    assert_eq!(tell(&a, &cgroup), Ok(()));
    // Many times: rules and policies are two of each, in turn.
    for port in 1..=5 {
        write(&format!("[[rule]]\nport = {port}\nsize = \"1KB\"\n"));
        read_again(&mut agent);
        assert_eq!(tell(&a, &cgroup), Err(Errno::ENOPROTOOPT), "it is named no more");
    }
    write("[[rule]]\ncgroup = \"/\"\n");
    read_again(&mut agent);
    assert_eq!(tell(&a, &cgroup), Ok(()), "the root is above all");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let status = &json(&a, "status")[0];
    assert_eq!((&status["programs_told"], &status["programs_refused"]), (&2.into(), &0.into()));
    signal(&agent, Signal::SIGTERM);
    assert!(agent.wait().unwrap().success());
    assert_eq!(tell(&a, &cgroup), Err(Errno::ENOPROTOOPT), "there is no agent");
}

/// As that of a service that is started again.
#[test]
fn a_cgroup_that_is_made_anew_is_heard_again() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let Some(cgroup) = Cgroup::new("anew") else { return };
    let Some(other) = Cgroup::new("gone") else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let rules: String =
        [&other, &cgroup].map(|of| format!("[[rule]]\ncgroup = \"{}\"\n", text(&of.path))).concat();
    fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n{KARUNA}{rules}")).unwrap();
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    assert_eq!(tell(&a, &cgroup), Ok(()));
    // Two services stop, and one comes back.
    assert!(removed(&other));
    wait_for(&mut agent, "rule[0].cgroup: there is no cgroup");
    assert!(removed(&cgroup));
    fs::create_dir(&cgroup.path).unwrap();
    wait_for(&mut agent, "the rules are of those");
    assert_eq!(tell(&a, &cgroup), Ok(()));
    signal(&agent, Signal::SIGTERM);
    assert!(agent.wait().unwrap().success());
}

/// The law follows as rules do, though it was chosen when the agent had rights.
#[test]
fn connections_of_a_cgroup_that_is_made_anew_have_the_law_again() {
    let Some(Pair { a, b }) = pair() else { return };
    let Some(cgroup) = Cgroup::new("law") else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let law = format!("[scheme]\nname = \"dctcp\"\n[law]\ncgroups = [\"{}\"]\n", text(&cgroup.path));
    fs::write(&file, format!("{AT}{law}")).unwrap();
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    // Without the law at both ends there is no ECN, and then no law.
    let there = place.path().join("there.toml");
    fs::write(&there, format!("{AT}[scheme]\nname = \"dctcp\"\n[law]\n")).unwrap();
    let mut far = start(&b, &["agent", text(&there)], "read its file again");
    let listener = b.inside(|| TcpListener::bind(address(B4, 80))).unwrap();
    let has_law = || {
        let mut teller = Teller::start(&a, &cgroup);
        teller.open();
        teller.connect(address(B4, 80));
        let accepted = listener.accept().unwrap();
        let shown = a.inside(|| Command::new("ss").args(["-tinH", "dport = 80"]).output()).unwrap();
        drop(accepted);
        let shown = String::from_utf8(shown.stdout).unwrap();
        shown.contains("tr_dctcp")
    };
    assert!(has_law());
    assert!(removed(&cgroup));
    wait_for(&mut agent, "connections that begin there do not have the law");
    fs::create_dir(&cgroup.path).unwrap();
    wait_for(&mut agent, "the law is of those");
    assert!(has_law());
    for agent in [&mut agent, &mut far] {
        signal(agent, Signal::SIGTERM);
        assert!(agent.wait().unwrap().success());
    }
}

/// When the last of its processes is gone, so is the cgroup.
fn removed(cgroup: &Cgroup) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        fs::remove_dir(&cgroup.path).is_ok()
    })
}

#[test]
fn without_cgroups_an_agent_tags_and_a_rule_that_names_one_is_a_mistake() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    // As in containers, and on hosts of an emulated fabric: other file systems cover those of the machine.
    let run = |rule: &str| {
        fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n{KARUNA}{rule}")).unwrap();
        let cover = "mount -t tmpfs none /sys/fs/cgroup && exec \"$0\" agent \"$1\" --for 100ms";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", cover, env!("CARGO_BIN_EXE_tailrace"), text(&file)]);
        let output = a.inside(move || command.output()).unwrap();
        (output.status.code().unwrap(), said(&output))
    };
    let (code, text) = run("[[rule]]\nport = 80\nsize = \"1KB\"\n");
    assert!(code == 0 && text.contains("0 packets tagged"), "{text}");
    let (code, text) = run("[[rule]]\ncgroup = \"/a\"\n");
    assert!(code == 2 && text.contains("rule[0].cgroup: no cgroup2 file system is mounted"), "{text}");
}

#[test]
fn with_pins_rules_hold_and_programs_are_heard_without_the_agent() {
    let Some(Pair { a, b }) = pair() else { return };
    let Some(cgroup) = Cgroup::new("pinned") else { return };
    let place = tempfile::tempdir().unwrap();
    let bpf = BpfFs::mount(place.path().join("bpf"));
    let file = place.path().join("agent.toml");
    let rules =
        format!("[[rule]]\ncgroup = \"{}\"\n[[rule]]\nport = 80\nsize = \"500B\"\n", text(&cgroup.path));
    let agent = format!("[agent]\ninterface = \"eth0\"\npins = \"{}\"\n", bpf.0.display());
    fs::write(&file, format!("{agent}{KARUNA}{rules}")).unwrap();
    on(&a, || ip("link set eth0 gso_max_segs 1"));
    // One for each port: what is read of one is gone.
    let taps = [80, 90].map(|port| (port, b.inside(|| Ok(Tap::new())).unwrap()));
    let listener = b.inside(|| TcpListener::bind(address(B4, 80))).unwrap();
    let arguments = ["agent", text(&file)];
    let mut agent = start(&a, &arguments, "read its file again");
    let mut near = a.inside(|| TcpStream::connect(address(B4, 80))).unwrap();
    let mut far = listener.accept().unwrap().0;
    // A program that has told of its flow before the agent goes, and says something else when it is gone.
    let sink = Sink::start(&b, address(B4, 90));
    let mut teller = Teller::start(&a, &cgroup);
    teller.open_for(address(B4, 90));
    teller.tell(Said { size: 500, ..Said::default() }).unwrap();
    teller.connect(address(B4, 90));
    carry(&mut near, &mut far, 100_000);
    teller.send(50_000);
    let flows = json(&a, "flows");
    let queues: Vec<_> = flows["flows"].as_array().unwrap().iter().map(|flow| &flow["queue"]).collect();
    assert_eq!(queues, [2, 2], "of known size: {flows}");
    signal(&agent, Signal::SIGKILL);
    agent.wait().unwrap();
    carry(&mut near, &mut far, 100_000);
    teller.send(50_000);
    let deadline_ns = 60_000_000_000;
    teller.tell(Said { size: 100_000, deadline_ns, ..Said::default() }).unwrap();
    teller.send(50_000);
    agent = start(&a, &arguments, "read its file again");
    carry(&mut near, &mut far, 200_000);
    teller.send(50_000);
    drop(teller);
    sink.ended(200_000);
    let seen = taps.map(|(port, tap)| tap.segments(port));
    let priorities = |flow: usize, from: u64, until: u64| {
        let of = seen[flow].iter().filter(|(before, _)| (from..until).contains(before));
        of.map(|(_, class)| 7 - (class >> 2)).collect::<BTreeSet<_>>()
    };
    // Without the rule the last 150,000 would have sunk.
    assert_eq!(priorities(0, 0, 400_000), [1].into());
    assert_eq!(priorities(1, 0, 100_000), [1].into(), "of known size");
    assert_eq!(priorities(1, 100_000, 200_000), [0].into(), "with a deadline");
    signal(&agent, Signal::SIGTERM);
    agent.wait().unwrap();
    let detach = || tailrace(&["agent", "detach", text(&file)]).output();
    assert!(a.inside(detach).unwrap().status.success());
    assert_eq!(tell(&a, &cgroup), Err(Errno::ENOPROTOOPT), "nothing is left");
}
