//! What can go wrong with a machine, in words for its user.

use std::io;

/// Why something could not run on this machine.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The machine refuses something.
    #[error("{what}: {source}{hint}")]
    Refused {
        /// What was tried.
        what: String,
        /// What the machine says.
        source: io::Error,
        /// What would help, with a space before it; or nothing.
        hint: &'static str,
    },
    /// This process may not do what is asked of it.
    #[error("{0}")]
    Rights(String),
    /// A name is no name, or somebody else has it.
    #[error("{0}")]
    Name(String),
    /// Somebody has taken away what was needed.
    #[error("{0}")]
    Gone(String),
    /// A program that sets up interfaces failed, or is not there.
    #[error("{0}")]
    SetUp(String),
    /// The machine was too slow for what was asked of it.
    #[error("{0}")]
    TooSlow(String),
    /// A connection between hosts broke, which nothing that a fabric does explains.
    #[error("{0}")]
    Broken(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl LiveError {
    /// For `map_err`: what was tried, and what would help if it is a matter of rights.
    pub fn refused<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> LiveError {
        let what = what.into();
        |source| {
            let source = source.into();
            let hint = match source.kind() {
                io::ErrorKind::PermissionDenied => " (network namespaces and raw sockets need root)",
                _ => "",
            };
            LiveError::Refused { what, source, hint }
        }
    }
}
