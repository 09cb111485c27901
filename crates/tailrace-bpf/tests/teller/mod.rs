//! Programs in cgroups of their own that say what they send.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use tailrace_linux::{Namespace, skip_test};

/// A cgroup that is gone with this value.
pub struct Cgroup {
    pub path: PathBuf,
}

impl Cgroup {
    /// `None`, and that is said, where this machine has none of version 2.
    pub fn new(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let root =
            mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|of| of[2] == "cgroup2");
        let Some(root) = root.map(|of| PathBuf::from(of[1])) else {
            skip_test("no cgroup2 file system is mounted");
            return None;
        };
        let path = root.join(format!("tailrace-{}-{name}", std::process::id()));
        if let Err(error) = fs::create_dir(&path) {
            skip_test(format!("{}: {error}", path.display()));
            return None;
        }
        Some(Cgroup { path })
    }

    /// A program that runs in it from its start.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(r#"echo $$ > "$0/cgroup.procs" && exec "$@""#).arg(&self.path).arg(program);
        command
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The last of its processes may still be about to go.
        for _ in 0..50 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// What is said of a flow, as the C header has it.
#[derive(Clone, Copy, Default)]
pub struct Said {
    pub size: u64,
    pub deadline_ns: u64,
    pub task: u64,
    pub slice: u32,
}

impl Said {
    fn bytes(self) -> Vec<u8> {
        let numbers = [self.size, self.deadline_ns, self.task].into_iter().flat_map(u64::to_ne_bytes);
        numbers.chain(self.slice.to_ne_bytes()).chain([0; 4]).collect()
    }
}

/// A program with a socket that does as it is told, on its standard input.
pub struct Teller {
    child: Child,
}

const PROGRAM: &str = r#"
import socket, sys
from tailrace import tell
sock = None
for line in iter(sys.stdin.readline, ""):
    word, *rest = line.split()
    code = 0
    try:
        if word == "open":
            sock = socket.socket(socket.AF_INET6 if rest[0] == "6" else socket.AF_INET)
        elif word == "say":
            size, deadline_ns, task, number = map(int, rest)
            if not tell(sock, size or None, deadline_ns / 1e9 or None, task, number):
                code = 92
        elif word == "tell":
            sock.setsockopt(0xF10, 1, bytes.fromhex(rest[0]))
        elif word == "connect":
            sock.connect((rest[0], int(rest[1])))
        elif word == "send":
            sock.sendall(b"x" * int(rest[0]))
    except OSError as error:
        code = error.errno
    print(code, flush=True)
"#;

impl Teller {
    pub fn start(namespace: &Namespace, cgroup: &Cgroup) -> Self {
        let mut command = cgroup.command(Path::new("python3"));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");
        command.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1");
        command.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Teller { child: namespace.inside(|| command.spawn()).unwrap() }
    }

    fn ask(&mut self, what: &str) -> Result<(), Errno> {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
        let mut said = String::new();
        let stdout = self.child.stdout.as_mut().unwrap();
        while !said.ends_with('\n') {
            let mut byte = [0];
            stdout.read_exact(&mut byte).unwrap();
            said.push(byte[0].into());
        }
        match said.trim().parse().unwrap() {
            0 => Ok(()),
            code => Err(Errno::from_raw(code)),
        }
    }

    pub fn open(&mut self) {
        self.ask("open 4").unwrap();
    }

    pub fn open_for(&mut self, to: SocketAddr) {
        self.ask(if to.is_ipv6() { "open 6" } else { "open 4" }).unwrap();
    }

    pub fn tell(&mut self, said: Said) -> Result<(), Errno> {
        self.tell_bytes(&said.bytes())
    }

    /// The same, by the Python package.
    pub fn say(&mut self, Said { size, deadline_ns, task, slice }: Said) -> Result<(), Errno> {
        self.ask(&format!("say {size} {deadline_ns} {task} {slice}"))
    }

    pub fn tell_bytes(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.ask(&format!("tell {hex}"))
    }

    pub fn connect(&mut self, to: SocketAddr) {
        self.ask(&format!("connect {} {}", to.ip(), to.port())).unwrap();
    }

    pub fn send(&mut self, bytes: u64) {
        self.ask(&format!("send {bytes}")).unwrap();
        // What is known to have arrived is not sent again under other tags.
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// A C program with the header, which says something of a new socket and prints what comes of it.
pub fn own_c_program(place: &Path) -> Option<PathBuf> {
    let (source, program) = (place.join("tell.c"), place.join("tell"));
    let text = r#"
#include <errno.h>
#include <stdio.h>
#include "tailrace.h"
int main(void)
{
	struct tailrace_flow flow = { .size = 20000, .deadline_ns = 5000000, .task = 3 };
	int result = tailrace_tell(socket(AF_INET, SOCK_STREAM, 0), &flow);

	printf("%d %d\n", result, result ? errno : 0);
	return 0;
}
"#;
    fs::write(&source, text).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let compile = |compiler: &str| {
        let mut command = Command::new(compiler);
        command.args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I", include, "-o"]);
        command.arg(&program).arg(&source).status()
    };
    for compiler in ["cc", "clang-19", "clang"] {
        if let Ok(status) = compile(compiler) {
            assert!(status.success(), "{compiler}");
            return Some(program);
        }
    }
    skip_test("there is no C compiler");
    None
}
