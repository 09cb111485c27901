//! A file for input that is read by path, one for each process.

use std::path::PathBuf;

/// Writes `bytes` to this process' own file called `name`; returns its folder and path.
pub fn write(name: &str, bytes: &[u8]) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("tailrace-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the folder for temporary files can be written");
    (folder, path)
}
