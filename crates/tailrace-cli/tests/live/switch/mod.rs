//! `tailrace switch` between interfaces of a namespace, with programs in three others; needs root.
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test may panic")]

mod lab;
mod reload;
mod rights;

use lab::{Lab, address, mac, port};

/// A file with ports of these rates, under a scheme.
fn config(rates: [&str; lab::HOSTS], scheme: &str) -> String {
    let port = |(host, rate): (usize, &&str)| {
        format!("[[port]]\ninterface = \"{}\"\nrate = \"{rate}\"\n", port(host))
    };
    let ports: String = rates.iter().enumerate().map(port).collect();
    format!("[switch]\nbuffer = \"200KB\"\n{ports}[scheme]\n{scheme}\n")
}

const ALIKE: [&str; lab::HOSTS] = ["100Mbps"; lab::HOSTS];

/// Receives a connection's bytes, or datagrams for a second after the first, and says what came.
const TCP_SINK: &str = "import socket, time
server = socket.create_server(('', 7))
print('ready')
peer, _ = server.accept()
start, count, sum = time.monotonic(), 0, 0
while data := peer.recv(1 << 16):
    count += len(data)
    sum += data.count(7)
print(count, sum, time.monotonic() - start)
";
const TCP_SOURCE: &str = "import socket, sys
peer = socket.socket()
peer.settimeout(30)
peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 100000)
peer.connect((sys.argv[1], 7))
peer.sendall(bytes(range(256)) * (int(sys.argv[2]) // 256))
";
const UDP_SINK: &str = "import socket
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
sink.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
sink.bind(('', 7))
sink.settimeout(8)
print('ready')
try:
    while True:
        data, ((_, _, tos),), _, _ = sink.recvmsg(2000, 100)
        print(data[:4].decode(), tos[0])
        sink.settimeout(1)
except TimeoutError:
    pass
";
/// Sends datagrams of 1400 bytes: pairs of a number and a type of service.
const UDP_SOURCE: &str = "import socket, sys
source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
source.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for count, tos in zip(sys.argv[2::2], sys.argv[3::2]):
    source.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(tos))
    for number in range(int(count)):
        source.sendto(b'%04d' % number + bytes(1396), (sys.argv[1], 7))
";

/// Asks a host's kernel for echoes, and waits for each.
const PING: &str = "import os, socket, struct, sys, time
asking = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
asking.settimeout(2)
me = os.getpid() & 0xffff
for number in range(int(sys.argv[2])):
    words = [0x800, 0, me, number] + [0] * 28
    total = sum(words)
    total = (total & 0xffff) + (total >> 16)
    words[1] = ~(total + (total >> 16)) & 0xffff
    asking.sendto(struct.pack('!32H', *words), (sys.argv[1], 0))
    while True:
        reply = asking.recv(2000)
        if reply[20] == 0 and struct.unpack('!HH', reply[24:28]) == (me, number):
            break
    time.sleep(0.05)
";

fn ping(lab: &Lab, from: usize, to: usize, count: &str) {
    lab.python(&lab.host(from), PING, &[&address(to), count]);
}

/// Sends so many bytes over TCP; returns how many seconds that took the receiver.
fn transfer(lab: &Lab, from: usize, to: usize, bytes: u64) -> f64 {
    let sink = lab.spawn(to, TCP_SINK, &[]);
    lab.python(&lab.host(from), TCP_SOURCE, &[&address(to), &bytes.to_string()]);
    received(&sink.end(), bytes)
}

/// Checks what a receiver says; returns the seconds.
fn received(said: &str, bytes: u64) -> f64 {
    let numbers: Vec<f64> = said.split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert_eq!((numbers[0], numbers[1]), (bytes as f64, (bytes / 256) as f64), "{said}");
    numbers[2]
}

#[test]
fn programs_reach_one_another_and_what_is_learned_is_not_flooded() {
    let Some(lab) = Lab::new() else { return };
    let switch = lab.switch(&config(ALIKE, "name = \"fifo\""));
    ping(&lab, 0, 1, "3");
    ping(&lab, 2, 0, "3");
    transfer(&lab, 0, 1, 1 << 20);
    // All have been heard of. What two say to one another is not the third's.
    let before = [0, 1, 2].map(|host| switch.sent(host));
    ping(&lab, 0, 1, "20");
    let after = [0, 1, 2].map(|host| switch.sent(host));
    assert!(after[0] >= before[0] + 20 && after[1] >= before[1] + 20, "{before:?} {after:?}");
    // One may ask anew for an address.
    assert!(after[2] <= before[2] + 2, "{before:?} {after:?}");
    // What is for all goes to all others.
    let sinks = [1, 2].map(|host| lab.spawn(host, UDP_SINK, &[]));
    lab.python(&lab.host(0), UDP_SOURCE, &["10.9.0.255", "20", "0"]);
    for sink in sinks {
        assert_eq!(sink.end().lines().count(), 20);
    }
    let out = switch.end_well();
    for line in ["strays   ", "lag      median ", "links    AF_", "eth1  ", "eth3  "] {
        assert!(out.contains(line), "{line}: {out}");
    }
    assert!(!out.contains("host0"), "{out}");
}

#[test]
fn addresses_may_be_given_and_then_nothing_is_learned() {
    let Some(lab) = Lab::new() else { return };
    let mut config = config(ALIKE, "name = \"fifo\"").replace("[switch]", "[switch]\nlearning = false");
    for host in 0..2 {
        let interface = format!("interface = \"{}\"", port(host));
        config = config.replace(&interface, &format!("{interface}\nmacs = [\"{}\"]", mac(host)));
    }
    let switch = lab.switch(&config);
    ping(&lab, 0, 1, "1");
    ping(&lab, 0, 2, "1");
    let before = [1, 2].map(|host| switch.sent(host));
    ping(&lab, 0, 1, "20");
    let between = [1, 2].map(|host| switch.sent(host));
    assert!(between[0] >= before[0] + 20 && between[1] <= before[1] + 2, "{before:?} {between:?}");
    // What is for the third, whose address nobody has given, goes to the second as well.
    ping(&lab, 0, 2, "20");
    let after = [1, 2].map(|host| switch.sent(host));
    assert!(after[0] >= between[0] + 20 && after[1] >= between[1] + 20, "{between:?} {after:?}");
    switch.end_well();
}

#[test]
fn each_port_keeps_to_its_rate() {
    const BYTES: u64 = 4 << 20;
    let Some(lab) = Lab::new() else { return };
    let switch = lab.switch(&config(["100Mbps", "20Mbps", "100Mbps"], "name = \"fifo\""));
    let (slow, fast) = (transfer(&lab, 0, 1, BYTES), transfer(&lab, 1, 0, BYTES));
    // Headers take another 4 %. A lost packet takes a retransmission.
    assert!((1.6..4.0).contains(&slow), "4 MiB at 20 Mbps take 1.75 s, but took {slow}");
    assert!((0.3..1.5).contains(&fast), "4 MiB at 100 Mbps take 0.35 s, but took {fast}");
    println!("4 MiB: {slow:.2} s at 20 Mbps, {fast:.2} s at 100 Mbps");
    switch.end_well();
}

#[test]
fn the_first_queue_goes_first() {
    let Some(lab) = Lab::new() else { return };
    let switch = lab.switch(&config(["100Mbps", "100Mbps", "10Mbps"], "name = \"mlfq\""));
    ping(&lab, 0, 2, "1");
    let sink = lab.spawn(2, UDP_SINK, &[]);
    // 100 datagrams of the last queue take 114 ms, and those of the first, DSCP 7, come behind them.
    lab.python(&lab.host(0), UDP_SOURCE, &[&address(2), "100", "0", "10", "28"]);
    let said = sink.end();
    let of: Vec<&str> = said.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    let last = of.iter().rposition(|tos| *tos == "28").unwrap();
    assert_eq!(of.iter().filter(|tos| **tos == "28").count(), 10, "{of:?}");
    assert!(of.len() == 110 && last < 60, "{last}: {of:?}");
    println!("the last of the first queue came after {last} of 110");
    switch.end_well();
}

#[test]
fn marks_are_made_where_the_scheme_makes_them() {
    let Some(lab) = Lab::new() else { return };
    let scheme = "name = \"dctcp\"\nparams = { port = { marking_threshold = \"10pkt\" } }";
    let switch = lab.switch(&config(["100Mbps", "100Mbps", "10Mbps"], scheme));
    ping(&lab, 0, 2, "1");
    let sink = lab.spawn(2, UDP_SINK, &[]);
    lab.python(&lab.host(0), UDP_SOURCE, &[&address(2), "60", "2", "20", "0"]);
    let said = sink.end();
    let of = |tos: &str| said.lines().filter(|line| line.ends_with(tos)).count();
    // Those that are not ECN-capable are left alone.
    assert!(of(" 3") > 20 && of(" 2") > 5 && of(" 0") == 20, "{said}");
    let marked = switch.metric("tailrace_port_marked_packets_total{port=\"eth3\"}");
    assert_eq!(marked as usize, of(" 3"));
    switch.end_well();
}
