//! Runs `tc` of iproute2.

use std::process::Command;

use tailrace_core::LiveError;
use tailrace_experiment::Error;

/// Handle of the root queueing discipline, by which Tailrace recognises its own.
pub const ROOT: u32 = 0x7a11;

pub fn refused(message: String) -> Error {
    Error::Live(LiveError::SetUp(message))
}

/// Runs `tc` with these arguments; returns its standard output.
pub fn tc(words: &[&str]) -> Result<String, Error> {
    let output = Command::new("tc").args(words).output();
    let output = output.map_err(|error| refused(format!("`tc` of iproute2 cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not permitted") {
        let message =
            "tailrace qos --apply and --remove need root, for they change an interface: run it with sudo";
        return Err(Error::Live(LiveError::Rights(message.to_owned())));
    }
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    Err(refused(format!("`tc {}` says: {line}", words.join(" "))))
}
