//! The result folder, which several processes may use at a time: one folder a run, named by its scenario and the
//! build, made aside and renamed into place; checksums of all that is written.

mod draft;
mod files;
mod key;
mod lock;
mod owner;
mod sums;

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use tailrace_config::{ScenarioError, read_text};

pub use draft::Draft;
pub use key::run_key;
pub(crate) use lock::to_read;
pub use sums::verify;
pub(crate) use sums::verify_file;

use crate::error::Error;
use crate::output::files::{parquet_bytes, write_whole};
use crate::runs::run::RunResult;
use crate::stats::run_summary::Summary;
use files::write_files;
use lock::Lock;
use sums::Sums;

/// Where the folders of runs are.
const RUNS: &str = "runs";

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    /// The disk cannot be written: what is there can be read.
    read_only: bool,
}

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// All that was written.
    Whole(Box<Summary>),
    /// Something else than was written; in words.
    Damaged(String),
    /// Nothing.
    Nothing,
}

impl Store {
    /// Opens or makes the folder for results of this name and title. A folder that holds others is refused.
    /// Damage of the folder's own files is told to `note`.
    pub fn open(dir: &Path, name: &str, title: &str, note: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        Self::open_of(dir, &format!("{name}\n{title}\n"), note)
    }

    /// Opens a folder that is there, whosever results it holds.
    pub fn reopen(dir: &Path, note: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        Self::open_of(dir, &owner::identity(dir)?, note)
    }

    fn open_of(dir: &Path, identity: &str, note: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        if owner::is_foreign(dir) {
            let message = format!("{} exists and is no result folder; choose another one", dir.display());
            return Err(ScenarioError::new("--out", message).into());
        }
        fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
        let lock = match Lock::new_folder(dir) {
            Err(_) if lock::is_read_only(dir) && owner::check(dir, identity)? => None,
            lock => Some(lock?),
        };
        let store = Store { dir: dir.to_owned(), read_only: lock.is_none() };
        if owner::check(dir, identity)? {
            store.note_damage(note);
        }
        if lock.is_some() {
            store.write_locked(owner::MARKER, identity.as_bytes())?;
            fs::create_dir_all(store.runs()).map_err(|e| Error::storage(&store.runs(), e))?;
            remove_leftovers(dir);
            draft::sweep(&store.runs());
        }
        Ok(store)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn runs(&self) -> PathBuf {
        self.dir.join(RUNS)
    }

    /// The folder of a run.
    pub fn run_dir(&self, key: &str) -> PathBuf {
        self.runs().join(key)
    }

    /// A line about what other builds have made of the runs with these keys, if they have.
    pub fn of_other_builds<'a>(&self, keys: impl Iterator<Item = &'a str>) -> Option<String> {
        key::of_other_builds(&self.runs(), keys)
    }

    /// What is kept of a run.
    pub fn kept(&self, key: &str) -> Kept {
        kept(&self.dir, key)
    }

    /// Claims a run, to make it; `None` if somebody else is making it now.
    pub fn claim(&self, key: &str) -> Result<Option<Draft<'_>>, Error> {
        Draft::claim(&self.dir, key)
    }

    /// Writes a file of the folder, all or nothing. What is there already is not written again.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        self.write_all(&[(name, content)])
    }

    /// Writes several files as [`Self::write`] does, and nobody who locks the folder sees it in between.
    pub fn write_all(&self, files: &[(&str, &[u8])]) -> Result<(), Error> {
        let _lock = if self.read_only { None } else { Some(Lock::folder(&self.dir)?) };
        let write = |(name, content): &(&str, &[u8])| self.write_locked(name, content);
        files.iter().try_for_each(write).map_err(|error| lock::while_writing(&self.dir, error))
    }

    fn write_locked(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let mut sums = Sums::read(&self.dir).unwrap_or_default();
        if sums.has(name, content) && sums.verify(&self.dir, name).is_ok() {
            return Ok(());
        }
        write_whole(&self.dir.join(name), content)?;
        sums.add(name, content);
        sums.write(&self.dir)
    }

    /// Writes a table of the folder as [`Self::write`] does.
    pub fn write_table(&self, name: &str, table: &RecordBatch) -> Result<(), Error> {
        self.write(name, &parquet_bytes(&self.dir.join(name), table)?)
    }

    /// Says which of the folder's own files are not what was written: they will be written again.
    fn note_damage(&self, note: &mut dyn FnMut(&str)) {
        let damage = match Sums::read(&self.dir) {
            Ok(sums) => sums.names().filter_map(|name| sums.verify(&self.dir, name).err()).collect(),
            Err(error) => vec![error],
        };
        damage.iter().for_each(|error| note(&format!("{error}; it is written again")));
    }
}

/// What is kept in the folder of results `dir` of a run. It is whole if all its files are what was written, by the
/// build that its key names.
pub fn kept(dir: &Path, key: &str) -> Kept {
    kept_in(&dir.join(RUNS).join(key), key)
}

/// Whether a folder is that of a finished run of this key.
pub(crate) fn is_whole(run: &Path, key: &str) -> bool {
    matches!(kept_in(run, key), Kept::Whole(_))
}

fn kept_in(run: &Path, key: &str) -> Kept {
    if !run.exists() {
        return Kept::Nothing;
    }
    let path = run.join("summary.json");
    let summary = || {
        verify(run)?;
        let text = read_text(&path).map_err(|e| Error::storage(&path, e))?;
        serde_json::from_str::<Summary>(&text).map_err(|e| Error::storage(&path, e))
    };
    match summary() {
        Ok(summary) if key::build(key) == Some(&summary.build) => Kept::Whole(Box::new(summary)),
        Ok(_) => Kept::Damaged(format!("{} is of another build", path.display())),
        Err(error) => Kept::Damaged(error.to_string()),
    }
}

/// What a killed process may have left of the folder's own files. Needs the folder's lock, under which they are
/// written.
fn remove_leftovers(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(".tmp-") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn unwritable(dir: &Path, error: &std::io::Error) -> Error {
    let message = format!("{} cannot be made: {error}; choose another folder", dir.display());
    Error::Input(ScenarioError::new("--out", message))
}

/// Writes a run's files and their checksums into `dir`, which is made if need be, on up to so many threads.
pub fn write_run(dir: &Path, result: &RunResult, threads: usize) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(|e| Error::storage(dir, e))?;
    write_files(dir, result, threads)?.write(dir)
}

#[cfg(test)]
pub(crate) mod tests;
