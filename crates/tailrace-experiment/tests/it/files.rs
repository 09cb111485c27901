//! The files that the repository brings can be run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tailrace_experiment::Experiment;

/// All files of a folder, and of those in it, that are written in TOML.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push(path);
        }
    }
    Ok(())
}

/// The demo and the guides' files are nobody's paper, so that no other test reads them.
#[test]
fn every_experiment_is_read_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    files(&root.join("experiments"), &mut found).unwrap();
    files(&root.join("docs"), &mut found).unwrap();
    let experiments: Vec<_> =
        found.into_iter().filter(|path| fs::read_to_string(path).unwrap().contains("[[scheme]]")).collect();
    assert!(experiments.iter().any(|path| path.ends_with("experiments/demo.toml")));
    let faults: Vec<String> = experiments
        .iter()
        .filter_map(|path| Some(Experiment::read(path, &[], 1.0).err()?.to_string()))
        // A public trace, which whoever follows that guide fetches.
        .filter(|fault| !fault.contains("FB2010-1Hr-150-0.txt: No such file"))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
