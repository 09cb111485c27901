//! `tailrace claims`: how the claims of experiments stand, by what was measured when their files were last run.

use std::path::Path;

use serde_json::{Value, json};
use tailrace_console::say;
use tailrace_experiment::{Claim, Error, Experiment, Standing};

use crate::args;

pub fn claims(options: &args::Claims) -> Result<i32, Error> {
    let read = |file: &std::path::PathBuf| Experiment::read(file, &[], 1.0);
    let experiments: Vec<Experiment> = options.files.iter().map(read).collect::<Result<_, _>>()?;
    if options.json {
        let all = experiments.iter().flat_map(|e| e.claims.iter().map(|claim| entry(&e.file, claim)));
        say!("{:#}", Value::from_iter(all));
        return Ok(0);
    }
    for experiment in &experiments {
        say!("{} — {}", experiment.file.display(), experiment.title);
        for claim in &experiment.claims {
            say!("  {}: {}", claim.id, in_words(claim));
        }
    }
    let count = |wanted: Option<Standing>| {
        experiments.iter().flat_map(|e| &e.claims).filter(|claim| standing(claim) == wanted).count()
    };
    let [hold, in_shape, deviate, undecided] =
        [Standing::Holds, Standing::InShape, Standing::Deviates, Standing::Undecided]
            .map(|standing| count(Some(standing)));
    let unknown = count(None);
    say!(
        "{hold} hold, {in_shape} in shape, {deviate} deviate, {undecided} undecided, {unknown} not measured"
    );
    Ok(0)
}

fn standing(claim: &Claim) -> Option<Standing> {
    claim.judge_record().and_then(|verdict| verdict.standing)
}

fn entry(file: &Path, claim: &Claim) -> Value {
    json!({ "file": file.display().to_string(), "claim": claim, "verdict": claim.judge_record() })
}

fn in_words(claim: &Claim) -> String {
    let (Some(record), Some(verdict)) = (claim.measured, claim.judge_record()) else {
        return format!("paper {}, not measured", claim.paper);
    };
    let stands = match verdict.standing {
        Some(Standing::Holds) => "holds",
        Some(Standing::InShape) => "in shape",
        Some(Standing::Undecided) => "undecided",
        _ => "deviates",
    };
    let value = tailrace_experiment::rounded(record.value);
    format!("paper {}, here {value} at scale {}: {stands}, {}", claim.paper, record.scale, verdict.words)
}
