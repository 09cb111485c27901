//! Thresholds of a fleet, and what becomes of it when something of it dies.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::agents::*;
use crate::common::*;
use crate::control::etcd::Etcd;
use crate::control::place::*;
use crate::frames::Tap;

const AWAFS: &str = "[scheme]\nname = \"awafs\"\nparams = { placement = \"host\", period = \"200ms\", window = \"60s\", \
                     percentiles = [0.5], port = { queues = 2 } }\n";
const SLOT: &str = "slot = \"500ms\"\nlease = \"2s\"\n";
const PATIENCE: Duration = Duration::from_secs(15);

fn is_near(value: u64, expected: u64) -> bool {
    value.abs_diff(expected) < expected / 50
}

/// Waits until both hosts have a threshold.
fn both_have(world: &World, expected: u64) -> Duration {
    let what = format!("thresholds of {expected}");
    until(&what, PATIENCE, || (0..2).all(|host| is_near(world.threshold(host), expected)))
}

#[test]
fn thresholds_follow_the_flows_of_all_hosts() {
    let Some(world) = world() else { return };
    let etcd = Etcd::start(&world.third.path(), world.folder.path(), &ENDPOINTS);
    on(&world.pair.b, || ip("link set eth0 gso_max_segs 1"));
    let _control = world.control("c1", 9401, &etcd.section("127.0.0.1", SLOT), AWAFS);
    let _agents = [0, 1].map(|host| world.agent(host, &etcd.section(ENDPOINTS[host], SLOT), AWAFS));
    // The median of the first host's flows is 20 KB, of the second's 120 KB, and of all 40 KB.
    thread::scope(|scope| {
        scope.spawn(|| world.flows(0, (1..=40).map(|kb| kb * 1_000)));
        world.flows(1, (101..=140).map(|kb| kb * 1_000));
    });
    let after = both_have(&world, 40_000);
    println!("both hosts have the threshold of all flows {after:?} after the last of them");
    let status = world.status(0);
    assert_eq!(
        (&status["fleet"]["connected"], &status["fleet"]["losses"]),
        (&true.into(), &0.into()),
        "{status}"
    );
    let page = metrics(&world.third, 9401);
    for line in [
        "tailrace_control_leads{fleet=\"default\"} 1",
        "tailrace_control_hosts{fleet=\"default\"} 2",
        "tailrace_control_flows_ended_total{fleet=\"default\"} 80",
    ] {
        assert!(has(&page, line), "{line}: {page}");
    }
    // And packets of the second host have it.
    let tap = world.pair.a.inside(|| Ok(Tap::new())).unwrap();
    let listener = world.pair.a.inside(|| TcpListener::bind(address(A4, 81))).unwrap();
    let mut near = world.pair.b.inside(|| TcpStream::connect(address(A4, 81))).unwrap();
    let mut far = listener.accept().unwrap().0;
    carry(&mut near, &mut far, 90_000);
    let seen = tap.segments(81);
    let first_low = seen.iter().find(|(_, class)| class >> 2 == 6).map(|(before, _)| *before);
    assert!(first_low.is_some_and(|at| (39_000..43_000).contains(&at)), "{first_low:?}");
    // Twice as many of the second's: of 240 flows the 120th is one of 150 KB.
    world.flows(1, (0..160).map(|_| 150_000));
    both_have(&world, 150_000);
}

#[test]
fn two_hosts_of_one_name_are_noticed() {
    let Some(world) = world() else { return };
    let etcd = Etcd::start(&world.third.path(), world.folder.path(), &ENDPOINTS);
    let twins =
        |host: usize| world.status(host)["fleet"]["reports_of_others_with_this_name"].as_u64().unwrap();
    let agent = |host: usize| {
        let section = etcd.section(ENDPOINTS[host], SLOT);
        let text = format!("[agent]\ninterface = \"eth0\"\n{section}host = \"web\"\n{AWAFS}");
        let file = world.write(&format!("twin{host}.toml"), &text);
        Running(start(world.host(host), &["agent", self::text(&file)], "read its file again"))
    };
    let first = agent(0);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(twins(0), 0, "alone");
    drop(first);
    // Killed, and its lease not over: who comes back is no twin of itself.
    let _first = agent(0);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(twins(0), 0, "come back");
    let _second = agent(1);
    until("both know", PATIENCE, || twins(0) > 0 && twins(1) > 0);
}

