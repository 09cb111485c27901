//! Where a test makes its mistake, and of what experiments are made there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The beginning of an experiment.
pub const FABRIC: &str = r#"[fabric]
kind = "star"
hosts = 4
host_rate = "10Gbps"
delay = "1us"
buffer = "360KB"
"#;

/// One rule, with these fields.
pub fn rule(fields: &str) -> String {
    format!("[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n{fields}\n")
}

pub fn scheme(name: &str, fields: &str) -> String {
    format!("[[scheme]]\nname = \"{name}\"\n{fields}\n")
}

/// A folder of its own.
pub struct ExperimentFolder {
    dir: TempDir,
}

impl ExperimentFolder {
    pub fn new() -> Self {
        ExperimentFolder { dir: tempfile::tempdir().unwrap() }
    }

    /// With an experiment in `x.toml`.
    pub fn with(experiment: &str) -> Self {
        let place = ExperimentFolder::new();
        place.write("x.toml", experiment);
        place
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tailrace")).args(args).current_dir(self.dir()).output().unwrap()
    }

    /// The message of a mistake: one line, status 2, no panic, nothing written.
    pub fn mistake(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(!text.contains("panicked") && !self.path("out").exists(), "{args:?}: {text}");
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
        assert_eq!(errors.len(), 1, "{args:?}: {text}");
        errors[0].to_owned()
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What is said of an experiment.
pub fn said_of(experiment: &str) -> String {
    ExperimentFolder::with(experiment).mistake(&["run", "x.toml"])
}

/// Checks that an experiment is refused, with the file and these words.
pub fn refused(experiment: &str, words: &[&str]) {
    let message = said_of(experiment);
    for word in words.iter().chain(&["x.toml"]) {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

pub fn accepted(experiment: &str) {
    let output = ExperimentFolder::with(experiment).run(&["run", "x.toml"]);
    assert!(output.status.success(), "{experiment}: {}", stderr(&output));
}
