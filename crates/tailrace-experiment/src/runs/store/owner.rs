//! Whose results a folder holds.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use tailrace_config::{ScenarioError, read_file, read_text};

use super::lock::LOCK;
use super::sums::{SUMS, Sums, verify_file};
use crate::error::Error;

/// The file that says whose results a folder holds.
pub(super) const MARKER: &str = ".tailrace";

/// Whether the folder is there and holds what no result folder holds.
pub(super) fn is_foreign(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    let names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let ours = |name: &String| name == MARKER || name == SUMS;
    // Another process may have just begun to make the folder.
    let begun = |name: &String| name == LOCK || name.starts_with(".tmp-");
    !names.iter().any(ours) && !names.iter().all(begun)
}

/// Whose results the folder says it holds.
pub(super) fn identity(dir: &Path) -> Result<String, Error> {
    let path = dir.join(MARKER);
    verify_file(dir, MARKER)?;
    read_text(&path).map_err(|error| Error::storage(&path, error))
}

/// Whether the folder says that it holds results of this identity: `false` if it says nothing yet, an error if it
/// holds others. Where the marker is damaged, its checksum tells.
pub(super) fn check(dir: &Path, identity: &str) -> Result<bool, Error> {
    let path = dir.join(MARKER);
    let marker = match read_file(&path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(Error::storage(&path, error)),
    };
    if marker.as_deref() == Some(identity.as_bytes()) {
        return Ok(true);
    }
    if dir.join(SUMS).exists() {
        if Sums::read(dir).is_ok_and(|sums| sums.has(MARKER, identity.as_bytes())) {
            return Ok(true);
        }
    } else if marker.is_none() {
        return Ok(false);
    }
    let found = String::from_utf8_lossy(&marker.unwrap_or_default()).into_owned();
    let message = format!(
        "{} already holds results of another experiment ({}); choose another folder or remove it",
        dir.display(),
        found.lines().next().unwrap_or("which one cannot be told")
    );
    Err(ScenarioError::new("--out", message).into())
}
