//! How the parts of a run keep in step: each has a clock that the others read, and sends them letters. Time in which none
//! of them has anything to do is passed over at once.

use std::sync::Arc;
use std::thread::{available_parallelism, panicking};

use rtrb::{Consumer, Producer, RingBuffer};

use super::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use super::sync::{hint, thread};
use crate::cut::Cut;

/// Turns for which a thread waits without giving its processor away, if there is one for each: at most, and where
/// others have shown that they have none. Who gives a processor away for nothing gets it back at once.
const SPINS: u32 = 1 << 14;
const FEWEST_SPINS: u32 = 1 << 5;

/// Turns of waiting between two looks for letters.
const TURNS_PER_READ: u32 = 64;

/// Letters that may be on their way from a part to all others, and to one of them at least and at most: little enough to stay in a core's
/// own cache. To one it is some look-aheads' worth by racks; by stages, on 144 hosts, a third of one, and 4,096 made no
/// difference that could be told from noise.
const ON_THE_WAY: usize = 8_192;
const FEWEST_ON_THE_WAY: usize = 256;
const MOST_ON_THE_WAY: usize = 1_024;

/// The clock of a part that has come to its end.
pub(crate) const END: u64 = u64::MAX;

/// What a thread writes and others read: two cache lines, which are fetched as one, shared with nothing else.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// How far a part is, in picoseconds: what it does from then on concerns others a look-ahead later at the earliest, and
/// letters of what it did before are on their way. And its word.
#[derive(Default)]
struct Clock {
    clock: AtomicU64,
    rest: Rest,
}

/// What a part says when it has nothing to do: it holds until its next word.
#[derive(Default)]
struct Rest {
    /// Words so far, twice; odd while there is a new one.
    version: AtomicU64,
    until: AtomicU64,
    sent: AtomicU64,
    read: AtomicU64,
}

/// A word of a part: it has nothing to do until then unless it gets letters, and has sent and read so many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Word {
    until: u64,
    sent: u64,
    read: u64,
}

/// The word of a part that has something to do.
const BUSY: Word = Word { until: 0, sent: 0, read: 0 };

impl Rest {
    fn say(&self, word: Word) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.until.store(word.until, Ordering::SeqCst);
        self.sent.store(word.sent, Ordering::SeqCst);
        self.read.store(word.read, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// The part's word, and its number; `None` if it has something to do, or is about to say what.
    fn hear(&self) -> Option<(Word, u64)> {
        let version = self.version.load(Ordering::SeqCst);
        let [until, sent, read] =
            [&self.until, &self.sent, &self.read].map(|word| word.load(Ordering::SeqCst));
        (version.is_multiple_of(2) && until > 0).then_some((Word { until, sent, read }, version))
    }
}

/// What the threads of a run share.
struct Clocks {
    clocks: Vec<Apart<Clock>>,
    /// Until when nobody has anything to do, as somebody has found.
    quiet: Apart<AtomicU64>,
    broken: AtomicBool,
    spins: u32,
}

/// One part's mail.
pub(crate) struct Mail<T> {
    own: usize,
    shared: Arc<Clocks>,
    /// The least time from what happens in each part to what comes of it in this one, whose own does not count.
    ahead: Vec<u64>,
    /// To each other part.
    out: Vec<(usize, Producer<T>)>,
    /// From each other part.
    come: Vec<Consumer<T>>,
    /// Letters so far.
    sent: u64,
    read: u64,
    /// Its last word.
    word: Word,
    /// For how many turns it waits now without giving its processor away.
    spins: u32,
}

/// Mail for parts whose clocks are at zero; for each, the least time from what happens in each of all to what comes of it there.
pub(crate) fn mail<T>(ahead: Vec<Vec<u64>>) -> Vec<Mail<T>> {
    let parts = ahead.len();
    let processors = available_parallelism().map_or(1, usize::from);
    let shared = Arc::new(Clocks {
        clocks: (0..parts).map(|_| Apart::default()).collect(),
        quiet: Apart::default(),
        broken: AtomicBool::new(false),
        spins: if parts <= processors { SPINS } else { 0 },
    });
    let of = |(own, ahead)| {
        let shared = Arc::clone(&shared);
        let spins = shared.spins;
        Mail { own, shared, ahead, out: Vec::new(), come: Vec::new(), sent: 0, read: 0, word: BUSY, spins }
    };
    let mut mail: Vec<Mail<T>> = ahead.into_iter().enumerate().map(of).collect();
    for writer in 0..parts {
        for reader in (0..parts).filter(|&reader| reader != writer) {
            let (out, come) = RingBuffer::new((ON_THE_WAY / parts).clamp(FEWEST_ON_THE_WAY, MOST_ON_THE_WAY));
            mail[writer].out.push((reader, out));
            mail[reader].come.push(come);
        }
    }
    mail
}

impl<T: Copy> Mail<T> {
    /// Sends letters, by reader, in their order, as many as there is room for; those are then gone. Tells whether it was all
    /// of them.
    pub(crate) fn send(&mut self, letters: &mut [Vec<T>]) -> bool {
        let mut all = true;
        for (reader, out) in &mut self.out {
            let letters = &mut letters[*reader];
            if letters.is_empty() {
                continue;
            }
            let (sent, rest) = out.push_partial_slice(letters);
            self.sent += sent.len() as u64;
            if rest.is_empty() {
                letters.clear();
            } else {
                letters.drain(..sent.len());
                all = false;
            }
        }
        all
    }

