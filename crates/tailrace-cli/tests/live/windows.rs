//! `tailrace agent` with a scheme that keeps windows, on the hosts of an emulated fabric: what programs' connections get.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic, and says what came of it")]
#![allow(clippy::disallowed_methods, reason = "connections in real time")]

#[cfg(not(feature = "agent"))]
#[test]
fn windows() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-cli --features agent; needs clang)",
    );
}

#[cfg(feature = "agent")]
mod with_agent {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::process::ChildStdout;
    use std::time::Duration;

    use crate::hosts::{Agent, python};
    use crate::place::EmulatedFolder;

    /// One link that marks above 60 KB.
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
name = "wvcc"
params = { port = { marking_threshold = "60KB" } }
"#;

    fn agent_file(weights: [u32; 3]) -> String {
        let mut text =
            "[agent]\ninterface = \"eth0\"\nrate = \"100Mbps\"\n[scheme]\nname = \"wvcc\"\n".to_owned();
        for (number, weight) in (1..).zip(weights) {
            text += &format!(
                "[[slice]]\nweight = {weight}\n[[rule]]\nport = {}\nslice = {number}\n",
                5_000 + number
            );
        }
        text
    }

    const SERVER: &str = "import socket, threading, time
counts = [0, 0, 0]
servers = [socket.create_server(('', 5001 + number)) for number in range(3)]
print('ready', flush=True)
def take(number):
    peer, _ = servers[number].accept()
    while data := peer.recv(1 << 18):
        counts[number] += len(data)
for number in range(3):
    threading.Thread(target=take, args=(number,), daemon=True).start()
while True:
    time.sleep(0.1)
    print(*counts, flush=True)
";
    const CLIENT: &str = "import socket, threading
def give(number):
    peer = socket.socket()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'reno')
    peer.connect(('10.77.0.2', 5001 + number))
    while True:
        peer.sendall(bytes(1 << 18))
threads = [threading.Thread(target=give, args=(number,)) for number in range(3)]
[thread.start() for thread in threads]
";

    /// Bytes of the three flows that come from now on, for so long.
    fn bytes(server: &mut BufReader<ChildStdout>, tenths: u32) -> [f64; 3] {
        let mut next = || {
            let mut line = String::new();
            server.read_line(&mut line).unwrap();
            let numbers: Vec<f64> = line.split(' ').map(|word| word.trim().parse().unwrap()).collect();
            <[f64; 3]>::try_from(numbers).unwrap()
        };
        let first = next();
        let last = (0..tenths).map(|_| next()).last().unwrap();
        [0, 1, 2].map(|number| last[number] - first[number])
    }

    /// What each flow gets of its share by weight, within a tenth: of all that comes in six seconds, or in up to 24, since windows
    /// of few segments wander, and a machine that does other things adds to that.
    fn assert_shares(server: &mut BufReader<ChildStdout>, weights: [u32; 3], when: &str) -> f64 {
        let weights = weights.map(f64::from);
        let (mut all, mut seconds) = ([0.0; 3], 0.0);
        loop {
            let more = bytes(server, 60);
            (all, seconds) = ([0, 1, 2].map(|number| all[number] + more[number]), seconds + 6.0);
            let sum = |parts: [f64; 3]| parts.iter().sum::<f64>();
            let shares = [0, 1, 2].map(|number| all[number] / sum(all) * sum(weights) / weights[number]);
            println!("{when}, {seconds} s: {all:?} bytes, {shares:.3?} of their shares");
            if shares.iter().all(|share| (share - 1.0).abs() < 0.1) {
                return sum(all) / seconds;
            }
            assert!(seconds < 24.0, "{when}: {all:?} bytes, {shares:.3?} of their shares");
        }
    }

    #[test]
    fn connections_go_on_when_an_agent_is_killed_and_another_is_started() {
        let Some(place) = EmulatedFolder::new() else { return };
        let write = |name: &str, text: &str| fs::write(place.dir.path().join(name), text).unwrap();
        write("link.toml", FABRIC);
        write("agent.toml", &agent_file([1, 2, 4]));
        let emulation = place.start_file("link.toml", "--for 120s");
        let mut near = Agent::start(&place, "h0", "agent.toml");
        let mut far = Agent::start(&place, "h1", "agent.toml");
        let mut server = python(&place, "h1", SERVER);
        let mut counts = BufReader::new(server.0.stdout.take().unwrap());
        counts.read_line(&mut String::new()).unwrap();
        let mut client = python(&place, "h0", CLIENT);
        bytes(&mut counts, 15);
        let mut all_go_on = |when: &str| {
            // Timers of TCP are 200 ms at least, and double.
            let came = bytes(&mut counts, 15);
            println!("{when}: {came:?} bytes");
            assert!(came.iter().all(|&bytes| bytes > 100_000.0), "{when}: {came:?}");
            assert!(client.0.try_wait().unwrap().is_none(), "{when}: a connection has ended");
        };
        all_go_on("with agents");
        // What is dropped is killed.
        drop(near);
        all_go_on("without the sender's");
        near = Agent::start(&place, "h0", "agent.toml");
        all_go_on("with another one");
        drop(far);
        all_go_on("without the receiver's");
        far = Agent::start(&place, "h1", "agent.toml");
        all_go_on("with both again");
        drop((near, far, emulation));
    }

    #[test]
    fn weights_are_kept_and_followed_when_they_change() {
        let Some(place) = EmulatedFolder::new() else { return };
        let write = |name: &str, text: &str| fs::write(place.dir.path().join(name), text).unwrap();
        write("link.toml", FABRIC);
        write("agent.toml", &agent_file([1, 2, 4]));
        let emulation = place.start_file("link.toml", "--for 120s");
        // Bursts of many segments find a shorter queue than what comes behind them, and so fewer marks.
        assert!(place.output("enter NAME/h0 -- ip link set eth0 gso_max_segs 1").status.success());
        // Pairs of segments hide marks from some flows, in the simulated law as here: tailrace-run's tests/weights.rs.
        let each = "enter NAME/h1 -- ip route change 10.77.0.0/16 dev eth0 src 10.77.0.2 quickack 1";
        assert!(place.output(each).status.success());
        let mut near = Agent::start(&place, "h0", "agent.toml");
        let _far = Agent::start(&place, "h1", "agent.toml");
        let mut server = python(&place, "h1", SERVER);
        let mut counts = BufReader::new(server.0.stdout.take().unwrap());
        let mut ready = String::new();
        counts.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        let _client = python(&place, "h0", CLIENT);
        // What was said before everyone was there.
        bytes(&mut counts, 25);
        let rate = assert_shares(&mut counts, [1, 2, 4], "at first");
        // The link is not idle for it.
        assert!(rate > 0.8 * 12.5e6, "{rate}");
        write("agent.toml", &agent_file([4, 2, 1]));
        near.read_again();
        std::thread::sleep(Duration::from_secs(2));
        bytes(&mut counts, 20);
        assert_shares(&mut counts, [4, 2, 1], "two seconds after a change");
        emulation.signal("-TERM");
        assert_eq!(emulation.end().0, Some(0));
    }
}
