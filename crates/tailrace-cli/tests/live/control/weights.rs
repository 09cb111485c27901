//! Weights of a fleet's controller: slices share what is between racks by weight, however many flows they have.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::agents::wait_for;
use crate::agents::{Running, until};
use crate::control::etcd::Etcd;
use crate::place::EmulatedFolder;

/// One link that marks above 150 KB; etcd and controller are at the third host.
const FABRIC: &str = r#"
[fabric]
kind = "star"
hosts = 3
host_rate = "100Mbps"
delay = "250us"
buffer = "1MB"
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "wvcc"
params = { port = { marking_threshold = "150KB" } }
"#;

const SCHEME: &str = r#"
[scheme]
name = "uranus"
[[slice]]
weight = 1
[[slice]]
weight = 1
"#;

const SERVER: &str = "import socket, threading, time
counts = [0, 0]
def take(number, peer):
    while data := peer.recv(1 << 18):
        counts[number] += len(data)
def serve(number):
    server = socket.create_server(('', 5001 + number))
    while True:
        threading.Thread(target=take, args=(number, server.accept()[0]), daemon=True).start()
for number in range(2):
    threading.Thread(target=serve, args=(number,), daemon=True).start()
while True:
    time.sleep(0.1)
    print(*counts, flush=True)
";
/// One flow of the first slice, two of the second.
const CLIENT: &str = "import socket, threading
def give(number):
    peer = socket.socket()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'reno')
    peer.connect(('10.77.0.2', 5001 + number))
    while True:
        peer.sendall(bytes(1 << 18))
threads = [threading.Thread(target=give, args=(number,)) for number in (0, 1, 1)]
[thread.start() for thread in threads]
";

fn start(place: &EmulatedFolder, words: &str, up: &str) -> Running {
    let mut child = place.command(words).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut child, up);
    Running(child)
}

fn python(place: &EmulatedFolder, host: &str, program: &str) -> Child {
    let mut command = place.command(&format!("enter NAME/{host} -- python3 -c"));
    command.arg(program).stdout(Stdio::piped()).spawn().unwrap()
}

fn namespace_of(place: &EmulatedFolder, host: &str) -> PathBuf {
    let all = fs::read_dir("/run/netns").unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.contains(&place.name) && name.ends_with(host)
    };
    all.into_iter().find(is_it).unwrap()
}

fn status(place: &EmulatedFolder) -> Value {
    let output =
        place.output(&format!("enter NAME/h0 -- {} agent status --json", env!("CARGO_BIN_EXE_tailrace")));
    serde_json::from_slice::<Value>(&output.stdout).map_or(Value::Null, |all| all[0].clone())
}

/// Weights that a controller has given flows of the first host, from the largest on.
fn given(place: &EmulatedFolder) -> Vec<f64> {
    let program = env!("CARGO_BIN_EXE_tailrace");
    let output = place.output(&format!("enter NAME/h0 -- {program} agent flows --json"));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = found["flows"].as_array().unwrap().iter().filter(|row| row["weight_is_given"] == true);
    let mut weights: Vec<f64> = rows.map(|row| row["weight"].as_f64().unwrap()).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    weights
}

/// What comes of both slices in so many tenths of a second.
fn bytes(counts: &mut impl BufRead, tenths: u32) -> [f64; 2] {
    let mut next = || {
        let mut line = String::new();
        counts.read_line(&mut line).unwrap();
        let numbers: Vec<f64> = line.split(' ').map(|word| word.trim().parse().unwrap()).collect();
        [numbers[0], numbers[1]]
    };
    let first = next();
    let last = (0..tenths).map(|_| next()).last().unwrap();
    [last[0] - first[0], last[1] - first[1]]
}

/// The first slice's share of all, over six seconds, or up to 24 until it is as expected.
fn share(counts: &mut impl BufRead, expected: f64, when: &str) -> f64 {
    let (mut all, mut seconds) = ([0.0; 2], 0);
    loop {
        let more = bytes(counts, 60);
        (all, seconds) = ([all[0] + more[0], all[1] + more[1]], seconds + 6);
        let share = all[0] / (all[0] + all[1]);
        println!("{when}, {seconds} s: the first slice has {share:.3} of {:.1} MB", (all[0] + all[1]) / 1e6);
        if (share / expected - 1.0).abs() < 0.1 || seconds == 24 {
            return share;
        }
    }
}

