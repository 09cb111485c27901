//! Agents and programs on the hosts of an emulation.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Stdio};

use crate::place::EmulatedFolder;

/// Ended by its pid.
pub struct Started(pub Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub struct Agent(pub Started, BufReader<ChildStderr>);

impl Agent {
    pub fn start(place: &EmulatedFolder, host: &str, file: &str) -> Self {
        let mut command =
            place.command(&format!("enter NAME/{host} -- {} agent {file}", env!("CARGO_BIN_EXE_tailrace")));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut agent = Agent(Started(child), said);
        agent.wait_for("read its file again");
        agent
    }

    pub fn wait_for(&mut self, what: &str) {
        let mut text = String::new();
        while !text.contains(what) {
            assert!(self.1.read_line(&mut text).unwrap() > 0, "it ended: {text}");
            assert!(!text.contains("error"), "{text}");
        }
    }

    pub fn read_again(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.0.0.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).unwrap();
        self.wait_for("read again");
    }
}

/// A program of Python on a host; what it prints can be read.
pub fn python(place: &EmulatedFolder, host: &str, program: &str) -> Started {
    let mut command = place.command(&format!("enter NAME/{host} -- python3 -c"));
    Started(command.arg(program).stdout(Stdio::piped()).spawn().unwrap())
}
