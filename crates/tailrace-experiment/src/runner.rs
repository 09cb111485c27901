//! Runs an experiment: several runs at a time, finished ones kept, results in the experiment's order.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tailrace_core::Progress;
use tailrace_run::{Control, StartAgents};
use tailrace_scenario::Level;

use crate::error::Error;
use crate::file::Experiment;
use crate::pcap::{self, Capture};
use crate::plan::Planned;
use crate::plan_table::{self, Entry};
use crate::results::{Finished, Results};
use crate::store::{Draft, Kept, Store};
use crate::{run, summary};

/// Who watches an experiment. Called from one thread only.
pub trait Observer {
    /// A run was found finished, or has finished.
    fn finished(&mut self, index: usize, resumed: bool);
    /// A run is so far.
    fn progress(&mut self, index: usize, progress: &Progress);
    /// Something that the user should know of what was found in the folder: one line.
    fn note(&mut self, text: &str);
    /// Whether all runs should stop. Asked several times a second.
    fn interrupted(&mut self) -> bool;
    /// How agents are started at hosts of live runs, if the caller can do that.
    fn agents(&self) -> Option<StartAgents> {
        None
    }
}

/// What a worker tells the main thread.
enum Message {
    Progress(usize, Progress),
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
    /// Runs whose results are there already are not made again.
    pub resume: bool,
    /// A port whose packets are written into each run's folder.
    pub pcap: Option<String>,
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
    if let Some(port) = &options.pcap {
        // A port that does not exist should not leave a folder behind.
        experiment.runs.iter().try_for_each(|run| pcap::port_number(run.but_for_seed(), port).map(drop))?;
    }
    let folder = Folder::open(experiment, dir, &mut |text| observer.note(text))?;
    let results = folder.make(experiment, options, observer)?;
    if options.runs.is_none() {
        summary::write(&folder.store, &experiment.axes(), &experiment.claims, &results)?;
    }
    Ok(results)
}

/// A folder that is ready for the runs of an experiment, and says which they are.
#[derive(Debug)]
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

    /// Makes those runs of the experiment that `options` asks for, and writes no summary.
    pub fn make(
        &self,
        experiment: &Experiment,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Results, Error> {
        let numbers = options.runs.clone().unwrap_or_else(|| (0..experiment.runs.len()).collect());
        let (next, agents) = (AtomicUsize::new(0), observer.agents());
        let stop = AtomicBool::new(false);
        let (sender, receiver) = channel();
        let worker = |sender: Sender<Message>| {
            loop {
                let Some(&index) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                let link = Link { index, sender: Mutex::new(sender.clone()), stop: &stop, agents };
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
    let finished = |summary, resumed| entry.finished(store, summary, resumed);
    let kept =
        || if options.resume && options.pcap.is_none() { store.kept(&entry.key) } else { Kept::Nothing };
    // What is whole needs no lock, and can be read where nothing can be written.
    if let Kept::Whole(summary) = kept() {
        return Ok(finished(*summary, true));
    }
    let draft = claim(store, &entry.key, link)?;
    match kept() {
        // Somebody else has made it meanwhile.
        Kept::Whole(summary) => return Ok(finished(*summary, true)),
        Kept::Damaged(what) => link.note(format!("{what}; the run is made again")),
        Kept::Nothing => {}
    }
    let capture = options.pcap.as_ref().map(|port| {
        // Nodes of a graph may be called anything.
        let plain = |c: char| if c.is_alphanumeric() || "._#-".contains(c) { c } else { '_' };
        let name: String = port.replace("->", "-").chars().map(plain).collect();
        let name = format!("{name}.pcap");
        Capture { port: port.clone(), path: draft.dir().join(name) }
    });
    let result = run::run(&planned.scenario(), link, capture.as_ref())?;
    draft.save(&result)?;
    Ok(finished(result.summary, false))
}

/// Claims a run, as soon as nobody else is making it.
fn claim<'a>(store: &'a Store, key: &str, link: &Link<'_>) -> Result<Draft<'a>, Error> {
    let mut waits = false;
    loop {
        if let Some(draft) = store.claim(key)? {
            return Ok(draft);
        }
        if link.interrupted() {
            return Err(Error::Interrupted);
        }
        if !waits {
            link.note(format!("run {key} is being made elsewhere; waiting for it"));
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
    sender: Mutex<Sender<Message>>,
    stop: &'a AtomicBool,
    agents: Option<StartAgents>,
}

impl Link<'_> {
    fn send(&self, message: Message) {
        if let Ok(sender) = self.sender.lock() {
            // The receiver lives until all workers are gone; if it failed, `stop` says so.
            let _ = sender.send(message);
        }
    }
}

impl Control for Link<'_> {
    fn progress(&self, progress: &Progress) {
        self.send(Message::Progress(self.index, *progress));
    }
    fn note(&self, text: String) {
        self.send(Message::Note(text));
    }
    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    fn agents(&self) -> Option<StartAgents> {
        self.agents
    }
}
