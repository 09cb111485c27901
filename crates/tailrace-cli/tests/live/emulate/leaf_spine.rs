//! The fabric of the guide: eight hosts, leaf-spine, 100 Mbps, AWAFS in the switches.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::emulate::get;
use crate::place::{EmulatedFolder, stderr};

/// Takes what it is sent, on as many connections at once as there are.
const SINK: &str = "import socketserver
class Sink(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(65536): pass
        self.request.sendall(b'.')
class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 64
server = Server(('', 7), Sink)
print('ready', flush=True)
server.serve_forever()
";
/// Short flows and long ones, for so many seconds, four at a time.
const SOURCE: &str = "import socket, sys, threading, time
host, end = sys.argv[1], time.monotonic() + float(sys.argv[2])
def flows(number):
    size = 2_000_000 if number == 0 else 20_000 * number
    while time.monotonic() < end:
        peer = socket.create_connection((host, 7))
        peer.settimeout(30)
        peer.sendall(bytes(size))
        peer.shutdown(socket.SHUT_WR)
        assert peer.recv(1) == b'.'
threads = [threading.Thread(target=flows, args=[number]) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print('done')
";

/// A sum over all lines of a metric whose labels contain something.
fn sum(page: &str, metric: &str, labels: &str) -> f64 {
    let lines = page.lines().filter(|line| line.starts_with(metric) && line.contains(labels));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// The thresholds of all ports, as the page has them.
fn thresholds(page: &str) -> Vec<&str> {
    page.lines()
        .filter(|line| line.starts_with("tailrace_reported{") && line.contains("threshold_bytes"))
        .collect()
}

#[test]
fn what_programs_send_moves_the_thresholds_of_awafs() {
    let Some(place) = EmulatedFolder::new() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/live/leaf-spine8.toml");
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let emulation = place.start_file(&file.display().to_string(), &format!("--for 120s --metrics {at}"));
    let mut sink = place.command("enter NAME/h1 -- python3 -c");
    let mut sink = sink.arg(SINK).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(sink.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let page = || get(at, "/metrics");
    let before = (0..500).map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        page()
    });
    let before = before.into_iter().find(|page| !thresholds(page).is_empty());
    let before = before.unwrap_or_else(|| panic!("no thresholds: {}", page()));
    // From the other rack, over both spines' links.
    let source = place.command("enter NAME/h6 -- python3 -c").args([SOURCE, "h1", "4"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&source.stdout), "done\n", "{}", stderr(&source));
    let after = page();
    let sent = |port: &str| sum(&after, "tailrace_port_bytes_total{", &format!("port=\"{port}\""));
    // A hundredth of the link's 12.5 MB/s would be a failure.
    assert!(sent("leaf0->host1") > 5e6, "{after}");
    let uplinks = sent("leaf1->spine0") + sent("leaf1->spine1");
    assert!(uplinks >= sent("leaf0->host1"), "{after}");
    assert!(sum(&after, "tailrace_reported{", "threshold_bytes") > 0.0);
    assert_ne!(thresholds(&before), thresholds(&after), "no threshold has moved");
    let dropped_or_marked = sum(&after, "tailrace_port_marked_packets_total{", "")
        + sum(&after, "tailrace_port_dropped_packets_total{", "");
    assert!(dropped_or_marked > 0.0, "{after}");
    emulation.signal("-TERM");
    assert_eq!(emulation.end().0, Some(0));
    sink.wait().unwrap();
    place.assert_no_traces();
}
