//! A run being made: one process at a time makes it, aside, and puts it into its place when it is whole.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::write_files;
use super::lock::{Lock, while_writing};
use super::sums::Sums;
use crate::error::Error;
use crate::runs::run::RunResult;

/// What names of unfinished folders begin with. Only the holder of the run's lock has such a folder.
const ASIDE: &str = ".tmp-";
/// What names of runs' locks begin with.
const LOCKED: &str = ".lock-";

/// The right to make a run, and the folder to make it in. Dropped unsaved, it leaves nothing.
pub struct Draft<'a> {
    /// The folder of results.
    store: &'a Path,
    key: String,
    /// Held until the draft is gone.
    _lock: Lock,
}

impl<'a> Draft<'a> {
    /// Claims a run; `None` if somebody else is making it.
    pub(super) fn claim(store: &'a Path, key: &str) -> Result<Option<Self>, Error> {
        // Locks are made and removed under the folder's lock only, so nobody locks a file that is gone.
        let _folder = Lock::folder(store)?;
        let Some(lock) = Lock::try_new(&lock_path(&store.join("runs"), key))? else { return Ok(None) };
        let draft = Draft { store, key: key.to_owned(), _lock: lock };
        remove(&draft.dir());
        remove(&draft.replaced());
        fs::create_dir(draft.dir()).map_err(|e| while_writing(store, Error::storage(&draft.dir(), e)))?;
        Ok(Some(draft))
    }

    fn runs(&self) -> PathBuf {
        self.store.join("runs")
    }

    /// Where the run is made.
    pub fn dir(&self) -> PathBuf {
        self.runs().join(format!("{ASIDE}{}", self.key))
    }

    /// Where a run that was there before waits for its end.
    fn replaced(&self) -> PathBuf {
        self.runs().join(format!("{ASIDE}{}.old", self.key))
    }

    /// Puts a run into its place, all or nothing, with whatever else is in the draft's folder; up to so many threads make its
    /// files.
    pub fn save(self, result: &RunResult, threads: usize) -> Result<(), Error> {
        self.put(result, threads).map_err(|error| while_writing(self.store, error))
    }

    /// Puts a run into its place that was made in another folder, all or nothing.
    pub fn take(self, from: &Path) -> Result<(), Error> {
        let copy = || {
            for name in Sums::read(from)?.names() {
                let target = self.dir().join(name);
                fs::copy(from.join(name), &target).map_err(|e| Error::storage(&target, e))?;
            }
            self.place(Sums::default())
        };
        copy().map_err(|error| while_writing(self.store, error))
    }

    fn put(&self, result: &RunResult, threads: usize) -> Result<(), Error> {
        self.place(write_files(&self.dir(), result, threads)?)
    }

    fn place(&self, mut sums: Sums) -> Result<(), Error> {
        let (aside, target) = (self.dir(), self.runs().join(&self.key));
        sums.add_rest(&aside)?;
        sums.write(&aside)?;
        if target.exists() {
            fs::rename(&target, self.replaced()).map_err(|e| Error::storage(&target, e))?;
        }
        fs::rename(&aside, &target).map_err(|e| Error::storage(&target, e))?;
        remove(&self.replaced());
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        remove(&self.dir());
        // Without the folder's lock the file stays; the next one who opens the folder removes it.
        if let Ok(_folder) = Lock::folder(self.store) {
            let _ = fs::remove_file(lock_path(&self.runs(), &self.key));
        }
    }
}

fn lock_path(runs: &Path, key: &str) -> PathBuf {
    runs.join(format!("{LOCKED}{key}"))
}

fn remove(dir: &Path) {
    let _ = fs::remove_dir_all(dir);
}

/// Removes what dead processes left in `runs`; what the living are making stays. Needs the folder's lock.
pub(super) fn sweep(runs: &Path) {
    let hidden = |prefix: &str| -> Vec<String> {
        let names = fs::read_dir(runs).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter_map(|name| name.strip_prefix(prefix).map(str::to_owned)).collect()
    };
    let mut living = Vec::new();
    for key in hidden(LOCKED) {
        match Lock::try_new(&lock_path(runs, &key)) {
            Ok(Some(_dead)) => {
                let _ = fs::remove_file(lock_path(runs, &key));
            }
            _ => living.push(key),
        }
    }
    for name in hidden(ASIDE) {
        let key = name.strip_suffix(".old").unwrap_or(&name);
        if !living.iter().any(|other| other == key) {
            remove(&runs.join(format!("{ASIDE}{name}")));
        }
    }
}
