//! Three hosts around a machine whose interfaces the switch takes over: four network namespaces.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub const HOSTS: usize = 3;
/// Where the switch answers, in its namespace.
const METRICS: &str = "127.0.0.1:9400";
/// Gets or sets what ethtool does, by the numbers of linux/ethtool.h: segmentation, checksums, receive offload.
const OFFLOADS: &str = "import array, fcntl, socket, struct, sys
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def ask(command, value=0):
    data = array.array('B', struct.pack('II', command, value))
    fcntl.ioctl(asking, 0x8946, struct.pack('16sP16x', sys.argv[1].encode(), data.buffer_info()[0]))
    return struct.unpack('II', data.tobytes())[1]
if sys.argv[2] == 'off':
    for command in (0x1f, 0x24, 0x2c, 0x19, 0x17):
        ask(command)
print([ask(command) for command in (0x1e, 0x16, 0x23)])
";
const PAGE: &str = "import sys, urllib.request
sys.stdout.write(urllib.request.urlopen('http://' + sys.argv[1] + '/metrics', timeout=10).read().decode())
";

/// The namespaces. Gone with this value.
pub struct Lab {
    dir: tempfile::TempDir,
    name: String,
    _alone: MutexGuard<'static, ()>,
}

impl Lab {
    /// `None` if this machine cannot have one, which is said.
    pub fn new() -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        let has_ip = Command::new("ip").arg("-V").output().is_ok();
        if !is_root || !has_ip {
            tailrace_linux::skip_test("a switch needs root, and this test `ip` of iproute2");
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::tempdir().unwrap();
        // The switch reads its file again as another user.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let name = format!("sw{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let lab = Lab { dir, name, _alone: alone };
        lab.build();
        Some(lab)
    }

    fn build(&self) {
        let switch = self.namespace("s");
        let namespaces = (0..HOSTS).map(|host| self.host(host)).chain([switch.clone()]);
        for namespace in namespaces {
            ip(&format!("netns add {namespace}"));
            let quiet = "for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done; \
                         ip link set lo up";
            self.inside(&namespace, &["sh", "-c", quiet]);
        }
        for host in 0..HOSTS {
            let (port, namespace) = (port(host), self.host(host));
            ip(&format!("-n {switch} link add {port} type veth peer name eth0 netns {namespace}"));
            ip(&format!("-n {switch} link set {port} up"));
            ip(&format!("-n {namespace} link set eth0 address {} up", mac(host)));
            ip(&format!("-n {namespace} addr add {}/24 broadcast 10.9.0.255 dev eth0", address(host)));
            self.python(&namespace, OFFLOADS, &["eth0", "off"]);
        }
    }

    fn namespace(&self, which: &str) -> String {
        format!("{}-{which}", self.name)
    }

    /// The namespace of a host.
    pub fn host(&self, host: usize) -> String {
        self.namespace(&host.to_string())
    }

    /// The namespace of the switch.
    pub fn here(&self) -> String {
        self.namespace("s")
    }

    pub fn file(&self) -> PathBuf {
        self.dir.path().join("lab.toml")
    }

