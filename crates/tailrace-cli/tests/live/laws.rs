//! `tailrace agent` with a congestion law, on the hosts of an emulated fabric: what becomes of queues and shares.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic, and says what came of it")]
#![allow(clippy::disallowed_methods, reason = "connections in real time")]

#[cfg(not(feature = "agent"))]
#[test]
fn laws() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-cli --features agent; needs clang)",
    );
}

#[cfg(feature = "agent")]
mod with_agent {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::time::Duration;

    use crate::hosts::{Agent, Started, python};
    use crate::place::EmulatedFolder;

    /// One link of 100 Mbps that marks above 60 KB, 4.8 ms of it, and holds 1 MB, 80 ms.
    const FABRIC: &str = r#"
[fabric]
kind = "star"
hosts = 2
host_rate = "100Mbps"
delay = "250us"
buffer = "1MB"
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "dctcp"
params = { port = { marking_threshold = "60KB" } }
"#;

    /// Takes what comes at two ports, and says every tenth of a second or so when it is, and how much came at each.
    const SERVER: &str = "import socket, threading, time
counts = [0, 0]
servers = [socket.create_server(('', 5001 + number)) for number in range(2)]
print('ready', flush=True)
def take(number):
    while True:
        peer, _ = servers[number].accept()
        while data := peer.recv(1 << 18):
            counts[number] += len(data)
for number in range(2):
    threading.Thread(target=take, args=(number,), daemon=True).start()
while True:
    time.sleep(0.1)
    print(time.monotonic(), *counts, flush=True)
";

    /// Sends to the first so many ports for so many seconds.
    fn client(ports: u32, seconds: f64) -> String {
        format!(
            "import socket, threading, time
end = time.time() + {seconds}
def give(number):
    peer = socket.socket()
    peer.connect(('10.77.0.2', 5001 + number))
    while time.time() < end:
        peer.sendall(bytes(1 << 16))
threads = [threading.Thread(target=give, args=(number,)) for number in range({ports})]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"
        )
    }

    struct Server(
        #[expect(dead_code, reason = "it ends as this does")] Started,
        BufReader<std::process::ChildStdout>,
    );

    impl Server {
        fn start(place: &EmulatedFolder) -> Self {
            let mut program = python(place, "h1", SERVER);
            let mut said = BufReader::new(program.0.stdout.take().unwrap());
            let mut ready = String::new();
            said.read_line(&mut ready).unwrap();
            assert_eq!(ready, "ready\n");
            Server(program, said)
        }

        /// Seconds, and bytes at both ports.
        fn next(&mut self) -> [f64; 3] {
            let mut line = String::new();
            self.1.read_line(&mut line).unwrap();
            let numbers: Vec<f64> = line.split(' ').map(|word| word.trim().parse().unwrap()).collect();
            numbers.try_into().unwrap()
        }
    }

    fn write(place: &EmulatedFolder, name: &str, text: &str) {
        fs::write(place.dir.path().join(name), text).unwrap();
    }

    fn agent_file(scheme: &str, rest: &str) -> String {
        format!("[agent]\ninterface = \"eth0\"\nrate = \"100Mbps\"\n[scheme]\n{scheme}\n[law]\n{rest}")
    }

    /// The round trips of the host's connections in milliseconds, and their congestion control.
    fn shown(place: &EmulatedFolder) -> (Vec<f64>, String) {
        let shown = place.output("enter NAME/h0 -- ss -tinH dport >= 5001");
        let text = String::from_utf8(shown.stdout).unwrap();
        let rtt = |word: &str| word.strip_prefix("rtt:")?.split('/').next()?.parse().ok();
        (text.split_whitespace().filter_map(rtt).collect(), text)
    }

    /// The median of a connection's round trips from its third second on, what came meanwhile in bytes a second, and what `ss` says.
    fn queue(place: &EmulatedFolder, server: &mut Server) -> (f64, f64, String) {
        let sender = python(place, "h0", &client(1, 12.0));
        std::thread::sleep(Duration::from_secs(2));
        // All that was said meanwhile is old.
        let before = (0..20).map(|_| server.next()).last().unwrap();
        let (mut all, mut text) = (Vec::new(), String::new());
        for _ in 0..20 {
            let (more, said) = shown(place);
            (all, text) = ([all, more].concat(), said);
            server.next();
        }
        let after = server.next();
        drop(sender);
        all.sort_by(f64::total_cmp);
        (all[all.len() / 2], (after[1] - before[1]) / (after[0] - before[0]), text)
    }

    #[test]
    fn queues_stay_near_the_threshold() {
        let Some(place) = EmulatedFolder::new() else { return };
        write(&place, "link.toml", FABRIC);
        write(&place, "agent.toml", &agent_file("name = \"dctcp\"", ""));
        let emulation = place.start_file("link.toml", "--for 120s");
        let reno = "enter NAME/h0 -- sysctl -qw net.ipv4.tcp_congestion_control=reno";
        assert!(place.output(reno).status.success());
        let mut server = Server::start(&place);
        let (full, rate, _) = queue(&place, &mut server);
        println!("Reno: round trips of {full} ms, {rate:.0} bytes a second");
        let near = Agent::start(&place, "h0", "agent.toml");
        let far = Agent::start(&place, "h1", "agent.toml");
        let (short, rate, text) = queue(&place, &mut server);
        println!("DCTCP: round trips of {short} ms, {rate:.0} bytes a second");
        assert!(text.contains("tr_dctcp_"), "{text}");
        // Half a millisecond of way, and the queue.
        assert!((3.0..12.0).contains(&short) && full > 3.0 * short, "{short} ms, and {full} under Reno");
        assert!(rate > 0.7 * 12.5e6, "{rate}");
        drop((near, far, server));
        emulation.signal("-TERM");
        assert_eq!(emulation.end().0, Some(0));
    }

