//! Ports, and the flows over them, wherever a port may be.

use tailrace_core::{Bytes, PortPlace, QueueUnit, Rate, Scheme};

use crate::rig::{Rig, Setting};
use crate::{Verdict, ensure};

const PLACES: [PortPlace; 3] = [PortPlace::Nic, PortPlace::SwitchToHost, PortPlace::SwitchToSwitch];

/// Ports of all places, rates and lengths, each with another seed; in pairs their buffers count bytes and packets.
fn settings() -> impl Iterator<Item = Setting> {
    let rates = [1, 10, 100].map(Rate::from_gbps);
    let buffers = [4_000, 30_000, 400_000].map(Bytes::new);
    let ports = PLACES.into_iter().flat_map(move |place| rates.into_iter().map(move |rate| (place, rate)));
    let all = ports.flat_map(move |port| buffers.into_iter().map(move |buffer| (port, buffer)));
    all.zip(0..).map(|(((place, rate), buffer), seed)| {
        let unit = if seed / 2 % 2 == 0 { QueueUnit::Bytes } else { QueueUnit::Packets };
        Setting { place, rate, buffer, unit, ..Setting::new(seed) }
    })
}

/// Says where it went wrong.
fn at<T>(setting: Setting, outcome: Result<T, String>) -> Result<T, String> {
    let Setting { place, rate, buffer, unit, seed, .. } = setting;
    outcome.map_err(|wrong| format!("{wrong} ({place:?}, {rate}, {buffer} of {unit:?}, seed {seed})"))
}

/// What happened in a run.
fn told<S: Scheme>(setting: Setting) -> Result<Vec<String>, String> {
    let log = Rig::<S>::new(setting)?.tell();
    at(setting, log.map(|log| log.events))
}

/// Whatever goes in comes out once, or is dropped, as it was but for priority, header and marks; only what is
/// ECN-capable is marked, and no mark is taken away; bytes, packets and marks are counted as they are; room is kept; an
/// idle link is given what waits. When trouble is over every flow ends, and none is given up that has no deadline.
pub fn keep_their_books<S: Scheme>() -> Verdict {
    settings().try_for_each(|setting| at(setting, Rig::<S>::new(setting)?.run()))
}

/// A packet that need not wait finds the same at [`tailrace_core::PortPolicy::pass`], or where the port
/// [ignores](tailrace_core::PortPolicy::ignores) it, as by way of the queue, and so do all that come later.
pub fn pass_what_they_would_queue<S: Scheme>() -> Verdict {
    settings().step_by(2).try_for_each(|setting| {
        let queued = told::<S>(Setting { shortcut: false, ..setting })?;
        same(&told::<S>(setting)?, &queued, "`pass` gives, and `enqueue` and `dequeue` give")
    })
}

/// The same operations on two fresh instances give the same.
pub fn repeat_themselves<S: Scheme>() -> Verdict {
    settings()
        .step_by(2)
        .try_for_each(|setting| same(&told::<S>(setting)?, &told::<S>(setting)?, "two equal runs give"))
}

fn same(one: &[String], other: &[String], what: &str) -> Verdict {
    match std::iter::zip(one, other).find(|(one, other)| one != other) {
        Some((one, other)) => Err(format!("{what}\n    {one}\n    {other}")),
        None => {
            ensure!(one.len() == other.len(), "{what} {} and {} events", one.len(), other.len());
            Ok(())
        }
    }
}
