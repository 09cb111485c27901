//! A host that writes the first queue's code point into all its packets: what it gains where tags are hosts' to give, and where
//! switches count for themselves.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::place::EmulatedFolder;

/// Queues mark for themselves: what waits in the last one is no reason for the first one's senders to be slower.
fn fabric(awafs: &str) -> String {
    format!(
        r#"
[fabric]
kind = "star"
hosts = 3
host_rate = "50Mbps"
host_delay = "500us"
buffer = "500KB"
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "awafs"
params = {{ {awafs}, initial_thresholds = ["30KB"], percentiles = [0.5], port = {{ queues = 2, marking = "queue" }} }}
"#
    )
}

const AGENT: &str = r#"
[agent]
interface = "eth0"
rate = "50Mbps"
[scheme]
name = "awafs"
params = { placement = "host", initial_thresholds = ["30KB"], percentiles = [0.5], port = { queues = 2 } }
"#;

/// Prints what share of the bytes came from h1: the median of twenty parts of four seconds, since a busy machine may lose a window of
/// packets, and a timer of TCP's is a second long then.
const RECEIVER: &str = "import socket, statistics, threading, time
counts = {'10.77.0.1': 0, '10.77.0.2': 0}
server = socket.create_server(('10.77.0.3', 5001))
print('ready', flush=True)
def take(peer, host):
    while data := peer.recv(1 << 18):
        counts[host] += len(data)
for _ in range(8):
    peer, (host, _) = server.accept()
    threading.Thread(target=take, args=(peer, host), daemon=True).start()
time.sleep(1)
shares = []
for _ in range(20):
    before = dict(counts)
    time.sleep(0.2)
    honest, liar = (counts[host] - before[host] for host in counts)
    shares.append(liar / max(honest + liar, 1))
print(statistics.median(shares), flush=True)
";
/// Sends without end over four connections, with this traffic class. They share by marks, not by who loses most.
const SENDER: &str = "import socket, threading
def give():
    peer = socket.socket()
    peer.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, CLASS)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'reno')
    peer.connect(('10.77.0.3', 5001))
    while True:
        peer.sendall(bytes(1 << 16))
threads = [threading.Thread(target=give) for _ in range(4)]
[thread.start() for thread in threads]
";

/// Ended by its pid.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The share that a host gets which lies, beside one that does not.
fn share_of_the_liar(place: &EmulatedFolder, awafs: &str, with_agent: bool) -> f64 {
    fs::write(place.dir.path().join("awafs.toml"), fabric(awafs)).unwrap();
    fs::write(place.dir.path().join("agent.toml"), AGENT).unwrap();
    let emulation = place.start_file("awafs.toml", "--for 60s");
    let python = |host: &str, program: &str| {
        let mut command = place.command(&format!("enter NAME/{host} -- python3 -c"));
        Started(command.arg(program).stdout(Stdio::piped()).spawn().unwrap())
    };
    let _agent = with_agent.then(|| {
        let words = format!("enter NAME/h0 -- {} agent agent.toml", env!("CARGO_BIN_EXE_tailrace"));
        let mut agent = place.command(&words).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(agent.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("read its file again") {
            assert!(said.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        (Started(agent), said)
    });
    for host in ["h0", "h1", "h2"] {
        let words = format!("enter NAME/{host} -- sysctl -qw net.ipv4.tcp_ecn=1");
        assert!(place.output(&words).status.success());
    }
    let mut receiver = python("h2", RECEIVER);
    let mut said = BufReader::new(receiver.0.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        line.trim().to_owned()
    };
    assert_eq!(line(), "ready");
    let _honest = python("h0", &SENDER.replace("CLASS", "0"));
    let _liar = python("h1", &SENDER.replace("CLASS", "28"));
    let share = line().parse().unwrap();
    drop(emulation);
    share
}

#[test]
fn who_lies_about_tags_gains_where_hosts_tag_and_not_where_switches_count() {
    let Some(place) = EmulatedFolder::new() else { return };
    let hosts = share_of_the_liar(&place, "placement = \"host\"", true);
    let switches = share_of_the_liar(&place, "placement = \"switch\", silence = \"20ms\"", false);
    println!("a host that lies gets {hosts:.2} where hosts tag, {switches:.2} where switches count");
    assert!(hosts > 0.85 && (0.3..0.7).contains(&switches), "{hosts} and {switches}");
}
