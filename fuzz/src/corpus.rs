//! What a target is given first: inputs that are kept, and files of this repository.

use std::fs;
use std::path::{Path, PathBuf};

use tailrace_config::fingerprint;

use crate::targets::Target;

/// Begins the names of inputs that have failed once.
const FAILED: &str = "failed-";

/// The corpus of a target.
#[derive(Debug)]
pub struct Corpus {
    folder: PathBuf,
    /// Inputs, in order of their files' names.
    pub inputs: Vec<(PathBuf, Vec<u8>)>,
}

impl Corpus {
    /// Reads the inputs that are kept for a target.
    pub fn of(target: &Target) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join("corpus").join(target.name);
        let mut files = files_below(&folder);
        files.extend(shipped(target, &root.join("..")));
        let read = |path: PathBuf| {
            let content = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path, content)
        };
        Corpus { folder, inputs: files.into_iter().map(read).collect() }
    }

    /// Keeps an input that has failed.
    pub fn keep(&self, input: &[u8]) -> PathBuf {
        let path = self.folder.join(format!("{FAILED}{}", &fingerprint(input)[..12]));
        fs::create_dir_all(&self.folder).expect("the corpus can be written");
        fs::write(&path, input).expect("the corpus can be written");
        path
    }
}

/// The files of a target's kind that ship, those of schemes and documents included.
fn shipped(target: &Target, root: &Path) -> Vec<PathBuf> {
    let ending = match target.name {
        "experiment_file" => "toml",
        "cdf_file" => "cdf",
        _ => return Vec::new(),
    };
    let folders = ["experiments", "docs", "crates/tailrace-schemes/src"];
    let files = folders.iter().flat_map(|folder| files_below(&root.join(folder)));
    files.filter(|file| file.extension().is_some_and(|its| its == ending)).collect()
}

/// All files below a folder, in order of their paths.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}
