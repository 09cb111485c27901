//! Files that a workload names and that a run reads.

use std::path::{Path, PathBuf};

use tailrace_config::{ScenarioError, fingerprint, read_file};

/// A file that lists flows or tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The file, relative to the scenario's.
    pub path: PathBuf,
    /// Fingerprint of its content, once it has been read.
    pub digest: Option<String>,
}

impl InputFile {
    /// The file that is the value of `field`, if one is; its fingerprint cannot be given alone.
    pub(super) fn new(
        field: &str,
        path: Option<PathBuf>,
        digest: Option<String>,
    ) -> Result<Option<Self>, ScenarioError> {
        match (path, digest) {
            (None, Some(_)) => Err(ScenarioError::new(format!("{field}_digest"), format!("needs {field}"))),
            (path, digest) => Ok(path.map(|path| InputFile { path, digest })),
        }
    }

    /// Fingerprints its content. It must be that which is known, if one is.
    pub(super) fn identify(&mut self, base: &Path) -> Result<(), ScenarioError> {
        let path = base.join(&self.path);
        let wrong = |message: String| Err(ScenarioError::new("", message));
        let content = match read_file(&path) {
            Ok(content) => content,
            Err(error) => return wrong(format!("cannot read {}: {error}", path.display())),
        };
        let digest = fingerprint(&content);
        if self.digest.as_ref().is_some_and(|known| *known != digest) {
            return wrong(format!("{} has changed since this scenario was resolved", path.display()));
        }
        self.digest = Some(digest);
        Ok(())
    }
}
