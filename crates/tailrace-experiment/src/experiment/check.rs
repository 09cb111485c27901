//! `check`: an experiment is run twice; digests must be equal and expectations must hold.

use std::path::Path;

use tailrace_core::Progress;
use tailrace_run::{ThreadPolicy, Threads};
use tailrace_scenario::Level;

use crate::build::model;
use crate::claims::claim::{Claim, Deviation, Wrong};
use crate::error::Error;
use crate::experiment::file::Experiment;

use crate::claims::judge::{Standing, Verdict};
use crate::experiment::runner::{Observer, Options, run_all, run_and_judge};
use crate::runs::results::Results;
use crate::runs::store;
use crate::stats::numbers::rounded;

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

/// Runs `experiment` twice below `dir`, the second time on two threads each where runs can be cut and two may run at a time, and
/// compares. `observer` hears of [`PASSES`] times as many runs.
pub fn check(
    experiment: &Experiment,
    dir: &Path,
    jobs: usize,
    observer: &mut dyn Observer,
) -> Result<(Results, Vec<Line>), Error> {
    let options = Options { jobs, threads: Threads::default(), resume: false, pcap: Vec::new(), runs: None };
    let (first, verdicts) = run_and_judge(experiment, &dir.join("first"), &options, observer)?;
    let mut observer = Second { observer, first: experiment.runs.len() };
    let some_are_cut = experiment.runs.iter().any(|run| run.scenario().level == Level::Packet);
    let options = if jobs >= 2 && some_are_cut {
        let threads = Threads { at_most: 2, policy: ThreadPolicy::RequestedQuietly };
        Options { jobs: jobs / threads.at_most, threads, ..options }
    } else {
        options
    };
    let second = run_all(experiment, &dir.join("second"), &options, &mut observer)?;
    let mut lines = compare(&first, &second);
    for expectation in &experiment.expectations {
        let (value, holds) = expectation.judge(&first)?;
        let value = value.map_or("nothing".into(), rounded);
        let bounds = expectation.bounds();
        let (outcome, word) = if holds { (Outcome::Holds, "holds") } else { (Outcome::Fails, "FAILS") };
        let text = format!("{word}: {} ({value}; expected {bounds})", expectation.text);
        lines.push(Line { outcome, text });
    }
    for (claim, verdict) in std::iter::zip(&experiment.claims, &verdicts) {
        lines.push(judge(claim, verdict, experiment.scale));
    }
    lines.extend(model().and_then(|model| older_records(&experiment.claims, model)));
    Ok((first, lines))
}

fn judge(claim: &Claim, verdict: &Verdict, scale: f64) -> Line {
    let Verdict { measured, standing, holds_for_wrong, words } = verdict;
    let number = measured.value.map_or("–".into(), rounded);
    let spread = measured.spread.map_or(String::new(), |spread| format!(" ± {}", rounded(spread)));
    let head = format!("claim {}: paper {}, here {number}{spread}: {words}", claim.id, claim.paper);
    // A claim is about the scale at which it was measured, or the paper's: smaller runs inform.
    let judged_from = claim.measured.map_or(1.0, |record| record.scale);
    let fails = scale >= judged_from;
    let (outcome, tail) = match (standing, &claim.deviation) {
        (Some(Standing::Holds | Standing::InShape | Standing::Deviates), _)
            if fails && *holds_for_wrong == Some(true) =>
        {
            let wrong = claim.wrong.as_ref().map_or("a change of nothing".into(), Wrong::to_string);
            (Outcome::Fails, format!("judges nothing, since {wrong} passes too"))
        }
        (Some(Standing::Undecided), _) if fails && !claim.is_recorded_as(Standing::Undecided) => {
            (Outcome::Fails, "these seeds do not decide it any more".into())
        }
        (Some(Standing::Undecided), Some(deviation))
            if measured.value.is_some_and(|value| claim.is_declared(value)) =>
        {
            (Outcome::Differs, format!("UNDECIDED: {}", deviation.reason))
        }
        (Some(Standing::Holds), None) => (Outcome::Holds, "holds".into()),
        (Some(Standing::Holds), Some(_)) => {
            (Outcome::Differs, "holds, so that its deviation need not be declared".into())
        }
        (_, Some(deviation)) if measured.value.is_some_and(|value| claim.is_declared(value)) => {
            (Outcome::Differs, format!("DEVIATION: {}", deviation.reason))
        }
        (_, Some(Deviation { within: [low, high], .. })) if fails => (
            Outcome::Fails,
            format!("outside its declared deviation, {} to {}", rounded(*low), rounded(*high)),
        ),
        (_, None) if fails => (Outcome::Fails, "does not hold, and no deviation is declared".into()),
        _ if claim.is_contradicted_by(measured) => {
            (Outcome::Fails, format!("speaks against it, even at scale {scale}"))
        }
        _ => (Outcome::Differs, format!("does not hold, but is not judged below scale {judged_from}")),
    };
    let aged = if is_aged(claim, measured.value, scale) {
        "; this is not what is recorded of this scale: experiments/record.py writes it down"
    } else {
        ""
    };
    Line { outcome, text: format!("{head}; {tail}{aged}") }
}

