//! `--set FIELD=VALUE`: values of an experiment that options replace.

use tailrace_config::ScenarioError;
use tailrace_experiment::Override;

/// Reads texts of the form `FIELD=VALUE`.
pub fn overrides(texts: &[String]) -> Result<Vec<Override>, ScenarioError> {
    let read = |text: &String| match text.split_once('=') {
        Some((field, value)) if !field.trim().is_empty() => {
            Ok(Override { field: field.trim().to_owned(), value: value.trim().to_owned() })
        }
        _ => {
            let message = format!("\"{text}\" is not FIELD=VALUE, for example workload.load=0.7");
            Err(ScenarioError::new("--set", message))
        }
    };
    texts.iter().map(read).collect()
}
