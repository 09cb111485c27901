//! A folder with an experiment, and an emulation of it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const FABRIC: &str = r#"
[fabric]
kind = "star"
hosts = 3
host_rate = "100Mbps"
delay = "50us"
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "dctcp"
[[scheme]]
name = "pias"
label = "Tags"
[[scheme]]
name = "pfabric"
"#;

/// A folder with the experiment above, and a name that no other test has.
pub struct EmulatedFolder {
    pub dir: tempfile::TempDir,
    pub name: String,
    /// One test at a time: each start cleans up what others' killed ones have left.
    _alone: Option<MutexGuard<'static, ()>>,
}

impl EmulatedFolder {
    /// `None` if this machine cannot have one.
    pub fn new() -> Option<Self> {
        let lacks = [("id", "root"), ("ip", "`ip` of iproute2")].into_iter().find(|(program, _)| {
            let Ok(output) = Command::new(program).arg(if *program == "id" { "-u" } else { "-V" }).output()
            else {
                return true;
            };
            *program == "id" && output.stdout != b"0\n"
        });
        if let Some((_, what)) = lacks {
            tailrace_linux::skip_test(format_args!("emulation needs {what}"));
            return None;
        }
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = Self::beside();
        place._alone = Some(alone);
        Some(place)
    }

    /// Another one in the same test.
    pub fn beside() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("star.toml"), FABRIC).unwrap();
        let name = format!("t{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        EmulatedFolder { dir, name, _alone: None }
    }

    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace"));
        command.args(words.replace("NAME", &self.name).split_whitespace()).current_dir(self.dir.path());
        command.stdin(Stdio::null());
        command
    }

    pub fn output(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Starts to emulate, and waits until the hosts are there.
    pub fn start(&self, options: &str) -> Emulation {
        self.start_file("star.toml", options)
    }

    /// The same with another file.
    pub fn start_file(&self, file: &str, options: &str) -> Emulation {
        let mut command = self.command(&format!("emulate {file} --name NAME {options}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("ip netns exec") {
            assert!(said.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        Emulation { child, said, text }
    }

    /// What there is of this name on the machine.
    pub fn traces(&self) -> Vec<PathBuf> {
        let below = |folder: &str| {
            let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.to_string_lossy().contains(&self.name)).collect::<Vec<_>>()
        };
        ["/run/tailrace", "/run/netns", "/etc/netns"].map(below).concat()
    }

    /// Processes that an emulation here, or a command of this place, has started: they have its folder.
    fn processes(&self) -> Vec<PathBuf> {
        let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        all.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == self.dir.path()))
            .collect()
    }

    pub fn assert_no_traces(&self) {
        assert!(self.processes().is_empty(), "{:?}", self.processes());
        let traces = self.traces();
        assert!(traces.is_empty(), "{traces:?}");
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(&self.name), "{mounts}");
    }
}

impl Drop for EmulatedFolder {
    fn drop(&mut self) {
        let _ = self.output("emulate --clean");
    }
}

/// An emulation that runs. Ended by its pid if a test fails.
pub struct Emulation {
    pub child: Child,
    said: BufReader<ChildStderr>,
    text: String,
}

impl Emulation {
    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Waits for its end; returns its status, standard output and standard error.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut said) = (String::new(), std::mem::take(&mut self.text));
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), out, said)
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
