//! `tailrace qos --apply`: a port of a bridge between network namespaces, beside the emulated switch of the same plan.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic, and says what came of it")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use crate::place::{EmulatedFolder, stderr};

const TAILRACE: &str = env!("CARGO_BIN_EXE_tailrace");

/// Three hosts at a switch of 50 Mbps, whose ports have two queues, mark above 20 packets, and never fill.
const FABRIC: &str = r#"
[fabric]
kind = "star"
hosts = 3
host_rate = "50Mbps"
host_delay = "50us"
buffer = "20MB"
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "pias"
params = { thresholds = ["10KB"], port = { queues = 2, marking_threshold = "20pkt" } }
"#;

/// Hosts 10.77.0.1 to 10.77.0.3 at a bridge in a namespace of its own.
struct Bridge {
    place: EmulatedFolder,
}

impl Bridge {
    fn new(place: EmulatedFolder) -> Self {
        let bridge = Bridge { place };
        let name = &bridge.place.name;
        let mut commands = format!(
            "netns add {name}-s\n-n {name}-s link add bridge type bridge\n-n {name}-s link set bridge up\n"
        );
        for host in 0..3 {
            commands += &format!(
                "netns add {name}-{host}\n\
                 -n {name}-s link add p{host} type veth peer name eth0 netns {name}-{host}\n\
                 -n {name}-s link set p{host} master bridge up\n\
                 -n {name}-{host} addr add 10.77.0.{}/16 dev eth0\n\
                 -n {name}-{host} link set eth0 up\n",
                host + 1
            );
        }
        for line in commands.lines() {
            assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "ip {line}");
        }
        bridge
    }

    /// A command at the switch, or at a host by its number.
    fn command(&self, at: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}-{at}", self.place.name)]).args(words);
        command.current_dir(self.place.dir.path()).stdin(Stdio::null());
        command
    }

    fn qos(&self, options: &str) -> Output {
        let words: Vec<&str> = [TAILRACE, "qos"].into_iter().chain(options.split(' ')).collect();
        self.command("s", &words).output().unwrap()
    }

    /// What queues and programs the port has.
    fn shown(&self) -> String {
        let words = ["sh", "-c", "tc qdisc show dev p2; tc class show dev p2; tc filter show dev p2 egress"];
        let text = String::from_utf8(self.command("s", &words).output().unwrap().stdout).unwrap();
        // Counters aside.
        let heads = text.lines().map(|line| line.split(' ').take(4).collect::<Vec<_>>().join(" "));
        heads.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        for at in ["s", "0", "1", "2"] {
            let _ = Command::new("ip").args(["netns", "del", &format!("{}-{at}", self.place.name)]).status();
        }
    }
}

/// Sends datagrams of 1500 bytes to the third host: a code point, how many, and at what pace in Mbps (0: none).
const SENDER: &str = "import socket, sys, time
dscp, count, pace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2 | 2)
out.connect(('10.77.0.3', 5001))
out.send(b'hello')
time.sleep(0.3)
begun = time.monotonic()
for number in range(count):
    out.send(number.to_bytes(4, 'big') + bytes(1468))
    if pace:
        wait = begun + number * 0.012 / pace - time.monotonic()
        if wait > 0:
            time.sleep(wait)
";
/// Prints of each datagram its number, code point and mark, and when it came; until nothing comes for a second.
const RECEIVER: &str = "import socket, time
into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
into.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
into.bind(('10.77.0.3', 5001))
print('ready', flush=True)
lines = []
try:
    while True:
        data, more, _, _ = into.recvmsg(2000, 64)
        into.settimeout(1)
        if len(data) == 1472:
            tos = more[0][2][0]
            lines.append((int.from_bytes(data[:4], 'big'), tos >> 2, int(tos & 3 == 3), time.monotonic()))
except TimeoutError:
    for line in lines:
        print(*line)
";

#[derive(Debug)]
struct Datagram {
    dscp: u32,
    marked: bool,
    at: f64,
}

