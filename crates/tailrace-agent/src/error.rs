//! Why an agent or a controller cannot do its work.

use std::io;
use std::path::PathBuf;

use tailrace_bpf::BpfError;
use tailrace_config::ScenarioError;
use tailrace_core::LiveError;

/// Why an agent or a controller cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or an option is wrong.
    #[error(transparent)]
    Input(#[from] ScenarioError),
    /// The machine refuses.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl From<BpfError> for Error {
    fn from(error: BpfError) -> Self {
        match error {
            BpfError::Pins(message) => ScenarioError::new("agent.pins", message).into(),
            BpfError::Rights(message) => Error::Live(LiveError::Rights(message)),
            BpfError::File { path, source } => Error::File { path, source },
            other => Error::Live(LiveError::SetUp(other.to_string())),
        }
    }
}

/// The same with the place in `file`, if the file is wrong.
#[cfg(feature = "daemon")]
pub(crate) fn in_file(error: Error, file: &std::path::Path) -> Error {
    match error {
        Error::Input(error) => {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            Error::Input(error.locate(&text).in_file(file))
        }
        other => other,
    }
}
