//! What changes the identity of a build, and what does not.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use tailrace_identity::identity;

/// A crate of a few files, and a lock file.
fn prepared(dir: &Path) -> (PathBuf, PathBuf) {
    let (folder, lock) = (dir.join("a"), dir.join("Cargo.lock"));
    fs::create_dir_all(folder.join("src/scheme/tests")).unwrap();
    fs::write(folder.join("Cargo.toml"), "[package]").unwrap();
    fs::write(folder.join("src/lib.rs"), "mod scheme;").unwrap();
    fs::write(folder.join("src/scheme/mod.rs"), "const K: u32 = 65;").unwrap();
    fs::write(&lock, "version = 4").unwrap();
    (folder, lock)
}

#[test]
fn what_a_library_is_made_of_counts_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, lock) = prepared(dir.path());
    let now = || identity(std::slice::from_ref(&folder), &lock, "1.0").unwrap();
    let first = now();
    assert!(first.len() == 16 && first.chars().all(|digit| digit.is_ascii_hexdigit()), "{first}");

    for name in [
        "src/scheme/tests.rs",
        "src/world_tests.rs",
        "src/scheme/tests/long.rs",
        "src/scheme/README.md",
        "src/scheme/smoke.toml",
        "src/.mod.rs.swp",
        "src/lib.rs~",
        "notes.txt",
    ] {
        fs::write(folder.join(name), "anything").unwrap();
        assert_eq!(now(), first, "{name}");
    }
    let mut seen = vec![first];
    let mut is_new = |what: &str| {
        let made = now();
        assert!(!seen.contains(&made), "{what}");
        seen.push(made);
    };
    for (name, content) in [
        ("src/scheme/mod.rs", "const K: u32 = 66;"),
        ("src/scheme/table.rs", ""),
        ("src/scheme/table.csv", "1,2"),
        ("src/contests.rs", ""),
        ("Cargo.toml", "[package]\n"),
        ("../Cargo.lock", "version = 5"),
    ] {
        fs::write(folder.join(name), content).unwrap();
        is_new(name);
    }
    fs::rename(folder.join("src/scheme/table.rs"), folder.join("src/scheme/list.rs")).unwrap();
    is_new("another name");
    assert_ne!(identity(std::slice::from_ref(&folder), &lock, "1.1").unwrap(), now());
}

#[test]
fn the_same_sources_elsewhere_are_the_same_build() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [first, second] = dirs.each_ref().map(|dir| {
        let (folder, lock) = prepared(dir.path());
        identity(&[folder], &lock, "1.0").unwrap()
    });
    assert_eq!(first, second);
}
