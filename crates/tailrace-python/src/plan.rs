//! An experiment whose runs are made one by one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use tailrace_experiment::remote::Task;
use tailrace_experiment::{Error, Experiment, Folder, Kept, Options, Override, Planned, kept, run_key};
use tailrace_run::Threads;

use crate::caller::Caller;
use crate::error::to_python;

/// All runs of an experiment, and the folder that they are made in.
#[pyclass(frozen)]
pub(crate) struct Plan {
    experiment: Experiment,
    dir: PathBuf,
    /// Opened by the first run: to plan writes nothing.
    folder: Mutex<Option<Arc<Folder>>>,
}

/// A run in a plan.
#[pyclass(frozen, get_all)]
pub(crate) struct Entry {
    /// The scheme's label.
    scheme: String,
    /// Its point of the sweep, as JSON.
    point: String,
    /// Its seed.
    seed: u64,
    /// The key of its folder.
    key: String,
}

#[pymethods]
impl Plan {
    /// Read an experiment file, or a text as if it were one, with changed fields, without all schemes but those of `only`,
    /// and at a scale.
    #[new]
    #[pyo3(signature = (file, changes, only, scale, out=None, text=None))]
    fn new(
        py: Python<'_>,
        file: PathBuf,
        changes: Vec<(String, String)>,
        only: Vec<String>,
        scale: f64,
        out: Option<PathBuf>,
        text: Option<&str>,
    ) -> PyResult<Self> {
        let changes = changes.into_iter().map(|(field, value)| Override { field, value });
        let changes: Vec<Override> = changes.collect();
        let experiment = py.detach(|| match text {
            Some(text) => Experiment::from_text(text, &file, &only, &changes, scale),
            None => Experiment::read_only(&file, &only, &changes, scale),
        });
        let experiment = experiment.map_err(|error| to_python(error.into(), "", None))?;
        let dir = out.unwrap_or_else(|| experiment.default_dir());
        Ok(Plan { experiment, dir, folder: Mutex::new(None) })
    }

    /// One line from the file.
    #[getter]
    fn title(&self) -> &str {
        &self.experiment.title
    }

    /// Where the runs are made.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.dir.clone()
    }

    fn __len__(&self) -> usize {
        self.experiment.runs.len()
    }

    /// A run.
    fn entry(&self, index: usize) -> PyResult<Entry> {
        let run = self.planned(index)?;
        let point: serde_json::Map<_, _> =
            run.point.axes().map(|(axis, value)| (axis.to_owned(), serde_json::json!(value))).collect();
        let point = serde_json::Value::Object(point).to_string();
        Ok(Entry { scheme: run.scheme.clone(), point, seed: run.seed(), key: run_key(&run.scenario()) })
    }

    /// Whether a run of this key is there, and every byte of it is what was written.
    fn is_finished(&self, py: Python<'_>, key: &str) -> bool {
        matches!(py.detach(|| kept(&self.dir, key)), Kept::Whole(_))
    }

    /// Whether seeds are run until they are enough, so that not all runs may be needed.
    #[getter]
    fn stops(&self) -> bool {
        self.experiment.stop.is_some()
    }

    /// The runs that are not there, or all if `fresh`, those that take longest first.
    fn wanted(&self, py: Python<'_>, fresh: bool) -> PyResult<Vec<usize>> {
        let caller = Caller::new(None);
        let wanted = py.detach(|| Ok(self.opened(&caller)?.wanted(&self.experiment, fresh)));
        caller.check()?;
        wanted.map_err(|error| to_python(error, "", None))
    }

    /// What another machine needs to make a run: its scenario, the folder of its files, their names, and its key.
    fn task(&self, index: usize) -> PyResult<(String, PathBuf, Vec<PathBuf>, String)> {
        let task = Task::of(self.planned(index)?);
        let Task { text, base, files, key } = task.map_err(|error| to_python(error.into(), "", None))?;
        let base = std::path::absolute(&base).unwrap_or(base);
        Ok((text, base, files, key))
    }

    /// Take a run that another machine has made, from its folder there; whether it is whole.
    fn take(&self, py: Python<'_>, index: usize, folder: PathBuf) -> PyResult<bool> {
        self.planned(index)?;
        let caller = Caller::new(None);
        let taken = py.detach(|| self.opened(&caller)?.take(index, &folder));
        caller.check()?;
        taken.map_err(|error| to_python(error, "", None))
    }

    /// Make a run, unless it is there; returns its folder.
    #[pyo3(signature = (index, report=None))]
    fn run(&self, py: Python<'_>, index: usize, report: Option<Py<PyAny>>) -> PyResult<PathBuf> {
        self.planned(index)?;
        let caller = Caller::new(report);
        let made = py.detach(|| self.make(index, &caller));
        caller.check()?;
        made.map_err(|error| to_python(error, "", None))
    }
}

impl Plan {
    /// Of an experiment whose folder is open.
    pub(crate) fn in_folder(experiment: &Experiment, folder: &Folder) -> Self {
        let dir = folder.dir().to_owned();
        Plan { experiment: experiment.clone(), dir, folder: Mutex::new(Some(Arc::new(folder.clone()))) }
    }

    fn planned(&self, index: usize) -> PyResult<&Planned> {
        let runs = &self.experiment.runs;
        runs.get(index).ok_or_else(|| PyIndexError::new_err(format!("there are {} runs", runs.len())))
    }

    fn make(&self, index: usize, caller: &Caller) -> Result<PathBuf, Error> {
        let folder = self.opened(caller)?;
        let options = Options {
            jobs: 1,
            threads: Threads::default(),
            resume: true,
            pcap: Vec::new(),
            runs: Some(vec![index]),
        };
        let mut caller = caller;
        let results = folder.make(&self.experiment, &options, &mut caller)?;
        Ok(results.runs[0].dir.clone())
    }

    fn opened(&self, caller: &Caller) -> Result<Arc<Folder>, Error> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*folder {
            return Ok(folder.clone());
        }
        let opened = Folder::open(&self.experiment, &self.dir, &mut |text| caller.warn(text))?;
        Ok(folder.insert(Arc::new(opened)).clone())
    }
}