/// Lets hosts 0 and 1 send; returns what came to host 2, in order.
fn sent(python: &dyn Fn(usize, &str, &str) -> Child, senders: &[(usize, &str)]) -> Vec<Datagram> {
    let mut receiver = python(2, RECEIVER, "");
    let mut said = BufReader::new(receiver.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let children: Vec<Child> =
        senders.iter().map(|(host, arguments)| python(*host, SENDER, arguments)).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let datagrams = said.lines().map(|line| {
        let line = line.unwrap();
        let fields: Vec<f64> = line.split(' ').map(|field| field.parse().unwrap()).collect();
        Datagram { dscp: fields[1] as u32, marked: fields[2] > 0.0, at: fields[3] }
    });
    let datagrams = datagrams.collect();
    receiver.wait().unwrap();
    datagrams
}

/// The first datagram of a burst that is marked, and all that are: of three, in which fewest left while it came.
fn marks(python: &dyn Fn(usize, &str, &str) -> Child) -> (usize, usize) {
    (0..3).map(|_| marks_of_one(python)).min().unwrap()
}

fn marks_of_one(python: &dyn Fn(usize, &str, &str) -> Child) -> (usize, usize) {
    let burst = sent(python, &[(0, "7 60 0")]);
    assert_eq!(burst.len(), 60);
    let first = burst.iter().position(|datagram| datagram.marked).unwrap_or(60);
    (first, burst.iter().filter(|datagram| datagram.marked).count())
}

/// Mbps of 20 offered in the first queue, and of 45 in the second, while both send. That is for 4.8 s each, since one program may be up
/// a second or two after the other.
fn rates(python: &dyn Fn(usize, &str, &str) -> Child) -> [f64; 2] {
    let all = sent(python, &[(0, "7 8000 20"), (1, "6 18000 45")]);
    let begun = |dscp: u32| all.iter().find(|datagram| datagram.dscp == dscp).unwrap().at;
    let (from, seconds) = (begun(7).max(begun(6)) + 0.4, 1.5);
    let within = |datagram: &&Datagram| datagram.at >= from && datagram.at < from + seconds;
    [7, 6].map(|dscp| all.iter().filter(within).filter(|of| of.dscp == dscp).count() as f64 * 0.012 / seconds)
}

fn python(mut command: Command, program: &str, arguments: &str) -> Child {
    command.args(["-c", program]).args(arguments.split_whitespace()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[cfg(feature = "agent")]
#[test]
fn a_port_of_a_bridge_is_one_of_the_emulated_switch() {
    let Some(place) = EmulatedFolder::new() else { return };
    let emulated = EmulatedFolder::beside();
    fs::write(emulated.dir.path().join("plan.toml"), FABRIC).unwrap();
    fs::write(place.dir.path().join("plan.toml"), FABRIC).unwrap();
    let bridge = Bridge::new(place);
    let before = bridge.shown();
    let output = bridge.qos("plan.toml --apply p2");
    assert!(output.status.success(), "{}", stderr(&output));
    let at_bridge = |host: usize, program: &str, arguments: &str| {
        python(bridge.command(&host.to_string(), &["python3"]), program, arguments)
    };
    let emulation = emulated.start_file("plan.toml", "--for 60s");
    let at_fabric = |host: usize, program: &str, arguments: &str| {
        python(emulated.command(&format!("enter NAME/h{host} -- python3")), program, arguments)
    };
    let marks = [marks(&at_bridge), marks(&at_fabric)];
    let rates = [rates(&at_bridge), rates(&at_fabric)];
    println!("bridge and fabric: first mark and marks of 60 {marks:?}, Mbps by queue {rates:?}");
    // 20 packets may wait, one is on the link, and some leave while the burst comes.
    for (first, count) in marks {
        assert!((20..=32).contains(&first) && count >= 20, "{marks:?}");
    }
    // Without an order the first queue would have 15, without a rate both 65. Who was held up catches up.
    for [urgent, rest] in rates {
        assert!((18.0..=24.0).contains(&urgent) && (44.0..=55.0).contains(&(urgent + rest)), "{rates:?}");
    }
    drop(emulation);
    let output = bridge.qos("--remove p2");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(bridge.shown(), before);
}

#[cfg(feature = "agent")]
#[test]
fn what_cannot_be_set_up_leaves_the_interface_as_it_was() {
    let Some(place) = EmulatedFolder::new() else { return };
    fs::write(place.dir.path().join("plan.toml"), FABRIC).unwrap();
    let bridge = Bridge::new(place);
    let before = bridge.shown();
    let karuna =
        "--scheme karuna --deadline-load 0.1 --known web-search --known-load 0.2 --rates 50Mbps --apply p2";
    for (options, status, said) in [
        ("plan.toml --apply p9", 2, "--apply: unknown interface \"p9\""),
        ("plan.toml --rates 1Gbps,50Mbps --apply p2", 2, "--rates: an interface has one rate: choose one of"),
        (karuna, 2, "karuna: marks by the length of single queues"),
        ("--remove p2", 1, "p2 has no queues of tailrace qos --apply"),
        ("--remove p9", 2, "--remove: unknown interface \"p9\""),
        ("plan.toml --apply p2 --format json", 2, "cannot be used with"),
    ] {
        let output = bridge.qos(options);
        assert!(
            output.status.code() == Some(status) && stderr(&output).contains(said),
            "{}",
            stderr(&output)
        );
        assert_eq!(bridge.shown(), before, "{options}");
    }
    assert!(bridge.qos("plan.toml --apply p2").status.success());
    let twice = bridge.qos("plan.toml --apply p2");
    assert!(twice.status.code() == Some(1) && stderr(&twice).contains("has queues of tailrace qos already"));
    // Somebody puts other queues in the place of ours: the program before them is still known.
    let other = ["tc", "qdisc", "replace", "dev", "p2", "root", "pfifo"];
    assert!(bridge.command("s", &other).status().unwrap().success());
    let twice = bridge.qos("plan.toml --apply p2");
    assert!(stderr(&twice).contains("has queues of tailrace qos already"), "{}", stderr(&twice));
    assert!(bridge.qos("--remove p2").status.success());
    assert!(!bridge.shown().contains("clsact"), "{}", bridge.shown());
    let own = ["tc", "qdisc", "replace", "dev", "p2", "root", "handle", "5:", "htb"];
    assert!(bridge.command("s", &own).status().unwrap().success());
    let foreign = bridge.shown();
    let output = bridge.qos("plan.toml --apply p2");
    assert!(output.status.code() == Some(1) && stderr(&output).contains("p2 has htb of somebody else"));
    assert_eq!(bridge.shown(), foreign);
}

#[cfg(not(feature = "agent"))]
#[test]
fn a_build_without_the_program_says_so_and_leaves_the_interface_as_it_was() {
    let Some(place) = EmulatedFolder::new() else { return };
    fs::write(place.dir.path().join("plan.toml"), FABRIC).unwrap();
    let bridge = Bridge::new(place);
    let before = bridge.shown();
    let output = bridge.qos("plan.toml --apply p2");
    assert!(output.status.code() == Some(1) && stderr(&output).contains("this build has no host agent"));
    assert_eq!(bridge.shown(), before);
    let _ = (sent, marks, rates, python);
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-cli --features agent; needs clang)",
    );
}
