//! What can go wrong, in words for users.

use std::io;
use std::path::{Path, PathBuf};

/// Why the agent cannot do what is asked of it.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// This process may not load programs into the kernel.
    #[error("{0}")]
    Rights(String),
    /// The kernel lacks something.
    #[error("{0}")]
    Kernel(String),
    /// What is pinned, or where it is to be, is not as it must be.
    #[error("{0}")]
    Pins(String),
    /// The kernel refuses something.
    #[error("{what}: {source}")]
    Refused {
        /// What was tried.
        what: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl BpfError {
    /// For `map_err`: a file that could not be written.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> BpfError {
        let path = path.to_owned();
        |source| BpfError::File { path, source }
    }

    /// For `map_err`: what the kernel did not do.
    #[cfg(feature = "programs")]
    pub(crate) fn refused<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> BpfError {
        let what = what.into();
        |source| BpfError::Refused { what, source: source.into() }
    }
}
