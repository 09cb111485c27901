//! `tailrace emulate` and `enter`: real namespaces, which need root; and what they leave on the machine: nothing.
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const FABRIC: &str = r#"
[fabric]
kind = "star"
hosts = 3
host_rate = "100Mbps"
delay = "50us"
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "dctcp"
[[scheme]]
name = "pias"
label = "Tags"
[[scheme]]
name = "pfabric"
"#;

/// A folder with the experiment above, and a name that no other test has.
struct Place {
    dir: tempfile::TempDir,
    name: String,
    /// One test at a time: each start cleans up what others' killed ones have left.
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Place {
    /// `None` if this machine cannot have one.
    fn new() -> Option<Self> {
        let lacks = [("id", "root"), ("ip", "`ip` of iproute2")].into_iter().find(|(program, _)| {
            let Ok(output) = Command::new(program).arg(if *program == "id" { "-u" } else { "-V" }).output()
            else {
                return true;
            };
            *program == "id" && output.stdout != b"0\n"
        });
        if let Some((_, what)) = lacks {
            eprintln!("SKIPPED: emulation needs {what}");
            return None;
        }
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = Self::beside();
        place._alone = Some(alone);
        Some(place)
    }

    /// Another one in the same test.
    fn beside() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("star.toml"), FABRIC).unwrap();
        let name = format!("t{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Place { dir, name, _alone: None }
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace"));
        command.args(words.replace("NAME", &self.name).split_whitespace()).current_dir(self.dir.path());
        command.stdin(Stdio::null());
        command
    }