/// The records that an older model gave, in a line; records without a number are of the time before models had one.
fn older_records(claims: &[Claim], model: u32) -> Option<Line> {
    let records = claims.iter().filter_map(|claim| Some((&claim.id, claim.measured?.model)));
    let all = records.clone().count();
    let older: Vec<&str> =
        records.filter(|(_, of)| of.is_none_or(|of| of < model)).map(|(id, _)| id.as_str()).collect();
    (!older.is_empty()).then(|| Line {
        outcome: Outcome::Differs,
        text: format!(
            "{} of {all} records are of a model before number {model}: {}; experiments/record.py writes new ones",
            older.len(),
            older.join(", ")
        ),
    })
}

/// Whether a record of this scale says another number: of an older build, or of other fields. Four digits are recorded.
fn is_aged(claim: &Claim, value: Option<f64>, scale: f64) -> bool {
    let (Some(record), Some(value)) = (claim.measured, value) else { return false };
    record.scale == scale && (value - record.value).abs() > 1e-3 * value.abs().max(record.value.abs())
}

/// Two results of the same experiment must agree to the last event, and to the last byte, but for runs that are `live`.
fn compare(first: &Results, second: &Results) -> Vec<Line> {
    let mut lines = Vec::new();
    let fails = |text: String| Line { outcome: Outcome::Fails, text: format!("FAILS: {text}") };
    let simulated = || first.runs.iter().zip(&second.runs).filter(|(run, _)| run.summary.live.is_none());
    let (all, compared) = (first.runs.len(), simulated().count());
    if compared < all {
        let text = format!("not compared: {} live runs, no two of which are alike", all - compared);
        lines.push(Line { outcome: Outcome::Differs, text });
    }
    for (a, b) in simulated() {
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
    if compared > 0 && lines.iter().all(|line| line.outcome != Outcome::Fails) {
        let text = format!("holds: all runs ({compared}) made twice, equal digests, statistics and tables");
        lines.push(Line { outcome: Outcome::Holds, text });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::results::Finished;
    use crate::runs::store::tests::made_up;
    use crate::spec::sweep::Point;
    use crate::stats::run_summary::Summary;

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
        let experiment = Experiment::from_text(text, Path::new("x.toml"), &[], &[], 1.0).unwrap();
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
    fn what_is_not_recorded_of_this_scale_is_said() {
        let text = "[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n[[scheme]]\nname = \"fifo\"\n\
                    [[claim]]\nid = \"a\"\nsource = \"s\"\ntext = \"t\"\npaper = [0, 5000]\nnumber = { metric = \"unfinished\", of = \"fifo\" }\n\
                    measured = { value = 1234, scale = 0.5, model = 7 }\n";
        let experiment = Experiment::from_text(text, Path::new("x.toml"), &[], &[], 1.0).unwrap();
        let claim = &experiment.claims[0];
        assert_eq!(claim.measured.and_then(|record| record.model), Some(7));
        assert!(!is_aged(claim, Some(1_234.4), 0.5), "four digits are recorded");
        assert!(is_aged(claim, Some(1_240.0), 0.5));
        assert!(!is_aged(claim, Some(1_240.0), 0.1), "of another scale");
        assert!(!is_aged(claim, None, 0.5));
    }

    #[test]
    fn records_of_an_older_model_are_named() {
        let claim = |id: &str, model: &str| -> Claim {
            let text = format!(
                "id = \"{id}\"\npaper = 1\ntolerance = 0\nnumber = {{ metric = \"unfinished\", of = \"a\" }}\n\
                 measured = {{ value = 1, scale = 1{model} }}\n"
            );
            toml::from_str(&text).unwrap()
        };
        let claims = [claim("before", ""), claim("old", ", model = 1"), claim("new", ", model = 2")];
        let line = older_records(&claims, 2).unwrap();
        assert!(
            line.text.starts_with("2 of 3 records are of a model before number 2: before, old;"),
            "{line:?}"
        );
        assert_eq!(line.outcome, Outcome::Differs);
        assert_eq!(older_records(&claims[2..], 2), None);
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
        let write = |dir: &Path, number| store::write_run(dir, &made_up(number), 1).unwrap();
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
        store::write_run(dir.path(), &made_up(1.0), 1).unwrap();
        let claim =
            "id = \"1\"\npaper = 1\ntolerance = 0\nnumber = { metric = \"series:port_bytes\", of = \"a\" }";
        let claim: Claim = toml::from_str(claim).unwrap();
        let results = of_folder(dir.path());
        assert_eq!(claim.judge(&results).unwrap().measured.value, None, "these columns are no series'");
        std::fs::write(dir.path().join("series.parquet"), "").unwrap();
        assert!(claim.judge(&results).unwrap_err().to_string().contains("series.parquet: is damaged"));
    }
}