#[test]
fn another_controller_takes_over_within_two_slots() {
    let Some(world) = world() else { return };
    let etcd = Etcd::start(&world.third.path(), world.folder.path(), &ENDPOINTS);
    let slot = "slot = \"1s\"\nlease = \"5s\"\n";
    let section = etcd.section("127.0.0.1", slot);
    let mut first = world.control("c1", 9401, &section, AWAFS);
    until("the first leads", PATIENCE, || {
        has(&metrics(&world.third, 9401), "tailrace_control_leads{fleet=\"default\"} 1")
    });
    let _second = world.control("c2", 9402, &section, AWAFS);
    let _agents = [0, 1].map(|host| world.agent(host, &etcd.section(ENDPOINTS[host], slot), AWAFS));
    world.flows(0, (1..=39).map(|kb| kb * 1_000));
    both_have(&world, 20_000);
    assert!(has(&metrics(&world.third, 9402), "tailrace_control_leads{fleet=\"default\"} 0"));
    assert!(etcd.get("/tailrace/default/policy").contains("c1:"));
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    let killed = Instant::now();
    let leads = || has(&metrics(&world.third, 9402), "tailrace_control_leads{fleet=\"default\"} 1");
    until("the second leads", PATIENCE, leads);
    let after = killed.elapsed();
    println!("another controller leads {after:?} after the first was killed, with slots of 1 s");
    assert!(after < Duration::from_secs(2), "{after:?}");
    until("it speaks", Duration::from_secs(1), || etcd.get("/tailrace/default/policy").contains("c2:"));
    // It has heard all that the first one had.
    assert!((0..2).all(|host| is_near(world.threshold(host), 20_000)));
    world.flows(1, (0..120).map(|_| 90_000));
    both_have(&world, 90_000);
    // One that ends by itself leaves at once.
    let third = world.control("c3", 9403, &section, AWAFS);
    signal(&_second.0, Signal::SIGTERM);
    let after = until("the third leads", PATIENCE, || {
        has(&metrics(&world.third, 9403), "tailrace_control_leads{fleet=\"default\"} 1")
    });
    println!("another controller leads {after:?} after one was ended");
    assert!(after < Duration::from_secs(1), "{after:?}");
    signal(&third.0, Signal::SIGTERM);
}

#[test]
fn a_leader_that_was_stopped_for_a_while_is_not_heard() {
    let Some(world) = world() else { return };
    let etcd = Etcd::start(&world.third.path(), world.folder.path(), &ENDPOINTS);
    let section = etcd.section("127.0.0.1", "slot = \"500ms\"\nlease = \"60s\"\n");
    let leads = |port: u16, value: u8| {
        has(&metrics(&world.third, port), &format!("tailrace_control_leads{{fleet=\"default\"}} {value}"))
    };
    let first = world.control("c1", 9401, &section, AWAFS);
    until("the first leads", PATIENCE, || leads(9401, 1));
    let _second = world.control("c2", 9402, &section, AWAFS);
    signal(&first.0, Signal::SIGSTOP);
    until("the second leads", PATIENCE, || leads(9402, 1));
    signal(&first.0, Signal::SIGCONT);
    let after = until("the first has noticed", Duration::from_secs(2), || leads(9401, 0));
    println!("a leader that was stopped notices {after:?} after it goes on");
    thread::sleep(Duration::from_secs(2));
    assert!(leads(9401, 0) && leads(9402, 1));
    assert!(etcd.get("/tailrace/default/leader").starts_with("c2:"));
}

#[test]
fn no_thread_of_an_agent_in_a_fleet_has_rights() {
    let Some(world) = world() else { return };
    let etcd = Etcd::start(&world.third.path(), world.folder.path(), &ENDPOINTS);
    let agent = world.agent(0, &etcd.section(ENDPOINTS[0], SLOT), AWAFS);
    until("it reports", PATIENCE, || world.status(0)["fleet"]["reports_told"].as_u64().unwrap() > 1);
    let threads: Vec<_> = std::fs::read_dir(format!("/proc/{}/task", agent.0.id())).unwrap().collect();
    assert!(threads.len() > 1, "etcd has a thread");
    for thread in threads {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert!(line("CapEff:").ends_with("0000000000000000"), "{status}");
        assert!(!line("Uid:").contains("\t0"), "{status}");
    }
}

/// A connection over which bytes go all the time.
struct Load {
    carried: AtomicU64,
    over: AtomicBool,
}

