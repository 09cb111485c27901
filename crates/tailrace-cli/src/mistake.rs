//! Mistakes of users: in options, and in files.

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_experiment::Error;

/// A mistake in an option.
pub fn wrong(flag: &str, message: impl Into<String>) -> Error {
    ScenarioError::new(flag, message.into()).into()
}

/// Says where in the experiment a mistake is.
pub fn in_file(error: Error, file: &Path) -> Error {
    match error {
        Error::Input(error) => {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            error.locate(&text).in_file(file).into()
        }
        other => other,
    }
}