    /// Reads all letters that have come.
    pub(crate) fn read(&mut self, mut read: impl FnMut(&T)) {
        for from in &mut self.come {
            let Ok(come) = from.read_chunk(from.slots()) else { continue };
            let (first, rest) = come.as_slices();
            for letters in [first, rest] {
                letters.iter().for_each(&mut read);
            }
            self.read += come.len() as u64;
            come.commit_all();
        }
    }

    /// This part has come so far, and all letters of before are sent.
    pub(crate) fn advance(&self, clock: u64) {
        self.shared.clocks[self.own].0.clock.store(clock, Ordering::Release);
    }

    /// This part has nothing to do until `until` unless it gets letters; it has taken in all that it has read.
    ///
    /// Nobody has anything to do then before the earliest that all parts say, if no letter is on its way meanwhile: words that
    /// have not changed between two looks held at the same time, and whoever has something to do, and might send letters, says
    /// so before.
    pub(crate) fn rest(&mut self, until: u64) {
        self.say(Word { until, sent: self.sent, read: self.read });
        // Others see this part's clock as it is before their words are read: who takes its word back and does not see it yet has a
        // word that is not read any more, and does not take that clock for a later one (`have_moved`).
        fence(Ordering::SeqCst);
        let shared = &*self.shared;
        let (mut earliest, mut sent, mut read) = (END, 0, 0);
        let mut versions = [0; Cut::MOST];
        for (part, version) in shared.clocks.iter().zip(&mut versions) {
            let Some((word, of_word)) = part.0.rest.hear() else { return };
            *version = of_word;
            (earliest, sent, read) = (earliest.min(word.until), sent + word.sent, read + word.read);
        }
        let holds =
            |(part, version): (&Apart<Clock>, &u64)| part.0.rest.version.load(Ordering::SeqCst) == *version;
        if sent == read && shared.clocks.iter().zip(&versions).all(holds) {
            shared.quiet.0.fetch_max(earliest, Ordering::AcqRel);
        }
    }

    /// This part has something to do from now on.
    #[inline]
    pub(crate) fn stir(&mut self) {
        if self.word != BUSY {
            self.say(BUSY);
        }
    }

    fn say(&mut self, word: Word) {
        if self.word != word {
            self.word = word;
            self.shared.clocks[self.own].0.rest.say(word);
        }
    }

    /// The clocks of all parts.
    pub(crate) fn clocks(&self) -> Vec<u64> {
        self.shared.clocks.iter().map(|part| part.0.clock.load(Ordering::SeqCst)).collect()
    }

    /// Whether each other part has moved since, or is at its end. Whoever has found before then that nobody has anything to do
    /// has told, since that comes before its clock moves.
    pub(crate) fn have_moved(&self, since: &[u64]) -> bool {
        let others = self.clocks().into_iter().zip(since).enumerate().filter(|(other, _)| *other != self.own);
        others.map(|(_, both)| both).all(|(clock, before)| clock == END || clock != *before)
    }

    /// Until when nobody has anything to do, as has been found.
    pub(crate) fn quiet(&self) -> u64 {
        self.shared.quiet.0.load(Ordering::Acquire)
    }

    /// Waits until nothing that others do concerns this part before `time`, and reads what has come: all that does, at least. Returns
    /// until when nothing else does; `None` if somebody is gone.
    pub(crate) fn wait(&mut self, time: u64, mut read: impl FnMut(&T)) -> Option<u64> {
        let mut turns = 0;
        loop {
            let limit = self.limit();
            if limit >= time {
                self.has_waited(turns);
                self.read(&mut read);
                return Some(limit);
            }
            if self.is_broken() {
                return None;
            }
            turns += 1;
            // Who is waited for may wait for room.
            if turns % TURNS_PER_READ == 0 {
                self.read(&mut read);
            }
            if turns < self.spins { hint::spin_loop() } else { thread::yield_now() }
        }
    }

    /// Until when nothing concerns this part but what it is told before.
    pub(super) fn limit(&self) -> u64 {
        let quiet = self.quiet();
        let others = self.shared.clocks.iter().zip(&self.ahead).enumerate();
        let others = others.filter(|(other, _)| *other != self.own);
        let known = others.map(|(_, (other, ahead))| {
            other.0.clock.load(Ordering::Acquire).max(quiet).saturating_add(*ahead)
        });
        known.min().unwrap_or(END)
    }

    /// Learns how long to wait: who was waited for longer than a part takes, had no processor, and may lack one again.
    fn has_waited(&mut self, turns: u32) {
        let most = self.shared.spins;
        if turns >= self.spins {
            self.spins = FEWEST_SPINS.min(most);
        } else if turns > 0 && self.spins < most {
            self.spins = (self.spins + self.spins / 16).min(most);
        }
    }

    /// Whether somebody is gone who had not come to the end.
    pub(crate) fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Relaxed)
    }
}

/// Whoever goes before the end, by a panic or an error, is waited for by nobody.
impl<T> Drop for Mail<T> {
    fn drop(&mut self) {
        if self.shared.clocks[self.own].0.clock.load(Ordering::Relaxed) < END || panicking() {
            self.shared.broken.store(true, Ordering::Relaxed);
        }
    }
}
