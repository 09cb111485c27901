//! `tailrace emulate --agents`.

use std::fs;
use std::process::Stdio;

use crate::place::{EmulatedFolder, stderr};

const FABRIC: &str = r#"
[fabric]
kind = "star"
hosts = 2
host_rate = "100Mbps"
host_delay = "250us"
buffer = "1MB"
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "pias"
params = { thresholds = ["50KB", "200KB"], port = { queues = 3 } }
[[scheme]]
name = "dctcp"
[[scheme]]
name = "tcp"
"#;

/// Takes a connection, and prints the code point and the place in the flow of each packet that comes with data.
const RECEIVER: &str = "import socket, struct
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
server = socket.create_server(('10.77.0.2', 5001))
print('ready', flush=True)
peer, _ = server.accept()
while peer.recv(1 << 18):
    pass
raw.settimeout(0.3)
first = None
try:
    while True:
        frame = raw.recv(2000)
        if frame[12:14] != b'\\x08\\x00' or frame[23] != 6 or frame[26:30] != bytes([10, 77, 0, 1]):
            continue
        at = 14 + 4 * (frame[14] & 15)
        length = struct.unpack('!H', frame[16:18])[0] - (at - 14) - 4 * (frame[at + 12] >> 4)
        sequence = struct.unpack('!I', frame[at + 4:at + 8])[0]
        if frame[at + 13] & 2:
            first = sequence + 1
        elif length > 0:
            print(frame[15] >> 2, (sequence - first) % 2**32)
except TimeoutError:
    pass
";
const SENDER: &str = "import socket
peer = socket.socket()
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'reno')
peer.connect(('10.77.0.2', 5001))
peer.sendall(bytes(500_000))
";

fn emulated() -> Option<EmulatedFolder> {
    let place = EmulatedFolder::new()?;
    fs::write(place.dir.path().join("link.toml"), FABRIC).unwrap();
    Some(place)
}

#[test]
fn packets_of_programs_have_the_tags_of_the_scheme() {
    let Some(place) = emulated() else { return };
    let emulation = place.start_file("link.toml", "--agents --for 60s");
    let python = |host: &str, program: &str| {
        let mut command = place.command(&format!("enter NAME/{host} -- python3 -c"));
        command.arg(program).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut receiver = python("h1", RECEIVER);
    let mut ready = [0; 6];
    std::io::Read::read_exact(receiver.stdout.as_mut().unwrap(), &mut ready).unwrap();
    assert!(python("h0", SENDER).wait().unwrap().success());
    let output = receiver.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let packets: Vec<(u32, u32)> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(dscp, before)| (dscp.parse().unwrap(), before.parse().unwrap()))
        .collect();
    let of = |dscp: u32| packets.iter().filter(move |packet| packet.0 == dscp).map(|packet| packet.1);
    println!("{} packets: {:?}", packets.len(), [7, 6, 5].map(|dscp| (of(dscp).min(), of(dscp).max())));
    assert!(packets.len() >= 343, "{text}");
    for (dscp, before) in packets {
        let right = if before <= 50_000 {
            7
        } else if before <= 200_000 {
            6
        } else {
            5
        };
        assert_eq!(dscp, right, "after {before} bytes");
    }
    let status = place.output(
        "enter NAME/h0 -- BINARY agent status --json"
            .replace("BINARY", env!("CARGO_BIN_EXE_tailrace"))
            .as_str(),
    );
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(status[0]["scheme"] == "pias" && status[0]["packets_tagged"].as_u64() > Some(343), "{status}");
    fs::write(
        place.dir.path().join("agent.toml"),
        "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"mlfq\"\n",
    )
    .unwrap();
    let second =
        place.output(&format!("enter NAME/h0 -- {} agent agent.toml", env!("CARGO_BIN_EXE_tailrace")));
    let owner = format!("has an agent already, process {}", emulation.child.id());
    assert!(second.status.code() == Some(1) && stderr(&second).contains(&owner), "{}", stderr(&second));
    emulation.signal("-TERM");
    assert_eq!(emulation.end().0, Some(0));
    place.assert_no_traces();
}

#[test]
fn agents_go_with_the_process_that_is_killed() {
    let Some(place) = emulated() else { return };
    for signal in ["-INT", "-KILL"] {
        let emulation = place.start_file("link.toml", "--agents");
        let enter = |words: &str| place.output(&format!("enter NAME/h0 -- {words}"));
        let ask = format!("{} agent status", env!("CARGO_BIN_EXE_tailrace"));
        assert!(enter(&ask).status.success());
        emulation.signal(signal);
        let status = emulation.end().0;
        assert_eq!(status, if signal == "-INT" { Some(130) } else { None });
        if signal == "-KILL" {
            // The host is still there, and its agent is not.
            let host = format!("{}-h0", place.name);
            let asked =
                std::process::Command::new("ip").args(["netns", "exec", &host]).args(ask.split(' ')).output();
            let said = stderr(&asked.unwrap());
            assert!(said.contains("no agent"), "{said}");
            assert!(place.output("emulate --clean").status.success());
        }
        place.assert_no_traces();
    }
}

#[test]
fn a_scheme_without_a_part_at_hosts_has_no_agents() {
    let Some(place) = emulated() else { return };
    let output = place.output("emulate link.toml --scheme tcp --agents --name NAME");
    let said = stderr(&output);
    assert!(output.status.code() == Some(2) && said.lines().count() == 1, "{said}");
    assert!(said.contains("there is nothing to tag") && said.contains("leave the agents out"), "{said}");
    place.assert_no_traces();
}

#[test]
fn more_hosts_than_the_kernel_has_room_for_are_refused() {
    let Some(place) = emulated() else { return };
    let output = place.output("emulate link.toml --agents --set fabric.hosts=57 --name NAME");
    let said = stderr(&output);
    assert!(output.status.code() == Some(1) && said.lines().count() == 1, "{said}");
    assert!(said.contains("there are 57 hosts, but at most 56 can have an agent"), "{said}");
    place.assert_no_traces();
}