    pub fn command(&self, namespace: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).args(words).stdin(Stdio::null());
        command
    }

    /// Runs a program to its end, which must be a good one; returns what it says.
    pub fn inside(&self, namespace: &str, words: &[&str]) -> String {
        let output = self.command(namespace, words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn python(&self, namespace: &str, program: &str, arguments: &[&str]) -> String {
        self.inside(namespace, &[&["python3", "-c", program], arguments].concat())
    }

    /// Starts a program in Python that first says a line.
    pub fn spawn(&self, host: usize, program: &str, arguments: &[&str]) -> Program {
        let words = [&["python3", "-u", "-c", program], arguments].concat();
        let mut child = self.command(&self.host(host), &words).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut String::new()).unwrap();
        Program { child, out }
    }

    /// The offloads of a port: segmentation, checksums, segmentation in software.
    pub fn offloads(&self, host: usize) -> String {
        self.python(&self.here(), OFFLOADS, &[&port(host), "show"])
    }

    /// Starts the switch with this file, and waits until it runs.
    pub fn switch(&self, config: &str) -> Switch<'_> {
        fs::write(self.file(), config).unwrap();
        let mut command = self.tailrace(&["--metrics", METRICS]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut heard = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("metrics: ") {
            assert!(heard.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        Switch { lab: self, child, heard, text }
    }

    /// `tailrace switch` of the lab's file.
    pub fn tailrace(&self, options: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_tailrace");
        let file = self.file().to_string_lossy().into_owned();
        self.command(&self.here(), &[&[program, "switch", &file], options].concat())
    }

    /// What `tailrace switch` says of a file that is wrong.
    pub fn refused(&self, config: &str) -> String {
        fs::write(self.file(), config).unwrap();
        let output = self.tailrace(&["--for", "1ms"]).output().unwrap();
        assert!(!output.status.success(), "{config}");
        said(&output)
    }

    /// What it says to a user without rights.
    pub fn refused_without_root(&self, config: &str) -> String {
        fs::write(self.file(), config).unwrap();
        let program = "import os, sys\nos.setuid(65534)\nos.execv(sys.argv[1], sys.argv[1:])";
        let words = ["python3", "-c", program, env!("CARGO_BIN_EXE_tailrace"), "switch"];
        let output = self.command(&self.here(), &words).arg(self.file()).output().unwrap();
        assert!(!output.status.success(), "{config}");
        said(&output)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let hosts = (0..HOSTS).map(|host| self.host(host));
        for namespace in hosts.chain([self.here()]) {
            let _ = Command::new("ip").args(["netns", "del", &namespace]).output();
        }
    }
}

/// A program on a host. Ended with this value.
pub struct Program {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Program {
    /// Waits until it has ended; returns what it said after its first line.
    pub fn end(mut self) -> String {
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A switch that runs. Ended by its pid if a test fails.
pub struct Switch<'a> {
    lab: &'a Lab,
    child: Child,
    heard: BufReader<ChildStderr>,
    text: String,
}

impl Switch<'_> {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Has it read another file; returns what it says of that.
    pub fn reload(&mut self, config: &str) -> String {
        fs::write(self.lab.file(), config).unwrap();
        self.signal("-HUP");
        let mut line = String::new();
        self.heard.read_line(&mut line).unwrap();
        // The ports change when they are looked at next.
        std::thread::sleep(Duration::from_millis(500));
        line
    }

    fn page(&self) -> String {
        // What has just left is in the next view.
        std::thread::sleep(Duration::from_millis(450));
        self.lab.python(&self.lab.here(), PAGE, &[METRICS])
    }

    /// The sum of all metrics whose line begins like this.
    pub fn metric(&self, beginning: &str) -> f64 {
        sum(&self.page(), beginning)
    }

    /// Packets that a port has sent.
    pub fn sent(&self, host: usize) -> u64 {
        self.metric(&format!("tailrace_port_packets_total{{port=\"{}\"}}", port(host))) as u64
    }

    /// Waits for its end; returns its status, standard output and standard error.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut said) = (String::new(), std::mem::take(&mut self.text));
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.heard.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), out, said)
    }

    /// Ends it as it should, after which each frame that came in is accounted for.
    pub fn end_well(self) -> String {
        let page = self.page();
        let what = |what: &str| sum(&page, &format!("tailrace_frames_total{{what=\"{what}\"}}"));
        let after = ["delivered", "dropped_buffer", "dropped_evicted"].map(what).iter().sum::<f64>();
        assert_eq!(what("entered"), after);
        self.signal("-TERM");
        let (status, out, said) = self.end();
        assert_eq!(status, Some(0), "{said}");
        assert!(out.contains(" delivered, 0 on their way, "), "{out}");
        out
    }
}

impl Drop for Switch<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sum(page: &str, beginning: &str) -> f64 {
    let value = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
    page.lines().filter(|line| line.starts_with(beginning)).filter_map(value).sum()
}

pub fn port(host: usize) -> String {
    format!("eth{}", host + 1)
}

pub fn address(host: usize) -> String {
    format!("10.9.0.{}", host + 1)
}

pub fn mac(host: usize) -> String {
    format!("02:aa:00:00:00:{:02x}", host + 1)
}

pub fn ip(words: &str) {
    let output = Command::new("ip").args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", said(&output));
}

/// A message is one line that says this.
pub fn assert_says(message: &str, said: &str) {
    assert!(message.contains(said), "{said}: {message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The status of a process, field by field.
pub fn status(process: &Path, field: &str) -> String {
    let text = fs::read_to_string(process.join("status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ")
}
