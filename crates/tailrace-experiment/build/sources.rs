//! The identity of a build: a hash of sources, not of the day or the machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates whose sources decide a run's bytes: all that this one needs to make a run, and this one.
pub const CRATES: [&str; 14] = [
    "tailrace-config",
    "tailrace-core",
    "tailrace-engine",
    "tailrace-experiment",
    "tailrace-fabric",
    "tailrace-flow",
    "tailrace-linux",
    "tailrace-packet",
    "tailrace-queues",
    "tailrace-run",
    "tailrace-scenario",
    "tailrace-schemes",
    "tailrace-transport",
    "tailrace-workload",
];

/// 16 hexadecimal digits that depend on what the library files of `crates` contain, on `lock` (if it is
/// there) and on `built_with`. Tests, prose and smoke files decide no run, so they do not count.
pub fn identity(crates: &[PathBuf], lock: &Path, built_with: &str) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut add = |name: &str, content: &[u8]| {
        for part in [name.as_bytes(), content] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    };
    add("", built_with.as_bytes());
    if lock.exists() {
        add("Cargo.lock", &fs::read(lock)?);
    }
    for folder in crates {
        let mut files = vec![folder.join("Cargo.toml")];
        collect(&folder.join("src"), &mut files)?;
        files.sort();
        for file in files {
            let name = file.strip_prefix(folder).unwrap_or(&file);
            add(&name.to_string_lossy(), &fs::read(&file)?);
        }
    }
    Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            if name != "tests" {
                collect(&entry.path(), files)?;
            }
        } else if decides(&name) {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Whether a file of this name may decide what a run leaves. Hidden files are editors' own.
fn decides(name: &str) -> bool {
    let is_test = name == "tests.rs" || name.ends_with("_tests.rs");
    !(is_test
        || name == "smoke.toml"
        || name.ends_with(".md")
        || name.ends_with('~')
        || name.starts_with('.'))
}