#[test]
fn without_etcd_connections_and_tags_go_on() {
    let Some(world) = world() else { return };
    let mut etcd = Etcd::start(&world.third.path(), world.folder.path(), &ENDPOINTS);
    let _control = world.control("c1", 9401, &etcd.section("127.0.0.1", SLOT), AWAFS);
    let _agents = [0, 1].map(|host| world.agent(host, &etcd.section(ENDPOINTS[host], SLOT), AWAFS));
    world.flows(0, (1..=39).map(|kb| kb * 1_000));
    both_have(&world, 20_000);
    let load = Load { carried: AtomicU64::new(0), over: AtomicBool::new(false) };
    let listener = world.pair.b.inside(|| TcpListener::bind(address(B4, 82))).unwrap();
    let mut near = world.pair.a.inside(|| TcpStream::connect(address(B4, 82))).unwrap();
    let mut far = listener.accept().unwrap().0;
    let connected = |value: u8| {
        let line = format!("tailrace_agent_fleet_connected{{interface=\"eth0\"}} {value}");
        (0..2).all(|host| has(&metrics(world.host(host), 9400), &line))
    };
    let tagged = || world.status(0)["packets_tagged"].as_u64().unwrap();
    let goes_on = |when: &str| {
        let (before, tags) = (load.carried.load(Ordering::Relaxed), tagged());
        until(when, PATIENCE, || {
            load.carried.load(Ordering::Relaxed) > before + 1_000_000 && tagged() > tags
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !load.over.load(Ordering::Relaxed) {
                near.write_all(&[1; 10_000]).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
            near.shutdown(std::net::Shutdown::Both).unwrap();
        });
        scope.spawn(|| {
            let mut bytes = [0; 65_536];
            while let Ok(count @ 1..) = far.read(&mut bytes) {
                load.carried.fetch_add(count as u64, Ordering::Relaxed);
            }
        });
        goes_on("with etcd");
        etcd.kill();
        let after = until("agents say that it is lost", PATIENCE, || connected(0));
        println!("agents say {after:?} after etcd was killed that it is lost");
        goes_on("without etcd");
        thread::sleep(Duration::from_secs(4));
        // Flows of which nobody is told change nothing.
        world.flows(1, (0..60).map(|_| 90_000));
        let status = world.status(0);
        assert!(is_near(world.threshold(0), 20_000) && is_near(world.threshold(1), 20_000), "{status}");
        assert!(status["fleet"]["lost_seconds"].as_f64().unwrap() > 3.0, "{status}");
        assert!(status["fleet"]["lost_because"].as_str().unwrap().contains("10.8.1.2"), "{status}");
        assert!(has(&metrics(&world.third, 9401), "tailrace_control_connected{fleet=\"default\"} 0"));
        let shown = world.pair.a.inside(|| tailrace(&["agent", "status"]).output()).unwrap();
        assert!(said(&shown).contains("fleet        LOST for"), "{}", said(&shown));
        etcd.start_again();
        let after = until("agents say that it is back", PATIENCE, || connected(1));
        println!("agents are back {after:?} after etcd was");
        until("the controller leads again", PATIENCE, || {
            has(&metrics(&world.third, 9401), "tailrace_control_leads{fleet=\"default\"} 1")
                && has(&metrics(&world.third, 9401), "tailrace_control_hosts{fleet=\"default\"} 2")
        });
        world.flows(1, (0..120).map(|_| 90_000));
        both_have(&world, 90_000);
        goes_on("with etcd again");
        assert_eq!(world.status(0)["fleet"]["losses"], 1);
        load.over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn what_a_dead_host_has_claimed_ends_with_its_lease() {
    let Some(world) = world() else { return };
    let etcd = Etcd::start(&world.third.path(), world.folder.path(), &ENDPOINTS);
    let _control = world.control("c1", 9401, &etcd.section("127.0.0.1", SLOT), AWAFS);
    let mut agents = [0, 1].map(|host| world.agent(host, &etcd.section(ENDPOINTS[host], SLOT), AWAFS));
    let hosts = |count: usize| {
        has(&metrics(&world.third, 9401), &format!("tailrace_control_hosts{{fleet=\"default\"}} {count}"))
    };
    until("both report", PATIENCE, || hosts(2));
    agents[1].0.kill().unwrap();
    agents[1].0.wait().unwrap();
    assert!(etcd.get("/tailrace/default/hosts/h1").contains("awafs"));
    // Two seconds, and the etcd looks every half.
    let after = until("its claims end", Duration::from_secs(6), || hosts(1));
    println!("what a host claims ends {after:?} after it was killed, with a lease of 2 s");
    assert_eq!(etcd.get("/tailrace/default/hosts/h1"), "");
    // One that is ended leaves at once.
    signal(&agents[0].0, Signal::SIGTERM);
    assert!(agents[0].0.wait().unwrap().success());
    until("it has left", Duration::from_secs(1), || hosts(0));
}