    fn output(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Starts to emulate, and waits until the hosts are there.
    fn start(&self, options: &str) -> Emulation {
        let mut command = self.command(&format!("emulate star.toml --name NAME {options}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("ip netns exec") {
            assert!(said.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        Emulation { child, said, text }
    }

    /// What there is of this name on the machine.
    fn traces(&self) -> Vec<PathBuf> {
        let below = |folder: &str| {
            let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.to_string_lossy().contains(&self.name)).collect::<Vec<_>>()
        };
        ["/run/tailrace", "/run/netns", "/etc/netns"].map(below).concat()
    }

    fn assert_no_traces(&self) {
        let traces = self.traces();
        assert!(traces.is_empty(), "{traces:?}");
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(&self.name), "{mounts}");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.output("emulate --clean");
    }
}

/// An emulation that runs. Ended by its pid if a test fails.
struct Emulation {
    child: Child,
    said: BufReader<ChildStderr>,
    text: String,
}

impl Emulation {
    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Waits for its end; returns its status, standard output and standard error.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut said) = (String::new(), std::mem::take(&mut self.text));
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), out, said)
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server in Python that answers each connection with what it was sent, and a client.
const SERVER: &str = "import socket
server = socket.create_server((\"\", 7), family=socket.AF_INET6, dualstack_ipv6=True)
print(\"ready\", flush=True)
while True:
    peer, _ = server.accept()
    peer.sendall(peer.recv(100))
    peer.close()
";
const CLIENT: &str = "import socket, sys
for family in (socket.AF_INET, socket.AF_INET6):
    peer = socket.socket(family)
    peer.settimeout(10)
    peer.connect((sys.argv[1], 7))
    peer.sendall(b\"hello\")
    print(family.name, peer.getpeername()[0], peer.recv(100).decode())
";

#[test]
fn hosts_know_one_another_by_name_and_reach_one_another_over_both_kinds_of_ip() {
    let Some(place) = Place::new() else { return };
    let emulation = place.start("--for 60s");
    let mut server = place.command("enter NAME/h0 -- python3 -c");
    let mut server = server.arg(SERVER).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let client = place.command("enter h2 --name NAME -- python3 -c").args([CLIENT, "h0"]).output().unwrap();
    let said = String::from_utf8_lossy(&client.stdout);
    assert_eq!(said, "AF_INET 10.77.0.1 hello\nAF_INET6 fd77::1 hello\n", "{}", stderr(&client));
    // As ip netns does it, too.
    let name = format!("{}-h1", place.name);
    let names = Command::new("ip").args(["netns", "exec", &name, "cat", "/etc/hosts"]).output().unwrap();
    assert!(String::from_utf8_lossy(&names.stdout).contains("10.77.0.3 h2\n"), "{}", stderr(&names));
    // Programs' exit statuses are those of `enter`.
    assert_eq!(place.output("enter NAME/h1 -- sh -c exit\t7").status.code(), Some(0));
    assert_eq!(place.command("enter NAME/h1 -- sh -c").arg("exit 7").status().unwrap().code(), Some(7));
    emulation.signal("-TERM");
    let (status, out, _) = emulation.end();
    assert_eq!(status, Some(0));
    for line in ["frames   ", "strays   ", "lag      median ", "host2->switch0 "] {
        assert!(out.contains(line), "{line}: {out}");
    }
    // The server has ended with its host.
    server.wait().unwrap();
    place.assert_no_traces();
}

#[test]
fn where_packets_are_short_hosts_have_ipv4_only_which_is_said() {
    let Some(place) = Place::new() else { return };
    let emulation = place.start("--for 60s --set transport.mss=1239");
    let names = place.output("enter NAME/h0 -- cat /etc/hosts");
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(names.contains("10.77.0.2 h1\n") && !names.contains("fd77"), "{names}");
    let ping = place.output("enter NAME/h0 -- ping -c 1 h1");
    assert!(ping.status.success(), "{ping:?}");
    emulation.signal("-TERM");
    let (status, _, said) = emulation.end();
    assert_eq!(status, Some(0));
    assert!(
        said.contains("note: hosts have IPv4 only: their MTU is 1279, and Linux has no IPv6 below 1280"),
        "{said}"
    );
}

#[test]
fn what_was_killed_is_cleaned_up_by_the_next_one_or_on_request() {
    let Some(place) = Place::new() else { return };
    for next in ["emulate --clean", "emulate star.toml --name NAME --for 100ms"] {
        let emulation = place.start("");
        let mut program = place.command("enter NAME/h1 -- sh -c");
        let mut program = program.arg("echo ready; exec sleep 1000").stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        emulation.signal("-KILL");
        assert_eq!(emulation.end().0, None);
        assert_eq!(place.traces().len(), 1 + 4 + 3);
        let output = place.output(next);
        assert!(output.status.success(), "{}", stderr(&output));
        program.wait().unwrap();
        place.assert_no_traces();
    }
    assert!(place.output("emulate --clean").status.success());
}

#[test]
fn a_name_has_one_emulation_and_several_do_not_meet() {
    let Some(place) = Place::new() else { return };
    let other = Place::beside();
    let (first, second) = (place.start("--for 60s"), other.start("--for 60s"));
    let again = place.output("emulate star.toml --name NAME");
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("is taken: an emulation runs under it"), "{}", stderr(&again));
    let unclear = place.output("enter h1 -- true");
    assert!(stderr(&unclear).contains("several emulations run, "), "{}", stderr(&unclear));
    for place in [&place, &other] {
        assert!(place.output("enter NAME/h1 -- true").status.success());
    }
    let unknown = place.output("enter NAME/h3 -- true");
    assert!(stderr(&unknown).contains("; there are h0 to h2"), "{}", stderr(&unknown));
    // Cleaning does nothing to those that run.
    assert!(place.output("emulate --clean").status.success());
    // Nobody answers at the addresses of the other one's hosts, which are the same: they are not these.
    let mut server = other.command("enter NAME/h0 -- python3 -c");
    let mut server = server.arg(SERVER).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let client = place.command("enter NAME/h2 -- python3 -c").args([CLIENT, "h0"]).output().unwrap();
    assert!(stderr(&client).contains("ConnectionRefusedError"), "{}", stderr(&client));
    first.signal("-TERM");
    assert_eq!(first.end().0, Some(0));
    place.assert_no_traces();
    assert!(other.output("enter NAME/h1 -- true").status.success());
    second.signal("-INT");
    assert_eq!(second.end().0, Some(130));
    server.wait().unwrap();
    other.assert_no_traces();
}

#[test]
fn who_takes_something_away_is_told_what() {
    let Some(place) = Place::new() else { return };
    // Its status says nothing: a program that is in a namespace as the fabric ends is ended, too.
    let ip = |words: &str| {
        let words = words.replace("NAME", &place.name);
        Command::new("ip").args(words.split_whitespace()).status().unwrap();
    };
    for (words, message) in [
        ("netns exec NAME ip link del port1", "the interface of host h1 is gone"),
        ("netns exec NAME-h2 ip link del eth0", "the interface of host h2 is gone"),
        ("netns del NAME-h0", "NAME-h0 is gone: somebody has deleted the namespace"),
    ] {
        let emulation = place.start("--for 60s");
        ip(words);
        let (status, _, said) = emulation.end();
        assert_eq!(status, Some(1), "{words}: {said}");
        assert!(said.contains(&message.replace("NAME", &place.name)), "{words}: {said}");
        place.assert_no_traces();
    }
    // A link that is only down loses what is on it.
    let emulation = place.start("--for 60s");
    ip("netns exec NAME ip link set port1 down");
    std::thread::sleep(Duration::from_millis(300));
    assert!(place.output("enter NAME/h0 -- true").status.success());
    emulation.signal("-TERM");
    assert_eq!(emulation.end().0, Some(0));
}

#[test]
fn metrics_are_for_this_machine_and_count_what_ports_do() {
    let Some(place) = Place::new() else { return };
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let output = place.output(&format!("emulate star.toml --name NAME --metrics {at}"));
    assert!(stderr(&output).contains(&format!("{at} is taken by another program")), "{}", stderr(&output));
    let output = place.output("emulate star.toml --name NAME --metrics 0.0.0.0:9090");
    assert!(stderr(&output).contains("not on the loopback interface"), "{}", stderr(&output));
    let emulation = place.start(&format!("--for 60s --metrics {free}"));
    // The first view comes a moment after the start.
    let pages = (0..500).map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        get(free, "/metrics")
    });
    let page = pages.into_iter().find(|page| page.contains("tailrace_port_bytes_total")).unwrap();
    for line in [
        "# TYPE tailrace_port_bytes_total counter\n",
        "tailrace_port_link_bits_per_second{port=\"switch0->host1\"} 100000000\n",
        "tailrace_queue_bytes{port=\"switch0->host1\",priority=\"7\"} 0\n",
        "tailrace_lag_seconds{quantile=\"0.99\"} ",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert!(get(free, "/").starts_with("HTTP/1.1 404"));
    emulation.signal("-TERM");
    assert_eq!(emulation.end().0, Some(0));
}

fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn many_starts_and_stops_leave_nothing() {
    let Some(place) = Place::new() else { return };
    let interfaces = || fs::read_dir("/sys/class/net").unwrap().count();
    let before = interfaces();
    for round in 0..20 {
        let output = place.output("emulate star.toml --name NAME --for 1ms");
        assert!(output.status.success(), "round {round}: {}", stderr(&output));
        place.assert_no_traces();
    }
    assert_eq!(interfaces(), before);
}

#[test]
fn who_closes_the_pipe_ends_the_fabric() {
    let Some(place) = Place::new() else { return };
    let mut emulation = place.start("--for 1s");
    drop(emulation.child.stdout.take());
    assert_eq!(emulation.child.wait().unwrap().code(), Some(141));
    place.assert_no_traces();
}

#[test]
fn mistakes_get_one_clear_message_and_change_nothing() {
    let Some(place) = Place::new() else { return };
    let path = place.dir.path().join("star.toml");
    for (words, message) in [
        (
            "emulate star.toml --scheme pfabric --name NAME",
            "whose ports read a header that the TCP of programs cannot carry",
        ),
        (
            "emulate star.toml --scheme tags --name NAME",
            "unknown scheme of this experiment \"tags\"; did you mean \"Tags\"?",
        ),
        ("emulate star.toml --name a/b", "\"a/b\" cannot be a name: it must have 1 to 32 letters"),
        ("emulate star.toml --for soon", "soon"),
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
fn what_tags_mean_is_said_where_hosts_tag() {
    let Some(place) = Place::new() else { return };
    let (_, _, said) = place.start("--scheme Tags --for 100ms").end();
    assert!(said.contains("unless they set a DSCP themselves"), "{said}");
    assert!(said.contains("DSCP 7: queue 0, "), "{said}");
    let (_, _, said) = place.start("--for 100ms").end();
    assert!(!said.contains("DSCP"), "{said}");
}

#[test]
fn without_root_it_says_so() {
    let Some(place) = Place::new() else { return };
    let open = |path: &Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    // Somebody else must be able to read the file and the program.
    open(place.dir.path(), 0o755);
    let program = place.dir.path().join("tailrace");
    fs::copy(env!("CARGO_BIN_EXE_tailrace"), &program).unwrap();
    open(&program, 0o755);
    for words in ["emulate star.toml", "emulate --clean", "enter h0"] {
        let setpriv = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        let command = Command::new("setpriv")
            .args(setpriv)
            .arg(&program)
            .args(words.split_whitespace())
            .current_dir(place.dir.path())
            .output();
        let Ok(output) = command else {
            eprintln!("SKIPPED: becoming somebody else needs setpriv");
            return;
        };
        let said = stderr(&output);
        let command = words.split(" star").next().unwrap_or(words).replace(" h0", "");
        assert!(
            said.starts_with(&format!("error: tailrace {command} needs root, for hosts are ")),
            "{words}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{words}: {said}");
    }
}

#[test]
fn what_was_recorded_is_replayed_to_the_byte_and_other_files_are_not() {
    let Some(place) = Place::new() else { return };
    let emulation = place.start("--scheme dctcp --for 3s --record run.rec");
    let ping = place.output("enter NAME/h0 -- ping -c 20 -i 0.02 h1");
    assert!(ping.status.success(), "{ping:?}");
    let (status, out, said) = emulation.end();
    assert_eq!(status, Some(0), "{said}");
    assert!(out.contains("links    AF_"), "{out}");
    let replayed = place.output("replay run.rec");
    let text = String::from_utf8_lossy(&replayed.stdout);
    let entered = text.split(' ').next().and_then(|count| count.parse::<u64>().ok());
    assert!(replayed.status.success() && entered.is_some_and(|count| count >= 40), "{replayed:?}");
    let other = place.output("replay star.toml");
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(!other.status.success() && said.contains("star.toml") && said.contains("is no record"), "{said}");
}
