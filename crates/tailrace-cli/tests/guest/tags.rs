//! Tags of `pias`, sorted by the kernel's own queues.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use nix::sys::signal::Signal;

use super::agents::carry;
use super::place::{PIAS, TO4, TO6, ThreeHosts, sh, wait};

/// Those of `PIAS`. The first is ten full segments over IPv4: the eleventh is the last in the first queue, since as many bytes as the
/// threshold are not more.
const THRESHOLDS: [u64; 2] = [14_480, 100_000];
const BYTES: u64 = 300_000;

/// Three queues by DSCP, and one for what has no tag.
fn prio(at: &str) -> String {
    let last = "3 ".repeat(16);
    let mut script = format!("tc qdisc add dev right {at} handle 8: prio bands 4 priomap {last}\n");
    for (band, dscp) in [(1, 7), (2, 6), (3, 5)] {
        for (order, protocol) in [(1, "ip"), (2, "ipv6")] {
            script += &format!(
                "tc filter add dev right parent 8: protocol {protocol} prio {order} flower ip_tos {:#x}/0xfc classid 8:{band}\n",
                dscp << 2
            );
        }
    }
    script
}

/// Bytes and packets of the classes of a kind, as `tc` counts them: with Ethernet's header.
fn bands(place: &ThreeHosts, kind: &str) -> Vec<[u64; 2]> {
    let shown = sh(&place.switch, "tc -s class show dev right");
    let mut lines = shown.lines();
    let mut bands = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with(&format!("class {kind} ")) {
            let words: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
            bands.push([words[1], words[3]].map(|word| word.parse().unwrap()));
        }
    }
    bands
}

/// What one connection adds to each of so many queues, by hand: headers with timestamps, segments of 1500 bytes with
/// their IP header, SYN and the acknowledgement of its answer in the first. `None`: all is in the last.
fn expected(queues: usize, thresholds: Option<[u64; 2]>) -> Vec<[u64; 2]> {
    let mut bands = vec![[0; 2]; queues];
    for ip in [20, 40] {
        let (headers, mss) = (14 + ip + 32, 1_500 - ip - 32);
        let queue = |before: u64| {
            thresholds.map_or(queues - 1, |of| of.iter().filter(|limit| before > **limit).count())
        };
        let mut add =
            |queue: usize, bytes: u64| bands[queue] = [bands[queue][0] + bytes, bands[queue][1] + 1];
        // A SYN has eight bytes more of options.
        add(queue(0), headers + 8);
        add(queue(0), headers);
        for before in (0..BYTES).step_by(mss as usize) {
            add(queue(before), headers + mss.min(BYTES - before));
        }
    }
    bands
}

/// What two connections, one over IPv4 and one over IPv6, add to the queues while they are open.
fn added(place: &ThreeHosts, kind: &str) -> Vec<[u64; 2]> {
    let before = bands(place, kind);
    let mut open = Vec::new();
    for (to, port) in [(TO4, 80), (TO6, 81)] {
        let listener = place.far.inside(|| TcpListener::bind((to, port))).unwrap();
        let mut near = place.near.inside(|| TcpStream::connect((to, port))).unwrap();
        let mut far = listener.accept().unwrap().0;
        carry(&mut near, &mut far, BYTES as usize);
        open.push((near, far));
    }
    let after = bands(place, kind);
    drop(open);
    // Until their ends have gone by, too.
    wait(300);
    after
        .iter()
        .zip(before)
        .map(|(after, before)| [0, 1].map(|number| after[number] - before[number]))
        .collect()
}

#[test]
#[ignore = "make test-kernel runs it"]
fn bytes_are_in_the_bands_of_prio_and_ets_at_the_thresholds() {
    let place = ThreeHosts::new();
    let script = place.script("pias", &["thresholds=[\"14480B\", \"100KB\"]", "port.queues=3"]);
    let script = format!("set -- 20Mbps right\n{script}");
    for (kind, queues, commands) in [("prio", 4, prio("root")), ("ets", 3, script)] {
        place.queues(&commands);
        for how in [Signal::SIGTERM, Signal::SIGKILL] {
            let agent = place.agent(&place.near, PIAS);
            let tagged = added(&place, kind);
            println!("{kind}, [bytes, packets] of each queue with the agent: {tagged:?}");
            assert_eq!(tagged, expected(queues, Some(THRESHOLDS)), "{kind}");
            agent.end(how);
            let plain = added(&place, kind);
            println!("{kind}, after {how}: {plain:?}");
            assert_eq!(plain, expected(queues, None), "{kind} after {how}");
        }
    }
}

/// The median time in milliseconds that 10 KB take to arrive, beside a long flow.
fn short_flow(place: &ThreeHosts) -> f64 {
    let listener = place.far.inside(|| TcpListener::bind((TO4, 80))).unwrap();
    let mut long = place.near.inside(|| TcpStream::connect((TO4, 80))).unwrap();
    let mut sink = listener.accept().unwrap().0;
    thread::scope(|scope| {
        scope.spawn(move || std::io::copy(&mut sink, &mut std::io::sink()).unwrap());
        let closing = long.try_clone().unwrap();
        scope.spawn(move || while long.write_all(&[0; 65_536]).is_ok() {});
        wait(1_500);
        let mut times: Vec<f64> = (0..9)
            .map(|_| {
                let begun = Instant::now();
                let mut short = place.near.inside(|| TcpStream::connect((TO4, 80))).unwrap();
                let mut end = listener.accept().unwrap().0;
                short.write_all(&[0; 10_000]).unwrap();
                end.read_exact(&mut [0; 10_000]).unwrap();
                begun.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        closing.shutdown(Shutdown::Both).unwrap();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

#[test]
#[ignore = "make test-kernel runs it"]
fn short_flows_pass_long_ones_in_prio() {
    let place = ThreeHosts::new();
    place.queues(&format!(
        "tc qdisc add dev right root handle 1: tbf rate 20mbit burst 3000 limit 1000000\n{}",
        prio("parent 1:1")
    ));
    let plain = short_flow(&place);
    let agent = place.agent(&place.near, PIAS);
    let tagged = short_flow(&place);
    agent.end(Signal::SIGTERM);
    println!("10 KB beside a long flow: {plain:.1} ms, with the agent {tagged:.1} ms");
    // 10 KB are 4.2 ms of the link. The long flow's queue is up to 61 ms, and both a SYN and what follows wait for it.
    assert!(tagged < 15.0 && plain > 3.0 * tagged, "{plain} and {tagged} ms");
}
