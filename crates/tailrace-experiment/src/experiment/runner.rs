//! Runs an experiment: several runs at a time, finished ones kept, results in the experiment's order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tailrace_core::{Ledger, PortView, Progress, Running};
use tailrace_run::{Control, ThreadPolicy, Threads, required_live};
use tailrace_scenario::{Level, Scenario};

use crate::claims::judge::Verdict;
use crate::claims::stop::{Needed, Stop};
use crate::error::Error;
use crate::experiment::file::Experiment;
use crate::experiment::plan_table::{self, Entry};
use crate::experiment::summary;
use crate::output::pcap;
use crate::runs::cost;
use crate::runs::results::{Finished, Results};
use crate::runs::run;
use crate::runs::store::{self, Draft, Kept, Store};
use crate::spec::plan::Planned;
use crate::stats::run_summary::Summary;

/// Who watches an experiment. Called from one thread only.
pub trait Observer {
    /// A run was found finished, or has finished.
    fn finished(&mut self, index: usize, resumed: bool);
    /// A run is so far.
    fn progress(&mut self, index: usize, progress: &Progress);
    /// How often runs are to be seen, and not only their progress.
    fn looks_every(&self) -> Option<Duration> {
        None
    }
    /// Receives the present state of a run.
    fn snapshot(&mut self, _: usize, _: Snapshot) {}
    /// Something that the user should know of what was found in the folder: one line.
    fn note(&mut self, text: &str);
    /// Whether all runs should stop. Asked several times a second.
    fn interrupted(&mut self) -> bool;
}

/// The state of a run at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// How far it is.
    pub progress: Progress,
    /// Each port, in order of number; none where there are no packets.
    pub ports: Vec<PortView>,
    /// Where every packet is, if there are packets.
    pub ledger: Option<Ledger>,
}

/// What a worker tells the main thread.
enum Message {
    Progress(usize, Progress),
    Snapshot(usize, Box<Snapshot>),
    Note(String),
    Done(usize, Box<Result<Finished, Error>>),
}

/// How often the observer is asked whether to stop.
const POLL: Duration = Duration::from_millis(100);

/// How an experiment is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs at a time.
    pub jobs: usize,
    /// Threads of each run.
    pub threads: Threads,
    /// Runs whose results are there already are not made again.
    pub resume: bool,
    /// Ports whose packets are written into each run's folder.
    pub pcap: Vec<String>,
    /// Only the runs with these numbers are made, and no summary is written: [`crate::gather`] does that when all
    /// parts are there, or some.
    pub runs: Option<Vec<usize>>,
}