    #[test]
    fn who_is_in_a_hurry_gets_more() {
        let Some(place) = EmulatedFolder::new() else { return };
        write(&place, "link.toml", FABRIC);
        // Port 5001 is due when it has had all of the link, 5002 is not due at all.
        let due = "[[rule]]\nport = 5001\nsize = \"100MB\"\ndeadline = \"8s\"\n";
        let scheme = "name = \"d2tcp\"\nparams = { urgency = [0.25, 4.0] }";
        write(&place, "agent.toml", &agent_file(scheme, due));
        let emulation = place.start_file("link.toml", "--for 120s");
        let _near = Agent::start(&place, "h0", "agent.toml");
        let _far = Agent::start(&place, "h1", "agent.toml");
        let mut server = Server::start(&place);
        // Several times: a connection's first sequence number is anything.
        for _ in 0..3 {
            let _sender = python(&place, "h0", &client(2, 4.5));
            let before = (0..15).map(|_| server.next()).last().unwrap();
            let after = (0..25).map(|_| server.next()).last().unwrap();
            let [hurried, other] = [1, 2].map(|number| after[number] - before[number]);
            println!("{hurried} bytes with a deadline, {other} without, {:.2} times", hurried / other);
            assert!(hurried > 1.5 * other, "{hurried} and {other}: {}", shown(&place).1);
            // Until both connections have ended.
            (0..15).for_each(|_| {
                server.next();
            });
        }
        emulation.signal("-TERM");
        assert_eq!(emulation.end().0, Some(0));
    }

    /// Flows with deadlines go first. Under MCP they take what they need and no more, under DCTCP, which sends in place of MCP's other
    /// forms, what they get.
    #[test]
    fn who_is_due_is_just_in_time_and_leaves_the_rest_to_others() {
        let Some(place) = EmulatedFolder::new() else { return };
        const KARUNA: &str = "name = \"karuna\"\nparams = { port = { queues = 3, marking_threshold = \"60KB\" }, \
                              thresholds = { splitting = [\"1MB\"], sieving = [\"1MB\"] } }";
        let fabric = FABRIC.split("[[scheme]]").next().unwrap();
        write(&place, "link.toml", &format!("{fabric}[[scheme]]\n{KARUNA}\n"));
        // 15 MB in 4 s are 30 Mbps; port 5002 has no deadline.
        let due = "[[rule]]\nport = 5001\nsize = \"15MB\"\ndeadline = \"4s\"\n";
        let emulation = place.start_file("link.toml", "--for 120s");
        let mut server = Server::start(&place);
        let sender = "import socket, threading
def give(number, size):
    peer = socket.socket()
    peer.connect(('10.77.0.2', 5001 + number))
    peer.sendall(bytes(size))
    peer.recv(1)
for number, size in enumerate([15_000_000, 60_000_000]):
    threading.Thread(target=give, args=(number, size), daemon=True).start()
import time
time.sleep(5)
";
        for form in ["normal", "prototype"] {
            let scheme =
                KARUNA.replace("params = { ", &format!("params = {{ mcp = {{ form = \"{form}\" }}, "));
            let text = agent_file(&scheme, due).replace("rate =", "round_trip = \"1.5ms\"\nrate =");
            write(&place, "agent.toml", &text);
            let agents = ["h0", "h1"].map(|host| Agent::start(&place, host, "agent.toml"));
            let before = server.next();
            let _sender = python(&place, "h0", sender);
            let first = loop {
                let now = server.next();
                if now[1] > before[1] {
                    break now;
                }
            };
            let (mut at_half, mut came) = (None, None);
            while came.is_none() {
                let now = server.next();
                let (time, share) = (now[0] - first[0], (now[1] - before[1]) / 15e6);
                if time > 2.0 && at_half.is_none() {
                    at_half = Some((share, (now[2] - before[2]) / time / 12.5e6));
                }
                came = (share >= 1.0).then_some(time);
                assert!(time < 6.0, "{form}: {share} after {time} s: {}", shown(&place).1);
            }
            let (share, others) = at_half.unwrap_or((1.0, 0.0));
            let came = came.unwrap();
            println!(
                "{form}: half of the time gone, {share:.2} have come, others have {others:.2} of the link; all after {came:.2} s"
            );
            if form == "normal" {
                // Both ends of its time are known to a tenth of a second.
                assert!((0.4..0.65).contains(&share) && (3.6..4.1).contains(&came), "{share}, {came} s");
                assert!(others > 0.5, "{others} of the link for others");
            } else {
                assert!(came < 2.5, "DCTCP in the first queue: all after {came} s");
            }
            drop(agents);
            // Until both connections have ended.
            (0..50).for_each(|_| {
                server.next();
            });
        }
        emulation.signal("-TERM");
        assert_eq!(emulation.end().0, Some(0));
    }
}
