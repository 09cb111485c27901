//! What the command line asks of Python: plots, reports, and clusters.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tailrace_cli::{Cluster, Drawn, Host};
use tailrace_config::ScenarioError;
use tailrace_experiment::{Error, Experiment, Folder, Observer};
use tailrace_run::Control;

use crate::caller::Caller;
use crate::error::{PythonScenarioError, TailraceError};
use crate::plan::Plan;

/// Who called the command, and what does for it what Python can do best.
pub(crate) struct Command {
    pub caller: Caller,
    /// Draws the plots of a result folder; returns their paths, and what was wrong with others.
    pub draw: Py<PyAny>,
    /// Writes the report of result folders; returns its path.
    pub report: Py<PyAny>,
    /// Has a cluster make runs, and yields the number of each that is finished, and what the user should know.
    pub cluster: Py<PyAny>,
}

impl Command {
    /// What was wrong. What is not the user's mistake is ours, and needs its traceback.
    fn failure(&self, py: Python<'_>, error: PyErr) -> String {
        let text = error.value(py).to_string();
        if !error.is_instance_of::<TailraceError>(py) {
            self.caller.note(error);
        }
        text
    }

    /// The same as an error of Rust's.
    fn error(&self, py: Python<'_>, error: PyErr) -> Error {
        let (is_interrupt, is_mistake) = (
            error.is_instance_of::<PyKeyboardInterrupt>(py),
            error.is_instance_of::<PythonScenarioError>(py),
        );
        match self.failure(py, error) {
            _ if is_interrupt => Error::Interrupted,
            text if is_mistake => ScenarioError::new("", text).into(),
            text => Error::Elsewhere(text),
        }
    }
}

impl Host for Command {
    fn interrupted(&self) -> bool {
        Control::interrupted(&self.caller)
    }

    fn draw(&self, dir: &Path) -> Option<Drawn> {
        Some(Python::attach(|py| {
            let drawn = self.draw.call1(py, (dir,)).and_then(|drawn| drawn.extract(py));
            match drawn {
                Ok((files, failures)) => Drawn { files, failures },
                Err(error) => Drawn { files: Vec::new(), failures: vec![self.failure(py, error)] },
            }
        }))
    }

    fn report(&self, dirs: &[PathBuf], out: Option<&Path>) -> Option<Result<PathBuf, String>> {
        Some(Python::attach(|py| {
            let written = self.report.call1(py, (dirs, out)).and_then(|file| file.extract(py));
            written.map_err(|error| self.failure(py, error))
        }))
    }

    fn on_cluster(
        &self,
        experiment: &Experiment,
        folder: &Folder,
        how: &Cluster<'_>,
        observer: &mut dyn Observer,
    ) -> Option<Result<(), Error>> {
        let Cluster { place, jobs, store, fresh } = *how;
        Some(Python::attach(|py| {
            let mut made = || {
                let plan = Plan::in_folder(experiment, folder);
                for told in self.cluster.call1(py, (plan, place, jobs, store, fresh))?.bind(py).try_iter()? {
                    let told = told?;
                    match told.extract() {
                        Ok(index) => observer.finished(index, false),
                        Err(_) => observer.note(&told.extract::<String>()?),
                    }
                }
                Ok(())
            };
            made().map_err(|error: PyErr| self.error(py, error))
        }))
    }
}