/// Runs all of `experiment` into `dir`, or the part that `options` asks for.
pub fn run_all(
    experiment: &Experiment,
    dir: &Path,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Results, Error> {
    run_and_judge(experiment, dir, options, observer).map(|(results, _)| results)
}

/// As [`run_all`], with the verdicts on the claims, in their order; a part has none.
pub(crate) fn run_and_judge(
    experiment: &Experiment,
    dir: &Path,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<(Results, Vec<Verdict>), Error> {
    for port in &options.pcap {
        // A port that does not exist should not leave a folder behind.
        experiment.runs.iter().try_for_each(|run| pcap::port_number(run.but_for_seed(), port).map(drop))?;
    }
    // Nor should a level that this build lacks.
    if experiment.is_live() {
        required_live()?;
    }
    let folder = Folder::open(experiment, dir, &mut |text| observer.note(text))?;
    let results = match &experiment.stop {
        Some(stop) if options.runs.is_none() => folder.make_enough(experiment, stop, options, observer)?,
        _ => folder.make(experiment, options, observer)?,
    };
    let verdicts = match options.runs {
        None => summary::write(&folder.store, &experiment.axes(), &experiment.claims, &results)?,
        Some(_) => Vec::new(),
    };
    Ok((results, verdicts))
}

/// A folder that is ready for the runs of an experiment, and says which they are.
#[derive(Clone, Debug)]
pub struct Folder {
    store: Store,
    entries: Vec<Entry>,
}

impl Folder {
    /// Opens or makes the folder. `note` hears of what is damaged in it, and of what other builds have left.
    pub fn open(experiment: &Experiment, dir: &Path, note: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        let store = Store::open(dir, &experiment.name, &experiment.title, note)?;
        let entries: Vec<Entry> = experiment.runs.iter().map(Entry::of).collect();
        plan_table::write(&store, experiment, &entries)?;
        if let Some(text) = store.of_other_builds(entries.iter().map(|entry| entry.key.as_str())) {
            note(&text);
        }
        Ok(Folder { store, entries })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        self.store.dir()
    }

    /// Makes as many seeds as it takes.
    fn make_enough(
        &self,
        experiment: &Experiment,
        stop: &Stop,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Results, Error> {
        let mut made: BTreeMap<usize, Finished> = BTreeMap::new();
        loop {
            let needed = self.needed(experiment, &made);
            if needed.missing.is_empty() {
                let runs: Vec<Finished> = needed.runs.iter().filter_map(|run| made.remove(run)).collect();
                stop.shortfalls(&runs).iter().for_each(|line| observer.note(line));
                return Ok(Results { runs });
            }
            let mut numbers = needed.missing;
            numbers.sort_unstable();
            let runs = Options { runs: Some(numbers.clone()), ..options.clone() };
            made.extend(std::iter::zip(numbers, self.make(experiment, &runs, observer)?.runs));
        }
    }

    /// The runs that are not there, or all if `fresh`; those that take longest first, as far as that is known. Where seeds are
    /// run until they are enough, those that it takes to know more.
    pub fn wanted(&self, experiment: &Experiment, fresh: bool) -> Vec<usize> {
        let costs: BTreeMap<_, _> = experiment
            .but_for_seeds()
            .into_iter()
            .map(|(scenario, _)| (std::ptr::from_ref(scenario), cost::packet_hops(scenario).unwrap_or(0.0)))
            .collect();
        let found = if fresh { BTreeMap::new() } else { self.found() };
        let mut wanted = self.needed(experiment, &found).missing;
        let cost = |index: &usize| costs[&std::ptr::from_ref(experiment.runs[*index].but_for_seed())];
        wanted.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        wanted
    }

    /// Takes the `index`-th run from a folder that another machine has made; `false` if that is not whole, or of another build.
    pub fn take(&self, index: usize, from: &Path) -> Result<bool, Error> {
        let key = &self.entries[index].key;
        let Some(draft) = self.store.claim(key)? else {
            return Ok(matches!(self.store.kept(key), Kept::Whole(_)));
        };
        Ok(store::is_whole(from, key) && draft.take(from).map(|()| true)?)
    }

    /// The runs that are there, by their numbers.
    fn found(&self) -> BTreeMap<usize, Finished> {
        let found = |(run, entry): (usize, &Entry)| match self.store.kept(&entry.key) {
            Kept::Whole(summary) => Some((run, entry.finished(&self.store, *summary, true))),
            _ => None,
        };
        self.entries.iter().enumerate().filter_map(found).collect()
    }

    fn needed(&self, experiment: &Experiment, found: &BTreeMap<usize, Finished>) -> Needed {
        Needed::of(experiment.stop.as_ref(), self.entries.iter().map(|entry| &entry.point), found)
    }

    /// All runs that the experiment needs, each of which must be there, and its summary, which is written. `note` hears of what
    /// all seeds were not enough for.
    pub fn summarise(&self, experiment: &Experiment, note: &mut dyn FnMut(&str)) -> Result<Results, Error> {
        let mut found = self.found();
        let needed = self.needed(experiment, &found);
        if let Some(&run) = needed.missing.first() {
            let message = "is not there, though it was said to be finished".to_owned();
            return Err(Error::Storage { path: self.store.run_dir(&self.entries[run].key), message });
        }
        let results = Results { runs: needed.runs.iter().filter_map(|run| found.remove(run)).collect() };
        if let Some(stop) = &experiment.stop {
            stop.shortfalls(&results.runs).iter().for_each(|line| note(line));
        }
        summary::write(&self.store, &experiment.axes(), &experiment.claims, &results)?;
        Ok(results)
    }

    /// Makes those runs of the experiment that `options` asks for, and writes no summary.
    pub fn make(
        &self,
        experiment: &Experiment,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Results, Error> {
        let numbers = options.runs.clone().unwrap_or_else(|| (0..experiment.runs.len()).collect());
        let (next, looks_every) = (AtomicUsize::new(0), observer.looks_every());
        let mut threads = options.threads;
        if looks_every.is_some() {
            if threads.at_most > 1 && threads.policy == ThreadPolicy::Requested {
                observer.note("on one thread, since the run is watched: no part sees all ports");
            }
            threads.at_most = 1;
        }
        let stop = AtomicBool::new(false);
        let (sender, receiver) = channel();
        let worker = |sender: Sender<Message>| {
            loop {
                let Some(&index) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                let line = Mutex::new(Line { sender: sender.clone(), looked: None });
                let link = Link { index, line, stop: &stop, looks_every, threads };
                let done = one(&experiment.runs[index], &self.entries[index], &self.store, options, &link);
                let failed = done.is_err();
                if sender.send(Message::Done(index, Box::new(done))).is_err() || failed {
                    return;
                }
            }
        };
        #[expect(clippy::disallowed_methods, reason = "the runner owns the threads of a sweep")]
        let mut finished = std::thread::scope(|scope| {
            // Live runs have the machine to themselves.
            let live = numbers.iter().any(|&run| experiment.runs[run].but_for_seed().level == Level::Live);
            let jobs = if live { 1 } else { options.jobs };
            for _ in 0..jobs.clamp(1, numbers.len().max(1)) {
                let sender = sender.clone();
                scope.spawn(|| worker(sender));
            }
            drop(sender);
            collect(&receiver, &stop, observer)
        })?;
        finished.sort_by_key(|(index, _)| *index);
        Ok(Results { runs: finished.into_iter().map(|(_, run)| run).collect() })
    }
}

fn one(
    planned: &Planned,
    entry: &Entry,
    store: &Store,
    options: &Options,
    link: &Link<'_>,
) -> Result<Finished, Error> {
    let resume = options.resume && options.pcap.is_empty();
    let (summary, resumed) = make_in(store, &entry.key, &planned.scenario(), resume, &options.pcap, link)?;
    Ok(entry.finished(store, summary, resumed))
}

/// Makes a run of this key, unless it is to be resumed and there; whether it was.
pub(crate) fn make_in(
    store: &Store,
    key: &str,
    scenario: &Scenario,
    resume: bool,
    pcap: &[String],
    control: &dyn Control,
) -> Result<(Summary, bool), Error> {
    let kept = || if resume { store.kept(key) } else { Kept::Nothing };
    // What is whole needs no lock, and can be read where nothing can be written.
    if let Kept::Whole(summary) = kept() {
        return Ok((*summary, true));
    }
    let draft = claim(store, key, control)?;
    match kept() {
        // Somebody else has made it meanwhile.
        Kept::Whole(summary) => return Ok((*summary, true)),
        Kept::Damaged(what) => control.note(format!("{what}; the run is made again")),
        Kept::Nothing => {}
    }
    let result = run::run(scenario, control, &pcap::captures(pcap, &draft.dir()))?;
    draft.save(&result, control.threads().at_most)?;
    Ok((result.summary, false))
}

/// Claims a run, as soon as nobody else is making it.
fn claim<'a>(store: &'a Store, key: &str, control: &dyn Control) -> Result<Draft<'a>, Error> {
    let mut waits = false;
    loop {
        if let Some(draft) = store.claim(key)? {
            return Ok(draft);
        }
        if control.interrupted() {
            return Err(Error::Interrupted);
        }
        if !waits {
            control.note(format!("run {key} is being made elsewhere; waiting for it"));
        }
        waits = true;
        std::thread::sleep(POLL);
    }
}

/// Takes in what the workers say until all are gone; the first failure stops the others.
fn collect(
    receiver: &Receiver<Message>,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Vec<(usize, Finished)>, Error> {
    let mut finished = Vec::new();
    let mut failure: Option<Error> = None;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(Message::Progress(index, progress)) => observer.progress(index, &progress),
            Ok(Message::Snapshot(index, snapshot)) => observer.snapshot(index, *snapshot),
            Ok(Message::Note(text)) => observer.note(&text),
            Ok(Message::Done(index, done)) => match *done {
                Ok(run) => {
                    observer.finished(index, run.resumed);
                    finished.push((index, run));
                }
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    if failure.is_none() || matches!(failure, Some(Error::Interrupted)) {
                        failure = Some(error);
                    }
                }
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if observer.interrupted() {
            stop.store(true, Ordering::Relaxed);
        }
    }
    failure.map_or(Ok(finished), Err)
}

/// A run's line to the main thread.
struct Link<'a> {
    index: usize,
    line: Mutex<Line>,
    stop: &'a AtomicBool,
    looks_every: Option<Duration>,
    threads: Threads,
}

struct Line {
    sender: Sender<Message>,
    /// When the run was last seen.
    looked: Option<Instant>,
}

impl Link<'_> {
    fn send(&self, message: Message) {
        if let Ok(line) = self.line.lock() {
            // The receiver lives until all workers are gone; if it failed, `stop` says so.
            let _ = line.sender.send(message);
        }
    }

    /// Whether the run is to be seen now.
    #[expect(clippy::disallowed_methods, reason = "people look in wall time")]
    fn is_to_look(&self) -> bool {
        let (Some(every), Ok(mut line)) = (self.looks_every, self.line.lock()) else { return false };
        let looks = line.looked.is_none_or(|looked| looked.elapsed() >= every);
        if looks {
            line.looked = Some(Instant::now());
        }
        looks
    }
}

impl Control for Link<'_> {
    fn progress(&self, run: &mut dyn Running) {
        let progress = run.progress();
        self.send(Message::Progress(self.index, progress));
        if self.is_to_look() {
            let snapshot = Snapshot { progress, ports: run.ports(), ledger: run.ledger() };
            self.send(Message::Snapshot(self.index, Box::new(snapshot)));
        }
    }
    fn note(&self, text: String) {
        self.send(Message::Note(text));
    }
    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    fn threads(&self) -> Threads {
        self.threads
    }
}
