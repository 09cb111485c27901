//! What can go wrong besides bad input.

use std::io;
use std::path::{Path, PathBuf};

use tailrace_config::ScenarioError;
use tailrace_run::{LiveError, RunError};

/// A run or an experiment that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's files or options: nothing was run.
    #[error(transparent)]
    Input(#[from] ScenarioError),
    /// A result could not be written or read.
    #[error("{path}: {message}")]
    Storage {
        /// Which file or folder.
        path: PathBuf,
        /// What went wrong.
        message: String,
    },
    /// A file or folder is not there.
    #[error("{path}: {message}")]
    Missing {
        /// Which.
        path: PathBuf,
        /// As the system says it.
        message: String,
    },
    /// A fluid model's solver gave up.
    #[error("{0}")]
    Unsolved(String),
    /// The machine could not run it live.
    #[error(transparent)]
    Live(LiveError),
    /// A cluster did not make what it was asked for.
    #[error("{0}")]
    Elsewhere(String),
    /// The user stopped the run.
    #[error("interrupted; finished runs are kept, and the same command goes on where it stopped")]
    Interrupted,
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => Error::Input(error),
            RunError::Live(LiveError::Interrupted) => Error::Interrupted,
            RunError::Live(error) => Error::Live(error),
        }
    }
}

impl Error {
    /// A failure to read or write `path`.
    pub fn storage(path: &Path, error: impl Into<io::Error>) -> Self {
        let error: io::Error = error.into();
        let message = match error.kind() {
            io::ErrorKind::StorageFull => "the disk is full; earlier results are whole".to_owned(),
            io::ErrorKind::PermissionDenied => {
                "permission denied; choose another folder with --out".to_owned()
            }
            io::ErrorKind::NotFound => {
                return Error::Missing { path: path.to_owned(), message: error.to_string() };
            }
            _ => error.to_string(),
        };
        Error::Storage { path: path.to_owned(), message }
    }

    /// 2 for the user's mistakes, 1 for failures.
    pub fn exit_status(&self) -> i32 {
        match self {
            Error::Input(_) => 2,
            Error::Storage { .. }
            | Error::Missing { .. }
            | Error::Unsolved(_)
            | Error::Live(_)
            | Error::Elsewhere(_) => 1,
            Error::Interrupted => 130,
        }
    }
}
