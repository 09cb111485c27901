//! Where the threads of a run meet after each window: what they leave for each other, and how they wait.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{hint, thread};

/// Turns for which a thread waits without giving its processor away, if there is one for each.
const SPINS: u32 = 1 << 14;

/// So many threads wait for each other.
pub(crate) struct Barrier {
    threads: usize,
    waiting: AtomicUsize,
    /// How often all have met.
    meetings: AtomicUsize,
    broken: AtomicBool,
    spins: u32,
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Barrier {
            spins: if threads <= processors { SPINS } else { 0 },
            threads,
            waiting: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all have come. What each has written before, all see afterwards. `false` if somebody will not come.
    pub(crate) fn wait(&self) -> bool {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.meetings.store(meeting.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut spins = 0;
        while self.meetings.load(Ordering::Acquire) == meeting {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            spins += 1;
            if spins < self.spins { hint::spin_loop() } else { thread::yield_now() }
        }
        true
    }

    /// Lets nobody wait any more.
    pub(crate) fn break_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}

/// Breaks the barrier if its thread panics.
pub(crate) struct Presence<'a>(pub(crate) &'a Barrier);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.break_up();
        }
    }
}

/// What threads leave for each other at one meeting. Two boards are used in turn: while some still read one, others
/// already write the other.
pub(crate) struct Board<T, N> {
    /// By writer and reader.
    letters: Vec<Vec<Mutex<Vec<T>>>>,
    /// By writer, for all.
    news: Vec<Mutex<Vec<N>>>,
    /// When each has something to do next, in picoseconds.
    next: Vec<AtomicU64>,
    /// Whether the run is to end.
    pub(crate) stop: AtomicBool,
}

impl<T, N: Copy> Board<T, N> {
    pub(crate) fn new(threads: usize) -> Self {
        let letters = || (0..threads).map(|_| Mutex::default()).collect();
        Board {
            letters: (0..threads).map(|_| letters()).collect(),
            news: (0..threads).map(|_| Mutex::default()).collect(),
            next: (0..threads).map(|_| AtomicU64::new(u64::MAX)).collect(),
            stop: AtomicBool::new(false),
        }
    }

    /// Leaves letters for a reader, who has read those before. `letters` is then empty.
    pub(crate) fn post(&self, writer: usize, reader: usize, letters: &mut Vec<T>) {
        std::mem::swap(&mut *open(&self.letters[writer][reader]), letters);
        debug_assert!(letters.is_empty(), "letters of the last meeting were not read");
    }

    /// Reads and removes what a writer has left for a reader.
    pub(crate) fn fetch(&self, writer: usize, reader: usize, mut read: impl FnMut(std::vec::Drain<'_, T>)) {
        read(open(&self.letters[writer][reader]).drain(..));
    }

    /// Leaves news for all, in the place of those of the meeting before the last one.
    pub(crate) fn announce(&self, writer: usize, news: &mut Vec<N>, next: u64) {
        let mut place = open(&self.news[writer]);
        place.clear();
        place.append(news);
        self.next[writer].store(next, Ordering::Relaxed);
    }

    /// What a writer has announced.
    pub(crate) fn news(&self, writer: usize, mut read: impl FnMut(N)) {
        open(&self.news[writer]).iter().for_each(|&news| read(news));
    }

    /// When the first of all has something to do.
    pub(crate) fn first(&self) -> u64 {
        self.next.iter().map(|next| next.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX)
    }
}

/// A thread that has panicked leaves nothing half done in a board.
fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads meet, and each finds what all others have left for this meeting, and nothing of another one.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test of threads")]
    fn threads_meet_as_often_as_they_say() {
        const MEETINGS: usize = 2_000;
        for threads in [2, 3, 5] {
            let barrier = Barrier::new(threads);
            let boards: [Board<(usize, usize), usize>; 2] = [Board::new(threads), Board::new(threads)];
            thread::scope(|scope| {
                for own in 0..threads {
                    let (barrier, boards) = (&barrier, &boards);
                    scope.spawn(move || {
                        for meeting in 0..MEETINGS {
                            let board = &boards[meeting % 2];
                            for reader in (0..threads).filter(|&reader| reader != own) {
                                board.post(own, reader, &mut vec![(meeting, own)]);
                            }
                            board.announce(own, &mut vec![meeting], (meeting * threads + own) as u64);
                            assert!(barrier.wait());
                            assert_eq!(board.first(), (meeting * threads) as u64);
                            for writer in (0..threads).filter(|&writer| writer != own) {
                                board.fetch(writer, own, |letters| {
                                    assert_eq!(letters.collect::<Vec<_>>(), [(meeting, writer)]);
                                });
                                let mut news = Vec::new();
                                board.news(writer, |what| news.push(what));
                                assert_eq!(news, [meeting]);
                            }
                        }
                    });
                }
            });
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test of threads")]
    fn who_panics_leaves_nobody_waiting() {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait());
            let falls = scope.spawn(|| {
                let _presence = Presence(&barrier);
                panic!("as it must");
            });
            assert!(falls.join().is_err());
            assert_eq!(waits.join().ok(), Some(false));
        });
    }
}
