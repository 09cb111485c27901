//! The agent's DCTCP beside the kernel's own, over the kernel's `red`, which marks as `tailrace qos` says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use nix::sys::socket::{getsockopt, sockopt};

use super::place::{TO4, TO6, ThreeHosts, sh, wait};

const K: f64 = 30_000.0;
/// Bytes a second.
const LINK: f64 = 2.5e6;
const DCTCP: &str = "[scheme]\nname = \"dctcp\"\n";

/// A link of 20 Mbps whose `red` is that of the plan for `dctcp`.
fn bottleneck(place: &ThreeHosts) {
    let script = place.script("dctcp", &["port.marking_threshold=\"30KB\""]);
    let red = script.split("RED=\"").nth(1).unwrap().split('"').next().unwrap();
    place.queues(&format!(
        "tc qdisc add dev right root handle 1: tbf rate 20mbit burst 3000 limit 1000000\n\
         tc qdisc add dev right parent 1:1 handle 10: red {red}"
    ));
}

/// Connections that start from now on have this law, at both ends.
fn default_law(place: &ThreeHosts, name: &str) {
    for host in [&place.near, &place.far] {
        sh(host, &format!("echo {name} >/proc/sys/net/ipv4/tcp_congestion_control"));
    }
}

/// Sends to each of these addresses, under a law whose name begins so, for as long as `during` takes, which is told how much has come
/// at each.
fn flows<T>(place: &ThreeHosts, of: &[(&str, &str)], during: impl FnOnce(&[AtomicU64]) -> T) -> T {
    let connect = |(port, (to, law)): (u16, &(&str, &str))| {
        let listener = place.far.inside(|| TcpListener::bind((*to, port))).unwrap();
        let near = place.near.inside(|| TcpStream::connect((*to, port))).unwrap();
        let has = getsockopt(&near, sockopt::TcpCongestion).unwrap();
        assert!(has.to_str().unwrap().starts_with(law), "{has:?}, not {law}");
        (near, listener.accept().unwrap().0)
    };
    let open: Vec<(TcpStream, TcpStream)> = (80..).zip(of).map(connect).collect();
    let came: Vec<AtomicU64> = of.iter().map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for ((mut near, mut far), came) in open.iter().map(|(near, far)| (near, far)).zip(&came) {
            scope.spawn(move || while near.write_all(&[0; 65_536]).is_ok() {});
            scope.spawn(move || {
                let mut room = vec![0; 65_536];
                while let Ok(bytes @ 1..) = far.read(&mut room) {
                    came.fetch_add(bytes as u64, Relaxed);
                }
            });
        }
        let result = during(&came);
        open.iter().for_each(|(near, _)| near.shutdown(Shutdown::Both).unwrap());
        result
    })
}

/// What `red` counts: packets, those marked, and bytes that wait.
fn red(place: &ThreeHosts) -> [f64; 3] {
    let shown = sh(&place.switch, "tc -s -j qdisc show dev right");
    let queues: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap();
    let red = queues.iter().find(|queue| queue["kind"] == "red").unwrap();
    ["packets", "marked", "backlog"].map(|field| red[field].as_f64().unwrap())
}

#[derive(Debug)]
struct Seen {
    /// In multiples of K.
    queue: f64,
    marked: f64,
    /// Of the link, by packets of 1514 bytes.
    load: f64,
}

/// The mean queue, and the marked part of packets, of two flows in five seconds.
fn seen(place: &ThreeHosts, law: &str) -> Seen {
    let seen = flows(place, &[(TO4, law); 2], |_| {
        wait(2_000);
        let (begun, before) = (Instant::now(), red(place));
        let lengths: Vec<f64> = (0..100)
            .map(|_| {
                wait(50);
                red(place)[2]
            })
            .collect();
        let (seconds, after) = (begun.elapsed().as_secs_f64(), red(place));
        let packets = after[0] - before[0];
        Seen {
            queue: lengths.iter().sum::<f64>() / lengths.len() as f64 / K,
            marked: (after[1] - before[1]) / packets,
            load: packets * 1_514.0 / seconds / LINK,
        }
    });
    println!("{law}: {seen:.3?}");
    seen
}

#[test]
#[ignore = "make test-kernel runs it"]
fn queues_and_marks_are_those_of_the_kernels_dctcp() {
    let place = ThreeHosts::new();
    bottleneck(&place);
    let cubic = seen(&place, "cubic");
    default_law(&place, "dctcp");
    let kernel = seen(&place, "dctcp");
    default_law(&place, "cubic");
    let _agents = [&place.near, &place.far].map(|host| place.agent(host, &format!("{DCTCP}[law]\n")));
    let agent = seen(&place, "tr_dctcp_");
    assert!(cubic.queue > 3.0 && cubic.marked == 0.0, "{cubic:?}");
    for of in [&kernel, &agent] {
        assert!((0.6..1.3).contains(&of.queue) && of.load > 0.95, "{of:?}");
    }
    assert!((agent.queue / kernel.queue - 1.0).abs() < 0.15, "{agent:?}, {kernel:?}");
    assert!((agent.marked / kernel.marked - 1.0).abs() < 0.25, "{agent:?}, {kernel:?}");
}

#[test]
#[ignore = "make test-kernel runs it"]
fn a_link_is_shared_evenly_with_the_kernels_dctcp() {
    let place = ThreeHosts::new();
    bottleneck(&place);
    default_law(&place, "dctcp");
    let mut sum = [0.0; 2];
    // In turn over IPv4 and IPv6, and several times: in so still a network two flows keep for long what their beginnings gave them,
    // which is 0.8 to 1.26 times.
    for (kernel, agent, to) in [(TO4, TO6, "fd09::/16"), (TO6, TO4, "10.9.0.0/16")] {
        let law = format!("{DCTCP}[law]\nto = [\"{to}\"]\n");
        let _agents = [&place.near, &place.far].map(|host| place.agent(host, &law));
        for _ in 0..4 {
            let part = flows(&place, &[(kernel, "dctcp"), (agent, "tr_dctcp_")], |came| {
                wait(1_000);
                let before = [0, 1].map(|flow| came[flow].load(Relaxed));
                wait(2_000);
                [0, 1].map(|flow| (came[flow].load(Relaxed) - before[flow]) as f64 / 2.0 / LINK)
            });
            println!(
                "of the link {:.3} under the kernel's dctcp, {:.3} under the agent's law",
                part[0], part[1]
            );
            sum = [0, 1].map(|of| sum[of] + part[of]);
        }
    }
    let ratio = sum[1] / sum[0];
    println!("the agent's law has {ratio:.3} times what the kernel's has");
    assert!(sum[0] + sum[1] > 0.9 * 8.0, "{sum:?}");
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}
