//! `tailrace emulate` and `enter`: real namespaces, which need root; and what they leave on the machine: nothing.
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test may panic")]

mod failing;
mod leaf_spine;
mod leaving;
mod live_run;
mod live_sweep;
mod mistakes;
mod terminal;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::place::{EmulatedFolder, stderr};

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
    let Some(place) = EmulatedFolder::new() else { return };
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

/// Whether there is a program to ping with; if not, it is said.
fn may_ping() -> bool {
    let there = Command::new("ping").arg("-V").output().is_ok();
    if !there {
        tailrace_linux::skip_test("this machine has no ping");
    }
    there
}

#[test]
fn where_packets_are_short_hosts_have_ipv4_only_which_is_said() {
    let Some(place) = EmulatedFolder::new().filter(|_| may_ping()) else { return };
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
fn metrics_are_for_this_machine_and_count_what_ports_do() {
    let Some(place) = EmulatedFolder::new() else { return };
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
fn what_tags_mean_is_said_where_hosts_tag() {
    let Some(place) = EmulatedFolder::new() else { return };
    let (_, _, said) = place.start("--scheme Tags --for 100ms").end();
    assert!(said.contains("unless they set a DSCP themselves"), "{said}");
    assert!(said.contains("DSCP 7: queue 0, "), "{said}");
    let (_, _, said) = place.start("--for 100ms").end();
    assert!(!said.contains("DSCP"), "{said}");
}

#[test]
fn what_was_recorded_is_replayed_to_the_byte_and_other_files_are_not() {
    let Some(place) = EmulatedFolder::new().filter(|_| may_ping()) else { return };
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
