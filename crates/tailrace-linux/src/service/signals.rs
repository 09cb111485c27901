//! Signals of a command that runs until it is told to end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tailrace_core::LiveError;

/// Notes from now on that one of these signals has come, which does nothing else any more.
pub fn notice(signals: &[i32]) -> Result<Arc<AtomicBool>, LiveError> {
    let noted = Arc::new(AtomicBool::new(false));
    for &signal in signals {
        signal_hook::flag::register(signal, noted.clone())
            .map_err(|error| LiveError::SetUp(format!("noticing signals: {error}")))?;
    }
    Ok(noted)
}

/// What is said where a file cannot be read again by the user as whom the command goes on.
pub fn unreadable(file: &Path, user: &str) -> Option<String> {
    let error = std::fs::File::open(file).err()?;
    Some(format!("note: user {user} cannot read {}, so SIGHUP will change nothing: {error}", file.display()))
}
