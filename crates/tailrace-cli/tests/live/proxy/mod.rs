//! Memcached and its clients, which know nothing of Tailrace, over a live fabric: `tailrace proxy` beside each.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "the fabric runs beside the programs on its hosts")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tailrace_core::{HostId, Outcome};
use tailrace_linux::Hosts;
use tailrace_live::Live;
use tailrace_scenario::Scenario;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A fabric whose host 0 has clients, and all others a memcached.
struct Site<'a> {
    hosts: &'a Hosts,
    file: PathBuf,
    programs: Vec<Running>,
}

impl Site<'_> {
    fn start(&self, host: HostId, program: &str, arguments: &[&str]) -> Running {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped());
        Running(self.hosts.namespace(host).inside(|| command.spawn()).unwrap())
    }

    /// Starts a proxy, and waits until it is ready.
    fn proxy(&self, host: HostId, arguments: &[&str]) -> Running {
        let all = [&["proxy", self.file.to_str().unwrap()], arguments].concat();
        let mut proxy = self.start(host, env!("CARGO_BIN_EXE_tailrace"), &all);
        let mut line = String::new();
        BufReader::new(proxy.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("ready: host {host}, ")), "{line:?}");
        proxy
    }

    /// Starts a memcached, and waits until it takes connections.
    fn memcached(&self, host: HostId, port: u16) -> Running {
        let arguments = ["-u", "root", "-l", "127.0.0.1", "-U", "0", "-I", "2m", "-p", &port.to_string()];
        let memcached = self.start(host, "memcached", &arguments);
        let answers =
            || self.hosts.namespace(host).inside(|| TcpStream::connect(("127.0.0.1", port))).is_ok();
        assert!(
            (0..500).any(|_| answers() || {
                thread::sleep(Duration::from_millis(20));
                false
            }),
            "memcached"
        );
        memcached
    }

    /// Runs the client on host 0.
    fn client(&self, python: &Path, ports: &[&str]) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/proxy/client.py");
        let mut command = Command::new(python);
        command.arg(script).args(ports);
        let output = self.hosts.namespace(0).inside(|| command.output()).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("all is well"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A client of host 0 that has been answered, and stays.
    fn staying(&self, port: u16) -> TcpStream {
        let talk = || {
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            stream.write_all(b"get a\r\n")?;
            stream.read_exact(&mut [0; 5])?;
            Ok(stream)
        };
        self.hosts.namespace(0).inside(talk).unwrap()
    }

    /// Says something at a port of host 0, and returns the answer up to the end of the connection.
    fn say(&self, port: u16, text: &str) -> (String, Duration) {
        let talk = || {
            let start = Instant::now();
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            stream.write_all(text.as_bytes())?;
            let mut heard = String::new();
            stream.read_to_string(&mut heard)?;
            Ok((heard, start.elapsed()))
        };
        self.hosts.namespace(0).inside(talk).unwrap()
    }
}

/// A Python that has the client library.
fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    [own, PathBuf::from("python3")].into_iter().find(|python| {
        let found = Command::new(python).args(["-c", "import memcache"]).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    })
}

/// What a test needs that is not there.
fn missing() -> Option<&'static str> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Some("network namespaces need root");
    }
    let memcached = Command::new("memcached").arg("--version").stdout(Stdio::null()).status();
    if memcached.is_err() {
        return Some("memcached is not installed (apt-get install memcached)");
    }
    None
}

/// Live fabrics have the machine to themselves.
static MACHINE: Mutex<()> = Mutex::new(());

/// Does something with a fabric of so many hosts, with proxies on all.
fn on_a_fabric(hosts: u32, scheme: &str, buffer: &str, act: impl FnOnce(&mut Site<'_>)) -> Option<Outcome> {
    on_this_fabric(hosts, scheme, buffer, &Live::default(), act)
}

fn on_this_fabric(
    hosts: u32,
    scheme: &str,
    buffer: &str,
    live: &Live,
    act: impl FnOnce(&mut Site<'_>),
) -> Option<Outcome> {
    if let Some(missing) = missing() {
        tailrace_linux::skip_test(missing);
        return None;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fabric.toml");
    let text = format!(
        "[fabric]\nkind = \"star\"\nhosts = {hosts}\nhost_rate = \"100Mbps\"\ndelay = \"100us\"\nbuffer = \"{buffer}\"\n\
         [transport]\nmin_rto = \"10ms\"\n[workload]\nsizes = \"web-search\"\nload = 0.1\nflows = 1\n\
         [scheme]\nname = \"{scheme}\"\n"
    );
    // A file lists schemes, a scenario has one.
    fs::write(&file, text.replace("[scheme]", "[[scheme]]")).unwrap();
    let scenario = Scenario::parse(&text).unwrap();
    let needs = tailrace_live::for_proxies(&scenario).unwrap();
    let spaces = Hosts::new(needs.hosts, needs.mtu, None).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            tailrace_live::emulate(&scenario, &spaces, live, &mut |_| match over.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        });
        let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut site = Site { hosts: &spaces, file, programs: Vec::new() };
            site.programs = (1..hosts).map(|host| site.memcached(host, 11211)).collect();
            let proxies: Vec<_> = (1..hosts).map(|host| site.proxy(host, &["--memcached"])).collect();
            site.programs.extend(proxies);
            let servers: Vec<String> = (1..hosts).map(|host| host.to_string()).collect();
            let client = site.proxy(0, &["--servers", &servers.join(",")]);
            site.programs.push(client);
            act(&mut site);
        }));
        over.store(true, Ordering::Relaxed);
        let outcome = run.join().unwrap().unwrap();
        acted.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Some(outcome)
    })
}

