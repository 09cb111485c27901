//! A thousand agents that only report, an etcd, and a controller: the load that they make. Ignored, for it takes minutes:
//! `cargo test -p tailrace-cli --features agent --test control crowd -- --ignored --nocapture`.

use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tailrace_agent::etcd::{Access, Ended, Identity, Member, Reached, Report, Sizes};
use tailrace_bpf::Histogram;
use tailrace_core::Reveals;

use crate::agents::until;
use crate::control::etcd::Etcd;
use crate::control::place::*;

const HOSTS: usize = 1_000;
/// Flows that end at each host in a slot.
const ENDED: u64 = 20;
const SLOT: Duration = Duration::from_secs(1);
const LASTS: Duration = Duration::from_secs(60);
const SCHEME: &str = "[scheme]\nname = \"awafs\"\nparams = { placement = \"host\", period = \"1s\", window = \"10s\", \
                      percentiles = [0.5], port = { queues = 2 } }\n";

/// Seconds of processor time that a process has taken, and its memory in bytes.
fn taken(pid: u32) -> (f64, u64) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let number = |place: usize| fields[place].parse::<u64>().unwrap();
    // In hundredths of a second, and pages.
    ((number(11) + number(12)) as f64 / 100.0, number(21) * 4_096)
}

fn report(scheme: &str, host: u64, slot: u64) -> Report {
    let mut sizes = Histogram::default();
    (0..ENDED)
        .for_each(|flow| sizes.add(1_000 + (host * 7_919 + slot * 104_729 + flow * 1_299_709) % 100_000));
    let ended = vec![Ended { slice: 0, reveals: Reveals::Nothing, sizes: Sizes(sizes) }];
    Report { scheme: scheme.to_owned(), ended, flows: Vec::new() }
}

fn join_all(access: &Access) -> Vec<Member> {
    let (next, members) = (Mutex::new(0..HOSTS), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(host) = { next.lock().unwrap().next() } {
                    let member = Member::join(Reached::new(access.clone()).unwrap(), &format!("h{host}"));
                    members.lock().unwrap().push(member.unwrap());
                }
            });
        }
    });
    members.into_inner().unwrap()
}

#[test]
#[ignore = "takes minutes"]
fn a_thousand_agents_report_in_every_slot() {
    let Some(world) = world() else { return };
    let folder = world.folder.path();
    let etcd = Etcd::start_with(&world.third.path(), folder, &ENDPOINTS, true);
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let section = "[control]\nendpoints = [\"https://127.0.0.1:2379\"]\nca = \"ca.pem\"\n\
                   certificate = \"client.pem\"\nkey = \"client.key\"\n";
    let control = world.control("c1", 9401, section, SCHEME);
    let access = Access {
        endpoints: vec!["https://127.0.0.1:2379".to_owned()],
        ca: Some(read("ca.pem")),
        identity: Some(Identity { certificate: read("client.pem"), key: read("client.key") }),
        user: None,
        fleet: "default".to_owned(),
        slot: SLOT,
        lease: Duration::from_secs(10),
    };
    until("the controller speaks", Duration::from_secs(10), || {
        !etcd.get("/tailrace/default/policy").is_empty()
    });
    let policy: serde_json::Value = serde_json::from_str(&etcd.get("/tailrace/default/policy")).unwrap();
    let scheme = policy["scheme"].as_str().unwrap().to_owned();
    let began = Instant::now();
    let members = world.third.inside(|| Ok(join_all(&access))).unwrap();
    println!("{HOSTS} agents have joined after {:.1} s", began.elapsed().as_secs_f64());

    let pids = [etcd.pid(), control.0.id(), std::process::id()];
    let before = pids.map(taken);
    let (began, mut slot, mut bytes) = (Instant::now(), 0, 0);
    while began.elapsed() < LASTS {
        for (host, member) in (0..).zip(&members) {
            let report = report(&scheme, host, slot);
            bytes = serde_json::to_vec(&report).unwrap().len();
            member.report(&report);
            // Agents do not all report at the same time.
            let due = SLOT * slot as u32 + SLOT * host as u32 / HOSTS as u32;
            thread::sleep(due.saturating_sub(began.elapsed()));
        }
        slot += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    let after = pids.map(taken);
    let told: u64 = members.iter().map(|member| member.standing().sent).sum();
    let untold: u64 = members.iter().map(|member| member.standing().unsent + member.standing().losses).sum();
    println!("{told} reports of {bytes} bytes in {seconds:.1} s, {untold} not told; {slot} slots");
    for (name, place) in [("etcd", 0), ("controller", 1), ("agents together", 2)] {
        let share = (after[place].0 - before[place].0) / seconds * 100.0;
        println!("{name}: {share:.1} % of a core, {:.0} MB", after[place].1 as f64 / 1e6);
    }
    let database = fs::metadata(folder.join("data/member/snap/db")).unwrap().len();
    println!("etcd's database: {:.0} MB", database as f64 / 1e6);
    let page = metrics(&world.third, 9401);
    let line = page.lines().find(|line| line.starts_with("tailrace_control_threshold_bytes")).unwrap();
    println!("{line}");
    assert!(has(&page, &format!("tailrace_control_hosts{{fleet=\"default\"}} {HOSTS}")), "{page}");
    // What the leader decides is with all of them.
    let came = Instant::now();
    let mut waiting: Vec<&Member> = members.iter().collect();
    waiting.iter().for_each(|member| drop(member.take()));
    while !waiting.is_empty() && came.elapsed() < Duration::from_secs(10) {
        waiting.retain(|member| member.take().policy.is_none());
        thread::sleep(Duration::from_millis(10));
    }
    println!("the next table is with all agents {:.2} s later", came.elapsed().as_secs_f64());
    assert!(untold == 0, "{untold}");
}
