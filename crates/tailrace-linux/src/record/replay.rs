//! Gives a fresh network what a record says entered, and compares what leaves.

use std::collections::VecDeque;
use std::fmt;
use std::io::Read;

use tailrace_core::{HostId, Scheme, Time};
use tailrace_packet::{Pause, World};

use super::format::{Entry, Record, RecordError, What, entry_bytes};

/// No record is longer than this, seven weeks, of which clocks of picoseconds have a few.
const LATEST: Time = Time::from_ps(u64::MAX / 4);

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Packets that entered, and of these such as left and were dropped alike.
    pub entered: u64,
    /// See above.
    pub left: u64,
    /// See above.
    pub dropped: u64,
    /// The record ends in the middle, as where its program was killed. What it has was compared.
    pub cut_short: bool,
    /// The first thing that differs. Nothing after it was compared.
    pub difference: Option<Difference>,
}

/// What a record says and a replay does not do, or the other way round: in words, an empty one for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was recorded.
    pub recorded: String,
    /// What happened instead.
    pub replayed: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
        write!(f, "recorded: {}\nreplayed: {}", words(&self.recorded), words(&self.replayed))
    }
}

/// Lets the packets of a record enter `world` at their times, and compares what leaves and what is dropped with the
/// record, in order and byte for byte. The world's hosts must stand outside and its feed be empty; it must not have
/// run. Memory does not grow with the record.
pub fn replay<S: Scheme, R: Read>(
    mut world: World<S>,
    record: &mut Record<R>,
) -> Result<Replayed, RecordError> {
    let (mut told, mut now, hosts) = (Replayed::default(), Time::ZERO, world.hosts());
    let (mut left, mut dropped) = (Pairs::new(), Pairs::new());
    while told.difference.is_none() {
        let Some(entry) = record.next::<S::Header>()? else {
            told.cut_short = true;
            break;
        };
        match entry.what {
            What::Left => left.recorded.push_back(entry),
            What::Dropped(_) => dropped.recorded.push_back(entry),
            What::Entered | What::End => {
                let known = |host: HostId| (host as usize) < hosts;
                let is_whole = known(entry.host) && known(entry.packet.dst.into()) && entry.packet.bytes > 0;
                if entry.at < now || entry.at > LATEST || (entry.what == What::Entered && !is_whole) {
                    return Err(record.damaged());
                }
                now = entry.at;
                run_until(&mut world, entry.at, &mut left);
                if entry.what == What::Entered {
                    world.enter(entry.host, entry.packet);
                    told.entered += 1;
                }
                dropped.replayed.extend(world.carry_on().lost.drain(..).map(|lost| Entry {
                    what: What::Dropped(lost.reason),
                    at: lost.at,
                    host: 0,
                    packet: lost.packet,
                }));
            }
        }
        told.difference = left.compare(&mut told.left).or_else(|| dropped.compare(&mut told.dropped));
        if entry.what == What::End {
            told.difference = told.difference.or_else(|| left.rest()).or_else(|| dropped.rest());
            break;
        }
    }
    Ok(told)
}

fn run_until<S: Scheme>(world: &mut World<S>, at: Time, left: &mut Pairs<S::Header>) {
    let mut leave = |at, host, packet| {
        left.replayed.push_back(Entry { what: What::Left, at, host, packet });
    };
    // A horizon ends runs. What has entered after it was recorded all the same.
    while world.run_until(at, &mut leave) == Pause::Horizon {}
}

/// What was recorded, and what has happened now, as far as it has not been compared.
struct Pairs<H> {
    recorded: VecDeque<Entry<H>>,
    replayed: VecDeque<Entry<H>>,
    raw: [Vec<u8>; 2],
}

impl<H: tailrace_core::Header> Pairs<H> {
    fn new() -> Self {
        let raw = || vec![0; entry_bytes::<H>()];
        Pairs { recorded: VecDeque::new(), replayed: VecDeque::new(), raw: [raw(), raw()] }
    }

    /// Compares what there is on both sides; counts what is alike.
    fn compare(&mut self, alike: &mut u64) -> Option<Difference> {
        while let (Some(recorded), Some(replayed)) = (self.recorded.front(), self.replayed.front()) {
            let [a, b] = &mut self.raw;
            recorded.encode(a);
            replayed.encode(b);
            if a != b {
                return self.rest();
            }
            *alike += 1;
            self.recorded.pop_front();
            self.replayed.pop_front();
        }
        None
    }

    /// What comes next on each side, if anything does.
    fn rest(&self) -> Option<Difference> {
        let words = |entry: Option<&Entry<H>>| entry.map(words).unwrap_or_default();
        let (recorded, replayed) = (words(self.recorded.front()), words(self.replayed.front()));
        (!recorded.is_empty() || !replayed.is_empty()).then_some(Difference { recorded, replayed })
    }
}

fn words<H: tailrace_core::Header>(entry: &Entry<H>) -> String {
    let Entry { what, at, host, packet } = entry;
    let what = match what {
        What::End => "the end".to_owned(),
        What::Entered => format!("entered from host {host}"),
        What::Left => format!("left for host {host}"),
        What::Dropped(reason) => format!("dropped ({reason:?})"),
    };
    format!("packet {} {what} at {at} ({} ps): {packet:?}", packet.sent_ps, at.as_ps())
}
