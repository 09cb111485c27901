//! The command as a process, and agents that run.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tailrace_linux::Namespace;

pub fn tailrace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace"));
    command.args(arguments);
    command
}

/// Starts the command in a namespace; it is up when it has said a line with `up` in it.
pub fn start(namespace: &Namespace, arguments: &[&str], up: &str) -> Child {
    let spawn = || tailrace(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = namespace.inside(spawn).unwrap();
    wait_for(&mut child, up);
    child
}

/// Reads a byte at a time, so that what follows is still there.
pub fn wait_for(child: &mut Child, up: &str) {
    let (mut said, errors) = (String::new(), child.stderr.as_mut().unwrap());
    while !(said.contains(up) && said.ends_with('\n')) {
        let mut byte = [0];
        assert_eq!(errors.read(&mut byte).unwrap(), 1, "ended without {up}: {said}");
        said.push(byte[0].into());
    }
}

pub fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

pub fn run(arguments: &[&str]) -> (i32, String) {
    let output = tailrace(arguments).output().unwrap();
    (output.status.code().unwrap(), said(&output))
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Bytes from one end to the other.
pub fn carry_now(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    thread::scope(|scope| {
        scope.spawn(|| from.write_all(&vec![1; bytes]).unwrap());
        to.read_exact(&mut vec![0; bytes]).unwrap();
    });
}

/// The same, until the sender knows that they have arrived.
pub fn carry(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    carry_now(from, to, bytes);
    thread::sleep(Duration::from_millis(100));
}

/// A program that ends with this value, by its pid.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is so; returns for how long.
pub fn until(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < patience, "not within {patience:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
    began.elapsed()
}
