//! Locks between processes and between threads. The system lets go of them when their holder dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use crate::error::Error;

/// The file that is locked while a folder's own files are written, and while runs are claimed and given up.
pub(super) const LOCK: &str = ".lock";

/// A lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock of a folder of results that is there.
    pub(super) fn folder(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(LOCK);
        let file = OpenOptions::new().write(true).open(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => gone(dir),
            _ => Error::storage(&path, error),
        })?;
        Self::wait(&path, file, File::lock)
    }

    /// Makes the file that is locked, and waits for the lock.
    pub(super) fn new_folder(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        Self::wait(&path, file.map_err(|e| Error::storage(&path, e))?, File::lock)
    }

    /// Locks `path`, which is made if need be; `None` if somebody else holds it.
    pub(super) fn try_new(path: &Path) -> Result<Option<Self>, Error> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| match (error.kind(), path.parent()) {
            (ErrorKind::NotFound, Some(folder)) => gone(folder),
            _ => Error::storage(path, error),
        })?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unlockable(path, &error)),
        }
    }

    fn wait(path: &Path, file: File, lock: impl Fn(&File) -> std::io::Result<()>) -> Result<Self, Error> {
        loop {
            match lock(&file) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unlockable(path, &error)),
            }
        }
    }
}

/// Waits until nobody writes the folder's own files. None is needed where nobody ever locks.
pub(crate) fn to_read(dir: &Path) -> Result<Option<Lock>, Error> {
    let path = dir.join(LOCK);
    match File::open(&path) {
        Ok(file) => Lock::wait(&path, file, File::lock_shared).map(Some),
        Err(_) => Ok(None),
    }
}

/// Whether the folder cannot be written, by anyone or by this user.
pub(super) fn is_read_only(dir: &Path) -> bool {
    let probe = OpenOptions::new().write(true).create(true).truncate(false).open(dir.join(LOCK));
    probe.is_err_and(|error| {
        matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
    })
}

/// The failure of one whose folder has been removed.
pub(super) fn gone(dir: &Path) -> Error {
    let message = "was removed while results were written into it".to_owned();
    Error::Storage { path: dir.to_owned(), message }
}

/// What a failure to write into a folder that was there means: if something was missing, somebody is removing the
/// folder.
pub(super) fn while_writing(dir: &Path, error: Error) -> Error {
    if matches!(error, Error::Missing { .. }) { gone(dir) } else { error }
}

fn unlockable(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot be locked: {error}; choose a folder on another disk with --out");
    Error::Storage { path: path.to_owned(), message }
}