fn a_client_sees_what_memcached_says(scheme: &str, buffer: &str) -> Option<Outcome> {
    let Some(python) = python() else {
        tailrace_linux::skip_test("python-memcached is not installed");
        return None;
    };
    on_a_fabric(4, scheme, buffer, |site| {
        let itself = site.memcached(0, 11300);
        site.client(&python, &["11211", "11212", "11213", "11300"]);
        drop(itself);
    })
}

#[test]
fn a_client_library_sees_memcached_under_baraat() {
    a_client_sees_what_memcached_says("baraat", "200KB");
}

#[test]
fn a_client_library_sees_memcached_under_rcp() {
    a_client_sees_what_memcached_says("rcp", "200KB");
}

#[test]
fn a_client_library_sees_memcached_where_packets_are_lost() {
    let Some(outcome) = a_client_sees_what_memcached_says("dctcp", "6KB") else { return };
    let ledger = outcome.ledger.unwrap();
    assert!(ledger.balances() && ledger.dropped().packets > 0, "{ledger:?}");
}

#[test]
fn who_waits_for_a_server_that_is_gone_is_told() {
    on_a_fabric(3, "baraat", "200KB", |site| {
        assert_eq!(site.say(11211, "get a\r\nquit\r\n").0, "END\r\n");
        let mut staying = site.staying(11211);
        // The proxy of host 1, which comes behind two memcacheds.
        drop(site.programs.remove(2));
        let (heard, after) = site.say(11211, "get a\r\nquit\r\n");
        assert_eq!(heard, "SERVER_ERROR the proxy of host 1 does not answer\r\n");
        assert!(after < Duration::from_secs(15), "{after:?}");
        assert_eq!(site.say(11212, "get a\r\nquit\r\n").0, "END\r\n", "the other one answers");
        // A new one finds clients that the old one has left.
        let proxy = site.proxy(1, &["--memcached"]);
        site.programs.push(proxy);
        assert_eq!(site.say(11211, "get a\r\nquit\r\n").0, "END\r\n");
        // One that did not wait for anything finds its connection at an end.
        let ended = staying.write_all(b"get a\r\n").and_then(|()| staying.read(&mut [0; 100]));
        assert!(ended.as_ref().map_or(true, |&read| read == 0), "{ended:?}");
        // And the memcached of host 2.
        drop(site.programs.remove(1));
        let (heard, _) = site.say(11212, "get a\r\nquit\r\n");
        assert!(heard.starts_with("SERVER_ERROR memcached at 127.0.0.1:11211 of host 2: "), "{heard}");
    });
}

/// The tasks in Baraat's headers of what each host has sent, but for those of background services (§4.1), by a record's bytes (`tailrace-linux/src/record/format.rs`).
fn tasks_sent(record: &[u8]) -> BTreeMap<u16, BTreeSet<u32>> {
    const ENTERED: u8 = 1;
    const BACKGROUND: u32 = 1 << 31;
    let u16_at = |raw: &[u8], at: usize| u16::from_be_bytes([raw[at], raw[at + 1]]);
    let u32_at = |raw: &[u8], at: usize| u32::from(u16_at(raw, at)) << 16 | u32::from(u16_at(raw, at + 2));
    let (header, description) = (usize::from(u16_at(record, 8)), u32_at(record, 10) as usize);
    let mut tasks = BTreeMap::<u16, BTreeSet<u32>>::new();
    for entry in record[14 + description..].chunks_exact(46 + header) {
        let (says_something, task) = (u16_at(entry, 14) > 0, u32_at(entry, 46));
        if entry[0] == ENTERED && says_something && task < BACKGROUND {
            tasks.entry(u16_at(entry, 9)).or_default().insert(task);
        }
    }
    tasks
}

#[test]
fn a_request_and_its_answer_carry_the_number_of_their_task() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record");
    let live = Live { record: Some(record.clone()), ..Live::default() };
    let outcome = on_this_fabric(3, "baraat", "200KB", &live, |site| {
        for port in [11211, 11212, 11211] {
            assert_eq!(site.say(port, "get a\r\nquit\r\n").0, "END\r\n");
        }
    });
    if outcome.is_none() {
        return;
    }
    // Host 0 of three counts 1, 4, 7; the second one asks host 2.
    let sent = tasks_sent(&fs::read(record).unwrap());
    let expected = [(0, vec![1, 4, 7]), (1, vec![1, 7]), (2, vec![4])];
    assert_eq!(sent, expected.map(|(host, tasks)| (host, tasks.into_iter().collect())).into());
}
