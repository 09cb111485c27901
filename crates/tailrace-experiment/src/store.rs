//! The result folder: one folder a run, named by the hash of its resolved scenario, written aside and
//! renamed into place, so that a folder that exists is whole.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use tailrace_config::ScenarioError;

use crate::error::Error;
use crate::files::{write_parquet, write_whole};
use crate::run::RunResult;
use crate::run_summary::Summary;

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Opens or makes the folder for results of this name and title. A folder that holds others is refused.
    pub fn open(dir: &Path, name: &str, title: &str) -> Result<Self, Error> {
        let identity = format!("{name}\n{title}\n");
        let marker = dir.join(".tailrace");
        match fs::read_to_string(&marker) {
            Ok(found) if found == identity => {}
            Ok(found) => {
                let title = found.lines().next().unwrap_or_default();
                let message = format!(
                    "{} already holds results of another experiment ({title}); choose another folder or remove it",
                    dir.display()
                );
                return Err(ScenarioError::new("--out", message).into());
            }
            Err(_) if dir.is_dir() && fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) => {
                let message = format!("{} exists and is no result folder; choose another one", dir.display());
                return Err(ScenarioError::new("--out", message).into());
            }
            Err(_) => {
                fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
                fs::write(&marker, identity).map_err(|e| Error::storage(&marker, e))?;
            }
        }
        let store = Store { dir: dir.to_owned() };
        store.remove_leftovers();
        Ok(store)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What a killed run may have left behind.
    fn remove_leftovers(&self) {
        let folders = [self.dir.clone(), self.dir.join("runs"), self.dir.join("plots")];
        for entry in folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
            if !entry.file_name().to_string_lossy().starts_with(".tmp-") {
                continue;
            }
            let _ = match entry.file_type() {
                Ok(kind) if kind.is_dir() => fs::remove_dir_all(entry.path()),
                Ok(kind) if kind.is_file() => fs::remove_file(entry.path()),
                _ => Ok(()),
            };
        }
    }

    /// The folder of a run.
    pub fn run_dir(&self, key: &str) -> PathBuf {
        self.dir.join("runs").join(key)
    }

    /// The summary of a finished run, if it is there and of this version.
    pub fn finished(&self, key: &str) -> Option<Summary> {
        let text = fs::read_to_string(self.run_dir(key).join("summary.json")).ok()?;
        serde_json::from_str(&text).ok().filter(|summary: &Summary| summary.version == crate::VERSION)
    }

    /// Writes a run, all or nothing.
    pub fn save(&self, key: &str, result: &RunResult) -> Result<(), Error> {
        let aside = self.dir.join("runs").join(format!(".tmp-{key}"));
        let saved = write_run(&aside, result).and_then(|()| {
            let target = self.run_dir(key);
            let _ = fs::remove_dir_all(&target);
            fs::rename(&aside, &target).map_err(|e| Error::storage(&target, e))
        });
        if saved.is_err() {
            let _ = fs::remove_dir_all(&aside);
        }
        saved
    }

    /// Writes a file of the folder, all or nothing.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        write_whole(&self.dir.join(name), content)
    }

    /// Writes a table of the folder, all or nothing.
    pub fn write_table(&self, name: &str, table: &RecordBatch) -> Result<(), Error> {
        write_parquet(&self.dir.join(name), table)
    }
}

fn unwritable(dir: &Path, error: &std::io::Error) -> Error {
    let message = format!("{} cannot be made: {error}; choose another folder", dir.display());
    Error::Input(ScenarioError::new("--out", message))
}

/// Writes a run's files into `dir`.
pub fn write_run(dir: &Path, result: &RunResult) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(|e| Error::storage(dir, e))?;
    write_parquet(&dir.join("flows.parquet"), &result.flows)?;
    if let Some(tasks) = &result.tasks {
        write_parquet(&dir.join("tasks.parquet"), tasks)?;
    }
    write_parquet(&dir.join("ports.parquet"), &result.ports)?;
    write_parquet(&dir.join("series.parquet"), &result.series)?;
    let scenario = dir.join("scenario.toml");
    fs::write(&scenario, &result.scenario).map_err(|e| Error::storage(&scenario, e))?;
    let summary = dir.join("summary.json");
    let text = serde_json::to_string_pretty(&result.summary).map_err(|e| Error::storage(&summary, e))?;
    fs::write(&summary, text + "\n").map_err(|e| Error::storage(&summary, e))
}
