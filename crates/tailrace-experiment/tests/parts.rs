//! Runs made in parts, on any number of machines, and read however many of them are there.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use tailrace_core::Progress;
use tailrace_experiment::{Error, Experiment, Observer, Options, gather, run_all};

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
    Experiment::from_text(text, Path::new("x.toml"), &[], 1.0).unwrap()
}

fn make(experiment: &Experiment, dir: &Path, runs: Option<Vec<usize>>) -> Result<usize, Error> {
    let options = Options { jobs: 1, resume: true, pcap: None, runs };
    run_all(experiment, dir, &options, &mut Until(usize::MAX)).map(|results| results.runs.len())
}

#[test]
fn parts_add_up_to_the_whole() {
    let (experiment, folder) = (experiment(), tempfile::tempdir().unwrap());
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    assert_eq!(make(&experiment, &whole, None).unwrap(), 6);
    assert!(
        gather(&experiment, &parts, &mut |_| {}).is_err_and(|error| error.exit_status() == 2),
        "no such folder"
    );

    assert_eq!(make(&experiment, &parts, Some(vec![0, 3, 4])).unwrap(), 3);
    assert!(!parts.join("summary.csv").exists(), "a part is no summary");
    let (results, missing) = gather(&experiment, &parts, &mut |_| {}).unwrap();
    assert_eq!(missing, [1, 2, 5]);
    let there = |number: usize| (&experiment.runs[number].scheme, &experiment.runs[number].point);
    assert!(results.runs.iter().map(|run| (&run.scheme, &run.point)).eq([0, 3, 4].map(there)));
    let lines = |dir: &Path| fs::read_to_string(dir.join("summary.csv")).unwrap();
    assert!(lines(&parts).lines().all(|line| lines(&whole).lines().any(|other| other == line)));

    assert_eq!(make(&experiment, &parts, Some(vec![1, 2, 5])).unwrap(), 3);
    assert_eq!(gather(&experiment, &parts, &mut |_| {}).unwrap().1, [0; 0]);
    assert_eq!(lines(&parts), lines(&whole));
}

#[test]
fn what_an_interrupted_sweep_has_finished_can_be_read() {
    let (experiment, folder) = (experiment(), tempfile::tempdir().unwrap());
    let dir = folder.path().join("out");
    let options = Options { jobs: 1, resume: true, pcap: None, runs: None };
    let stopped = run_all(&experiment, &dir, &options, &mut Until(2));
    assert!(matches!(stopped, Err(Error::Interrupted)) || stopped.is_ok_and(|all| all.runs.len() == 6));
    let (results, missing) = gather(&experiment, &dir, &mut |_| {}).unwrap();
    assert!(results.runs.len() >= 2);
    assert_eq!(results.runs.len() + missing.len(), 6);
}
