//! Files that are written while targets run.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder that holds them.
pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Writes `bytes` to the file called `name`; returns its path.
pub(crate) fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, bytes).expect("the target folder can be written");
    path
}
