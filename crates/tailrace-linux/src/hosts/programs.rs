//! Programs that run on hosts, which end with them.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How often it is looked whether they have ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often, before they are ended without being asked.
const LOOKS: u32 = 50;

/// Ends all programs in the namespaces of these names. They are asked first, and have a second.
pub(super) fn end<'a>(names: impl Iterator<Item = &'a Path>) {
    let namespaces: Vec<(u64, u64)> =
        names.filter_map(|name| Some(number(&fs::metadata(name).ok()?))).collect();
    // A shell in which somebody types does not heed SIGTERM, but the loss of its terminal.
    let asked = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCONT];
    if !send(&namespaces, &asked) {
        return;
    }
    for look in 0..2 * LOOKS {
        sleep(LOOK_EVERY);
        let signals: &[Signal] = if look < LOOKS { &[] } else { &[Signal::SIGKILL] };
        if !send(&namespaces, signals) {
            return;
        }
    }
}

/// Sends signals to all processes in some namespaces; returns whether there was one.
fn send(namespaces: &[(u64, u64)], signals: &[Signal]) -> bool {
    let found = inside(namespaces);
    for &process in &found {
        for &signal in signals {
            // It may have ended by itself meanwhile.
            let _ = kill(process, signal);
        }
    }
    !found.is_empty()
}

fn inside(namespaces: &[(u64, u64)]) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let number_of = |process: Pid| Some(number(&fs::metadata(format!("/proc/{process}/ns/net")).ok()?));
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .filter(|&process| process != Pid::this())
        .filter(|&process| number_of(process).is_some_and(|number| namespaces.contains(&number)))
        .collect()
}

/// What tells a namespace from all others.
fn number(namespace: &Metadata) -> (u64, u64) {
    (namespace.dev(), namespace.ino())
}
