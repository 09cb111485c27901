//! `check`: an experiment is run twice; digests must be equal and expectations must hold.

use std::path::Path;

use tailrace_core::Progress;

use crate::error::Error;
use crate::file::Experiment;
use crate::judge::{Claim, Direction, Figure, Verdict};
use crate::results::Results;
use crate::runner::{Observer, Options, run_all};
use crate::store;

/// One line of a check's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it means for the check.
    pub outcome: Outcome,
    /// What it says.
    pub text: String,
}

/// What a line of a report means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Holds,
    /// Other than in the paper: a declared deviation, or a claim on a smaller scale than the paper's.
    Differs,
    /// The check fails.
    Fails,
}

/// How often a check makes each run.
pub const PASSES: usize = 2;

/// The second pass to one who watches both: its runs are numbered on from those of the first.
struct Second<'a> {
    observer: &'a mut dyn Observer,
    first: usize,
}

impl Observer for Second<'_> {
    fn finished(&mut self, index: usize, resumed: bool) {
        self.observer.finished(self.first + index, resumed);
    }
    fn progress(&mut self, index: usize, progress: &Progress) {
        self.observer.progress(self.first + index, progress);
    }
    fn note(&mut self, text: &str) {
        self.observer.note(text);
    }
    fn interrupted(&mut self) -> bool {
        self.observer.interrupted()
    }
}

/// Runs `experiment` twice below `dir` and compares. `observer` hears of [`PASSES`] times as many runs.
pub fn check(
    experiment: &Experiment,
    dir: &Path,
    jobs: usize,
    observer: &mut dyn Observer,
) -> Result<(Results, Vec<Line>), Error> {
    let options = Options { jobs, resume: false, pcap: None, runs: None };
    let first = run_all(experiment, &dir.join("first"), &options, observer)?;
    let mut observer = Second { observer, first: experiment.runs.len() };
    let second = run_all(experiment, &dir.join("second"), &options, &mut observer)?;
    let mut lines = compare(&first, &second);
    for expectation in &experiment.expectations {
        let (value, holds) = expectation.judge(&first)?;
        let value = value.map_or("nothing".into(), show);
        let bounds = expectation.bounds();
        let (outcome, word) = if holds { (Outcome::Holds, "holds") } else { (Outcome::Fails, "FAILS") };
        let text = format!("{word}: {} ({value}; expected {bounds})", expectation.text);
        lines.push(Line { outcome, text });
    }
    for claim in &experiment.claims {
        lines.push(judge(claim, &claim.judge(&first)?, experiment.scale));
    }
    Ok((first, lines))
}

fn judge(claim: &Claim, verdict: &Verdict, scale: f64) -> Line {
    let paper = match claim.paper {
        Figure::One(number) => show(number),
        Figure::Range([low, high]) => format!("{} to {}", show(low), show(high)),
        Figure::Word(Direction::Lower) => "lower".to_owned(),
        Figure::Word(Direction::Higher) => "higher".to_owned(),
    };
    let measured = verdict.measured.map_or("–".into(), show);
    let head = format!("claim {}: paper {paper}, here {measured}: {}", claim.id, verdict.words);
    let (outcome, text) = match (&claim.deviation, verdict.holds) {
        (None, true) => (Outcome::Holds, format!("{head}; holds")),
        (Some(reason), true) => {
            (Outcome::Holds, format!("{head}; holds here, though declared a deviation: {reason}"))
        }
        (Some(reason), false) => (Outcome::Differs, format!("{head}; DEVIATION: {reason}")),
        // A claim is about the paper's scale: reduced runs inform, they do not judge.
        (None, false) if scale < 1.0 => (Outcome::Differs, format!("{head}; does not hold at scale {scale}")),
        (None, false) => (Outcome::Fails, format!("{head}; does not hold, and no deviation is declared")),
    };
    Line { outcome, text }
}

