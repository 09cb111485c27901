//! Why something was not measured.

use std::io;
use std::path::{Path, PathBuf};

use tailrace_config::ScenarioError;
use tailrace_core::LiveError;
use tailrace_run::RunError;

/// Why something was not measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option or a scenario is wrong.
    #[error(transparent)]
    Input(#[from] ScenarioError),
    /// The machine refuses.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A file or a program cannot be used.
    #[error("{path}: {source}")]
    Storage {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Results could not be written or read.
    #[cfg(feature = "all")]
    #[error(transparent)]
    Experiment(#[from] tailrace_experiment::Error),
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => Error::Input(error),
            RunError::Live(error) => Error::Live(error),
        }
    }
}

impl Error {
    /// A file or a program that cannot be used.
    pub fn storage(path: &Path, source: io::Error) -> Self {
        Error::Storage { path: path.to_owned(), source }
    }

    /// 2 for mistakes, 1 for failures.
    pub fn exit_status(&self) -> i32 {
        if matches!(self, Error::Input(_)) { 2 } else { 1 }
    }
}
