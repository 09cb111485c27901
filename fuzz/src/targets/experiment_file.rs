//! Any experiment file is planned whole, or refused with an error that names a field or a line.

use std::path::Path;

use tailrace_experiment::Experiment;

use super::{Outcome, refused};

/// Where the file is said to lie: beside the flow sizes of the documents.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guide/fuzzed.toml");

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(bytes) else { return Outcome::Refused("no text".to_owned()) };
    match Experiment::from_text(text, Path::new(FILE), &[], &[], 1.0).map_err(|error| error.locate(text)) {
        Err(error) => {
            assert!(!error.message.is_empty());
            assert!(!error.field.is_empty() || error.line.is_some(), "no place in: {error}");
            assert!(error.to_string().len() < 10_000, "an endless message: {:.200}…", error.to_string());
            refused(&error)
        }
        Ok(experiment) => {
            assert!(!experiment.runs.is_empty());
            let schemes: Vec<&str> =
                experiment.runs.iter().map(|run| run.but_for_seed().scheme.name.as_str()).collect();
            Outcome::Used(schemes.first().copied().unwrap_or_default().to_owned())
        }
    }
}