/// Four significant digits, no idle zeros.
fn show(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9);
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Two results of the same experiment must agree to the last event, and to the last byte.
fn compare(first: &Results, second: &Results) -> Vec<Line> {
    let mut lines = Vec::new();
    let fails = |text: String| Line { outcome: Outcome::Fails, text: format!("FAILS: {text}") };
    for (a, b) in first.runs.iter().zip(&second.runs) {
        match (store::verify(&a.dir), store::verify(&b.dir)) {
            (Ok(a), Ok(b)) if a == b => {}
            (Ok(_), Ok(_)) => {
                lines.push(fails(format!("tables of run {} ({}) differ when repeated", a.key, a.scheme)))
            }
            (Err(error), _) | (_, Err(error)) => lines.push(fails(error.to_string())),
        }
        if a.summary != b.summary {
            let text = format!(
                "run {} ({}) differs when repeated: digest {} and {}",
                a.key, a.scheme, a.summary.digest, b.summary.digest
            );
            lines.push(fails(text));
        }
    }
    if lines.is_empty() {
        let text = format!(
            "holds: all runs ({}) made twice, equal digests, statistics and tables",
            first.runs.len()
        );
        lines.push(Line { outcome: Outcome::Holds, text });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Finished;
    use crate::run_summary::Summary;
    use crate::store::tests::made_up;
    use crate::sweep::Point;

    #[derive(Default)]
    struct Heard(Vec<usize>);

    impl Observer for Heard {
        fn finished(&mut self, index: usize, _: bool) {
            self.0.push(index);
        }
        fn progress(&mut self, index: usize, _: &Progress) {
            assert!(index < 4, "run {index} of 4");
        }
        fn note(&mut self, text: &str) {
            panic!("a new folder: {text}");
        }
        fn interrupted(&mut self) -> bool {
            false
        }
    }

    #[test]
    fn both_passes_are_heard_of_one_after_the_other() {
        let text = "[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n\
                    [[scheme]]\nname = \"fifo\"\n[[scheme]]\nname = \"dctcp\"\n";
        let experiment = Experiment::from_text(text, Path::new("x.toml"), &[], 1.0).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut heard = Heard::default();
        check(&experiment, dir.path(), 1, &mut heard).unwrap();
        assert_eq!(heard.0, [0, 1, 2, 3]);
    }

    fn of_folder(dir: &Path) -> Results {
        let run = Finished {
            scheme: "a".into(),
            point: Point::default(),
            key: "k".into(),
            dir: dir.to_owned(),
            summary: Summary::default(),
            resumed: false,
        };
        Results { runs: vec![run] }
    }

    #[test]
    fn tables_that_differ_or_are_damaged_fail() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        let failures = || {
            let lines = compare(&of_folder(&a), &of_folder(&b));
            lines
                .into_iter()
                .filter(|line| line.outcome == Outcome::Fails)
                .map(|line| line.text)
                .collect::<Vec<_>>()
        };
        let write = |dir: &Path, number| store::write_run(dir, &made_up(number)).unwrap();
        write(&a, 1.0);
        write(&b, 1.0);
        assert_eq!(failures(), Vec::<String>::new());
        write(&b, 2.0);
        assert_eq!(failures(), ["FAILS: tables of run k (a) differ when repeated"]);
        write(&b, 1.0);
        std::fs::write(b.join("series.parquet"), "").unwrap();
        assert!(failures()[0].contains("series.parquet: is damaged"), "{:?}", failures());
    }

    #[test]
    fn a_claim_over_a_damaged_series_is_an_error_and_no_verdict() {
        let dir = tempfile::tempdir().unwrap();
        store::write_run(dir.path(), &made_up(1.0)).unwrap();
        let claim = "id = \"1\"\npaper = 1\nnumber = { metric = \"series:port_bytes\", of = \"a\" }";
        let claim: Claim = toml::from_str(claim).unwrap();
        let results = of_folder(dir.path());
        assert_eq!(claim.judge(&results).unwrap().measured, None, "these columns are no series'");
        std::fs::write(dir.path().join("series.parquet"), "").unwrap();
        assert!(claim.judge(&results).unwrap_err().to_string().contains("series.parquet: is damaged"));
    }
}
