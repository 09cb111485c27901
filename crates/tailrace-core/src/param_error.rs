//! The error about a scheme's parameters.

/// A parameter that cannot be used: which field, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ParamError {
    /// The field, relative to the scheme's parameters.
    pub field: String,
    /// What was wrong and what would be right.
    pub message: String,
}

impl ParamError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        ParamError { field: field.into(), message: message.into() }
    }

    /// The same error, seen from outside the table `parent`.
    pub fn within(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}