#[test]
fn slices_share_a_link_by_weight_however_many_flows_they_have() {
    let Some(place) = EmulatedFolder::new().filter(|_| crate::control::etcd::is_there()) else { return };
    let folder: &Path = place.dir.path();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("link.toml", FABRIC);
    let emulation = place.start_file("link.toml", "--for 180s");
    for host in ["h0", "h1"] {
        assert!(
            place.output(&format!("enter NAME/{host} -- ip link set eth0 gso_max_segs 1")).status.success()
        );
    }
    let etcd = Etcd::start(&namespace_of(&place, "h2"), folder, &["10.77.0.3"]);
    let section = |host: &str| {
        etcd.section("10.77.0.3", &format!("slot = \"500ms\"\nlease = \"2s\"\nhost = \"{host}\""))
    };
    let program = env!("CARGO_BIN_EXE_tailrace");
    let rules = "[[rule]]\nport = 5001\nslice = 1\n[[rule]]\nport = 5002\nslice = 2\n";
    let agents = ["h0", "h1"].map(|host| {
        let own = "[agent]\ninterface = \"eth0\"\nrate = \"100Mbps\"\n";
        write(&format!("{host}.toml"), &format!("{own}{}{SCHEME}{rules}", section(host)));
        start(&place, &format!("enter NAME/{host} -- {program} agent {host}.toml"), "read its file again")
    });
    let mut server = Running(python(&place, "h1", SERVER));
    let mut counts = BufReader::new(server.0.stdout.take().unwrap());
    bytes(&mut counts, 1);
    let _client = Running(python(&place, "h0", CLIENT));
    bytes(&mut counts, 25);
    // Until a controller speaks all flows have the weight of their slice: three that are alike.
    let without = share(&mut counts, 1.0 / 3.0, "without a controller");
    assert!((0.28..0.38).contains(&without), "{without}");
    let racks = "[[rack]]\naddresses = [\"10.77.0.1\"]\n[[rack]]\naddresses = [\"10.77.0.2\"]\n";
    let control = section("c1").replace("[control]", "[control]\nrate = \"100Mbps\"");
    write("control.toml", &format!("{control}{SCHEME}{racks}"));
    let controller = start(&place, &format!("enter NAME/h2 -- {program} control control.toml"), "leads");
    let after = until("flows have weights", Duration::from_secs(10), || {
        status(&place)["fleet"]["flows_with_weights"] == 3
    });
    println!("three flows have weights {after:?} after a controller began to lead");
    bytes(&mut counts, 20);
    let with = share(&mut counts, 0.5, "with a controller");
    assert!((0.45..0.55).contains(&with), "{with}");
    assert_eq!(given(&place), [1.0, 0.5, 0.5], "by `tailrace agent flows`");
    // It is gone, and weights stay.
    drop(controller);
    bytes(&mut counts, 60);
    let kept = share(&mut counts, 0.5, "without it again");
    assert!((0.45..0.55).contains(&kept), "{kept}");
    assert!(etcd.get("/tailrace/default/weights/h0").contains("10.77.0.2:5001"));
    drop(agents);
    // The host's weights end with its lease.
    until("its lease ends", Duration::from_secs(6), || etcd.get("/tailrace/default/weights/h0").is_empty());
    emulation.signal("-TERM");
    assert_eq!(emulation.end().0, Some(0));
}

#[test]
fn weights_take_racks() {
    let Some(place) = EmulatedFolder::new() else { return };
    let text = format!("[control]\nendpoints = [\"http://127.0.0.1:1\"]\n{SCHEME}");
    fs::write(place.dir.path().join("control.toml"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tailrace"))
        .arg("control")
        .arg(place.dir.path().join("control.toml"))
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("rack: is missing: the scheme shares what is between racks"), "{said}");
}
