//! `check`: an experiment is run twice; digests must be equal and expectations must hold.

use std::path::Path;

use crate::error::Error;
use crate::file::Experiment;
use crate::results::Results;
use crate::runner::{Observer, Options, run_all};

/// One line of a check's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whether it is a shortfall: the check fails.
    pub shortfall: bool,
    /// What it says.
    pub text: String,
}

/// Runs `experiment` twice below `dir` and compares.
pub fn check(
    experiment: &Experiment,
    dir: &Path,
    jobs: usize,
    observer: &mut dyn Observer,
) -> Result<(Results, Vec<Line>), Error> {
    let options = Options { jobs, resume: false, pcap: None };
    let first = run_all(experiment, &dir.join("first"), &options, observer)?;
    let second = run_all(experiment, &dir.join("second"), &options, observer)?;
    let mut lines = compare(&first, &second);
    lines.extend(experiment.expectations.iter().map(|expectation| {
        let (value, holds) = expectation.judge(&first);
        let value = value.map_or("nothing".into(), show);
        let bounds = expectation.bounds();
        let word = if holds { "holds" } else { "FAILS" };
        Line { shortfall: !holds, text: format!("{word}: {} ({value}; expected {bounds})", expectation.text) }
    }));
    lines.extend(experiment.claims.iter().map(|claim| judge(claim, &first, experiment.scale)));
    Ok((first, lines))
}

fn judge(claim: &crate::judge::Claim, results: &Results, scale: f64) -> Line {
    let verdict = claim.judge(results);
    let (low, high) = claim.paper.ends();
    let paper = if low == high { show(low) } else { format!("{} to {}", show(low), show(high)) };
    let measured = verdict.measured.map_or("–".into(), show);
    let head = format!("claim {}: paper {paper}, here {measured}: {}", claim.id, verdict.words);
    let (shortfall, text) = match (&claim.deviation, verdict.holds) {
        (None, true) => (false, format!("{head}; holds")),
        (Some(reason), true) => (false, format!("{head}; holds here, though declared a deviation: {reason}")),
        (Some(reason), false) => (false, format!("{head}; DEVIATION: {reason}")),
        // A claim is about the paper's scale: reduced runs inform, they do not judge.
        (None, false) if scale < 1.0 => (false, format!("{head}; does not hold at scale {scale}")),
        (None, false) => (true, format!("{head}; does not hold, and no deviation is declared")),
    };
    Line { shortfall, text }
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

/// Two results of the same experiment must agree to the last event.
fn compare(first: &Results, second: &Results) -> Vec<Line> {
    let mut lines = Vec::new();
    for (a, b) in first.runs.iter().zip(&second.runs) {
        if a.summary != b.summary {
            let text = format!(
                "FAILS: run {} ({}) differs when repeated: digest {} and {}",
                a.key, a.scheme, a.summary.digest, b.summary.digest
            );
            lines.push(Line { shortfall: true, text });
        }
    }
    if lines.is_empty() {
        let text = format!("holds: all runs ({}) made twice, equal digests and statistics", first.runs.len());
        lines.push(Line { shortfall: false, text });
    }
    lines
}
