//! Gives a target inputs until one fails or enough is done.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use tailrace_core::random::Stream;

use crate::corpus::Corpus;
use crate::mutate::{LONGEST, mutate};
use crate::scratch;
use crate::shrink::shrink;
use crate::targets::{Outcome, Target};

/// When enough is done, beyond the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After so long.
    Time(Duration),
    /// After so many inputs: the same ones in every run.
    Inputs(u64),
}

/// No input may take longer, on a processor of its own.
const PATIENCE: Duration = Duration::from_secs(2);
/// One that takes so long will not end.
const FOR_EVER: Duration = Duration::from_secs(60);
/// Nor may the process ever have held more.
const MAX_MEMORY_KB: u64 = 1 << 20;
/// Inputs with a new outcome that are built upon, beside the corpus.
const MAX_FINDS: usize = 2_000;
const SHRINKING_TRIES: u32 = 3_000;

/// Gives `target` its corpus, and then mutations of it. Returns what came of the mutations, and how often.
///
/// # Panics
/// If an input fails, with its message, after keeping the input in the corpus.
pub fn run(target: &Target, seed: u64, limit: Limit) -> BTreeMap<Outcome, u64> {
    let corpus = Corpus::of(target);
    let campaign = Campaign { target, corpus: &corpus, current: Current::of(target) };
    let _watchdog = Watchdog::of(target);
    let mut outcomes: BTreeMap<Outcome, u64> = BTreeMap::new();
    let mut pool = Vec::new();
    for (path, input) in &corpus.inputs {
        let outcome = campaign.attempt(input).unwrap_or_else(|why| panic!("{} fails: {why}", path.display()));
        outcomes.entry(outcome).or_default();
        pool.push(input.clone());
    }
    let most = pool.len() + MAX_FINDS;
    let mut stream = Stream::new(seed, target.name, 0);
    let start = now();
    let mut inputs = 0;
    while match limit {
        Limit::Time(span) => start.elapsed() < span,
        Limit::Inputs(count) => inputs < count,
    } {
        let input = mutate(&pool, target.syntax, &mut stream);
        let outcome = campaign.attempt(&input).unwrap_or_else(|why| campaign.report(&input, &why));
        let seen = outcomes.entry(outcome).or_default();
        *seen += 1;
        if *seen == 1 && pool.len() < most && input.len() <= LONGEST {
            pool.push(input);
        }
        inputs += 1;
    }
    outcomes
}

#[expect(clippy::disallowed_methods, reason = "wall time bounds a test and decides nothing in it")]
fn now() -> Instant {
    Instant::now()
}

struct Campaign<'a> {
    target: &'a Target,
    corpus: &'a Corpus,
    current: Current,
}

impl Campaign<'_> {
    /// What came of an input, or why it failed.
    fn attempt(&self, input: &[u8]) -> Result<Outcome, String> {
        self.current.note(input);
        let start = processor_time();
        let outcome = quietly(|| (self.target.check)(input))?;
        let took = processor_time().saturating_sub(start);
        if took > PATIENCE {
            return Err(format!("takes {took:?}; it must take at most {PATIENCE:?}"));
        }
        match peak_memory_kb().filter(|_| took > Duration::from_millis(10)) {
            Some(kb) if kb > MAX_MEMORY_KB => {
                Err(format!("the process has held {kb} kB; no input may need that"))
            }
            _ => Ok(outcome),
        }
    }

    /// Keeps the shortest input that fails in the same way, and panics.
    fn report(&self, input: &[u8], why: &str) -> ! {
        let alike = |other: &str| other.get(..20.min(other.len())) == why.get(..20.min(why.len()));
        let fails =
            |input: &[u8]| quietly(|| (self.target.check)(input)).err().is_some_and(|why| alike(&why));
        let shortest = if fails(input) { shrink(input, SHRINKING_TRIES, fails) } else { input.to_vec() };
        let path = self.corpus.keep(&shortest);
        panic!(
            "{why}\nThe input is now {}.\nTo replay it: make fuzz TARGET={} SECONDS=0",
            path.display(),
            self.target.name
        );
    }
}

/// A file that holds the input being tried: it is there still if the process comes to an end by it.
struct Current(File);

impl Current {
    fn path(target: &Target) -> PathBuf {
        scratch::folder().join(format!("{}.input", target.name))
    }

    fn of(target: &Target) -> Self {
        Current(File::create(Self::path(target)).expect("the target folder can be written"))
    }

    fn note(&self, input: &[u8]) {
        let Current(file) = self;
        let mut to = file;
        let written = to.rewind().and_then(|()| to.write_all(input));
        let written = written.and_then(|()| file.set_len(input.len() as u64));
        written.expect("the target folder can be written");
    }
}

/// Ends the process if one input takes for ever.
struct Watchdog(Arc<AtomicBool>);

impl Watchdog {
    #[expect(clippy::disallowed_methods, reason = "an input that hangs can be left in no other way")]
    #[expect(clippy::print_stderr, reason = "the process ends before a test could report")]
    fn of(target: &Target) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (watched, path) = (done.clone(), Current::path(target));
        std::thread::spawn(move || {
            while !watched.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_secs(1));
                let begun = std::fs::metadata(&path).and_then(|file| file.modified());
                if begun.is_ok_and(|begun| begun.elapsed().is_ok_and(|span| span > FOR_EVER)) {
                    eprintln!("an input takes more than {FOR_EVER:?}; it is in {}", path.display());
                    std::process::abort();
                }
            }
        });
        Watchdog(done)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f`; if it panics, gives its message instead of printing it.
fn quietly<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    QUIET.set(false);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without words").to_owned()
    })
}

/// Time that this thread has been running: others may keep the processor busy. Zero where the system does not tell.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// The most that this process has held in memory, where the system tells.
fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
