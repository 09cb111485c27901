//! Runs made in parts, on any number of machines, and read however many of them are there.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use tailrace_core::Progress;
use tailrace_experiment::{Error, Experiment, Gathered, Observer, Options, Override, gather, run_all};
use tailrace_run::Threads;

/// Stops everything after so many runs.
struct Until(usize);

impl Observer for Until {
    fn finished(&mut self, _: usize, _: bool) {
        self.0 = self.0.saturating_sub(1);
    }
    fn progress(&mut self, _: usize, _: &Progress) {}
    fn note(&mut self, text: &str) {
        panic!("{text}");
    }
    fn interrupted(&mut self) -> bool {
        self.0 == 0
    }
}

fn experiment() -> Experiment {
    let text = "title = \"Parts\"\n[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.5\n\
                flows = 20\n[sweep]\nseed = [1, 2, 3]\n[[scheme]]\nname = \"fifo\"\n[[scheme]]\nname = \"dctcp\"\n";
    Experiment::from_text(text, Path::new("x.toml"), &[], &[], 1.0).unwrap()
}

fn make(experiment: &Experiment, dir: &Path, runs: Option<Vec<usize>>) -> Result<usize, Error> {
    let options = Options { jobs: 1, threads: Threads::default(), resume: true, pcap: Vec::new(), runs };
    run_all(experiment, dir, &options, &mut Until(usize::MAX)).map(|results| results.runs.len())
}

#[test]
fn parts_add_up_to_the_whole() {
    let (experiment, folder) = (experiment(), tempfile::tempdir().unwrap());
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    assert_eq!(make(&experiment, &whole, None).unwrap(), 6);
    assert!(gather(&parts, &mut |_| {}).is_err_and(|error| error.exit_status() == 2), "no such folder");

    assert_eq!(make(&experiment, &parts, Some(vec![0, 3, 4])).unwrap(), 3);
    assert!(!parts.join("summary.csv").exists(), "a part is no summary");
    let Gathered { results, missing, .. } = gather(&parts, &mut |_| {}).unwrap();
    let planned = |number: usize| (&experiment.runs[number].scheme, &experiment.runs[number].point);
    assert!(missing.iter().map(|run| (&run.scheme, &run.point)).eq([1, 2, 5].map(planned)));
    assert!(results.runs.iter().map(|run| (&run.scheme, &run.point)).eq([0, 3, 4].map(planned)));
    let lines = |dir: &Path| fs::read_to_string(dir.join("summary.csv")).unwrap();
    assert!(lines(&parts).lines().all(|line| lines(&whole).lines().any(|other| other == line)));

    assert_eq!(make(&experiment, &parts, Some(vec![1, 2, 5])).unwrap(), 3);
    assert!(gather(&parts, &mut |_| {}).unwrap().missing.is_empty());
    assert_eq!(lines(&parts), lines(&whole));
}

/// TOML as it is written has all other axes before groups, wherever they stood.
#[test]
fn a_plan_knows_the_order_of_axes() {
    let text = "[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n\
                [[scheme]]\nname = \"fifo\"\n[[sweep.together]]\n\"workload.load\" = [0.3, 0.6]\n";
    let seeds = Override { field: "sweep.seed".to_owned(), value: "[1, 2, 3]".to_owned() };
    let experiment = Experiment::from_text(text, Path::new("x.toml"), &[], &[seeds], 1.0).unwrap();
    assert_eq!(experiment.axes(), ["workload.load", "seed"]);
    let folder = tempfile::tempdir().unwrap();
    make(&experiment, folder.path(), Some(vec![1, 5])).unwrap();
    let gathered = gather(folder.path(), &mut |_| {}).unwrap();
    assert_eq!(gathered.axes, ["workload.load", "seed"]);
    let found = gathered.results.runs.iter().map(|run| &run.point);
    assert!(found.eq([1, 5].map(|number: usize| &experiment.runs[number].point)));
}

#[test]
fn what_an_interrupted_sweep_has_finished_can_be_read() {
    let (experiment, folder) = (experiment(), tempfile::tempdir().unwrap());
    let dir = folder.path().join("out");
    let options =
        Options { jobs: 1, threads: Threads::default(), resume: true, pcap: Vec::new(), runs: None };
    let stopped = run_all(&experiment, &dir, &options, &mut Until(2));
    assert!(matches!(stopped, Err(Error::Interrupted)) || stopped.is_ok_and(|all| all.runs.len() == 6));
    let Gathered { results, missing, .. } = gather(&dir, &mut |_| {}).unwrap();
    assert!(results.runs.len() >= 2);
    assert_eq!(results.runs.len() + missing.len(), 6);
}
