//! Remote runs: tasks that other machines read and make.

use std::path::{Path, PathBuf};

use tailrace_config::ScenarioError;
use tailrace_run::Control;
use tailrace_scenario::Level;

use crate::error::Error;
use crate::experiment::runner::make_in;
use crate::runs::run::{self, read_scenario};
use crate::runs::store::{Store, run_key, write_run};
use crate::spec::plan::Planned;

/// A run, with all that a machine needs that knows nothing of the experiment.
#[derive(Clone, Debug)]
pub struct Task {
    /// The scenario with all defaults written out, as TOML.
    pub text: String,
    /// The folder that its files are relative to.
    pub base: PathBuf,
    /// Those files, by their relative names. A file with a name of its own from the root on must be there.
    pub files: Vec<PathBuf>,
    /// The key of the run.
    pub key: String,
}

/// Where a run is put.
#[derive(Clone, Copy, Debug)]
pub enum Destination<'a> {
    /// Into a folder of results, beside others. With `fresh`, again if it is there.
    Results {
        /// The folder.
        folder: &'a Path,
        /// Whether it is made although it is there.
        fresh: bool,
    },
    /// Into a folder of its own, which is made.
    Alone(&'a Path),
}

impl Task {
    /// The task of making a run. Live runs are of the machine that makes them.
    pub fn of(run: &Planned) -> Result<Self, ScenarioError> {
        let scenario = run.scenario();
        if scenario.level == Level::Live {
            let message = "live runs are of this machine: they cannot be made on a cluster";
            return Err(ScenarioError::new("--cluster", message));
        }
        let workload = &scenario.workload;
        let files = [&workload.flow_list, &workload.coflow_trace].into_iter().flatten();
        let files = files.map(|file| file.path.clone()).filter(|path| path.is_relative()).collect();
        Ok(Task { text: scenario.resolved(), files, key: run_key(&scenario), base: scenario.base })
    }

    /// Makes the run. Fails where this build of Tailrace would make another one of it.
    pub fn make(&self, destination: Destination<'_>, control: &dyn Control) -> Result<(), Error> {
        let scenario = read_scenario(&self.text, &self.base)?;
        let key = run_key(&scenario);
        if key != self.key {
            let message = format!(
                "this build of Tailrace would make it as {key}, but {} was planned: the same build must be on all machines",
                self.key
            );
            return Err(ScenarioError::new("", message).into());
        }
        match destination {
            Destination::Results { folder, fresh } => {
                let store = Store::reopen(folder, &mut |text| control.note(text.to_owned()))?;
                make_in(&store, &key, &scenario, !fresh, &[], control).map(drop)
            }
            Destination::Alone(folder) => {
                let result = run::run(&scenario, control, &[])?;
                write_run(folder, &result, control.threads().at_most)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tailrace_run::Unattended;

    use super::*;
    use crate::experiment::file::Experiment;
    use crate::runs::store::verify;

    fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
        verify(dir).unwrap();
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries
            .map(|path| {
                (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    /// Every experiment of the repository: what is sent is what was planned.
    #[test]
    fn a_task_says_all_that_its_key_names() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut seen = 0;
        for folder in ["karuna", "awafs", "uranus", "baraat", "smoke", "live"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|ending| ending != "toml") {
                    continue;
                }
                let experiment = Experiment::read(&path, &[], 1.0).unwrap();
                for run in experiment.runs.iter().step_by(7) {
                    if run.but_for_seed().level == Level::Live {
                        assert!(Task::of(run).is_err());
                        continue;
                    }
                    let task = Task::of(run).unwrap();
                    let read = read_scenario(&task.text, &task.base).unwrap();
                    assert_eq!(run_key(&read), task.key, "{}", path.display());
                    seen += 1;
                }
            }
        }
        assert!(seen > 200, "{seen}");
    }

    #[test]
    fn it_is_made_as_it_is_made_here_and_by_this_build_only() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.csv"), "src,dst,size_bytes,start_ns\n0,1,5000,0\n").unwrap();
        let text = "[fabric]\npreset = \"micro4\"\n[workload]\nflow_list = \"mine.csv\"\n[[scheme]]\nname = \"dctcp\"\n";
        let experiment = Experiment::from_text(text, &dir.path().join("x.toml"), &[], &[], 1.0).unwrap();
        let task = Task::of(&experiment.runs[0]).unwrap();
        assert_eq!(task.files, [Path::new("mine.csv")]);
        let results = run::run(&experiment.runs[0].scenario(), &Unattended, &[]).unwrap();
        let [here, there] = ["here", "there"].map(|name| dir.path().join(name));
        write_run(&here, &results, 1).unwrap();
        task.make(Destination::Alone(&there), &Unattended).unwrap();
        assert_eq!(files(&here), files(&there));
        let other = Task { key: task.key.replace('-', "-0"), ..task.clone() };
        let error = other.make(Destination::Alone(&there), &Unattended).unwrap_err().to_string();
        assert!(error.contains("the same build must be on all machines"), "{error}");
        // The list has become another one meanwhile.
        std::fs::write(dir.path().join("mine.csv"), "src,dst,size_bytes,start_ns\n0,1,5001,0\n").unwrap();
        let error = task.make(Destination::Alone(&there), &Unattended).unwrap_err().to_string();
        assert!(error.contains("mine.csv"), "{error}");
    }
}
