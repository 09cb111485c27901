//! Who called from Python: they want to know how a run goes on, and may want it to stop.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use tailrace_cli::{Drawn, Host};
use tailrace_core::Progress;
use tailrace_experiment::Observer;
use tailrace_run::{Control, StartAgents};

use crate::error::TailraceError;

/// Time between two looks at Python. Shorter ones would make runs in several threads wait for one
/// another's interpreter lock.
const EVERY: Duration = Duration::from_millis(100);

/// A caller, and the function that they gave: what it is for depends on the call.
pub(crate) struct Caller {
    function: Option<Py<PyAny>>,
    report: Option<Py<PyAny>>,
    looked: Mutex<Instant>,
    raised: OnceLock<PyErr>,
}

impl Caller {
    #[expect(clippy::disallowed_methods, reason = "signals come in wall time")]
    pub(crate) fn new(function: Option<Py<PyAny>>) -> Self {
        Caller { function, report: None, looked: Mutex::new(Instant::now()), raised: OnceLock::new() }
    }

    /// The command's, with what draws the plots of a result folder and what writes reports.
    pub(crate) fn of_command(draw: Py<PyAny>, report: Py<PyAny>) -> Self {
        Caller { report: Some(report), ..Caller::new(Some(draw)) }
    }

    /// Fails with what Python raised meanwhile: `KeyboardInterrupt`, or an exception of the function.
    pub(crate) fn check(self) -> PyResult<()> {
        self.raised.into_inner().map_or(Ok(()), Err)
    }

    /// Lets Python handle its signals and hear `news`, unless it did a moment ago.
    fn look(&self, news: impl FnOnce(Python<'_>) -> PyResult<()>) {
        if self.is_time() {
            Python::attach(|py| {
                py.check_signals().and_then(|()| news(py)).unwrap_or_else(|error| self.note(error))
            });
        }
    }

    #[expect(clippy::disallowed_methods, reason = "signals come in wall time")]
    fn is_time(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_time = looked.elapsed() >= EVERY;
        if is_time {
            *looked = Instant::now();
        }
        is_time
    }

    fn note(&self, error: PyErr) {
        // Only the first counts: later ones come of it.
        let _ = self.raised.set(error);
    }

    /// What was wrong. What is not the user's mistake is ours, and needs its traceback.
    fn failure(&self, py: Python<'_>, error: PyErr) -> String {
        let text = error.value(py).to_string();
        if !error.is_instance_of::<TailraceError>(py) {
            self.note(error);
        }
        text
    }

    fn has_raised(&self) -> bool {
        self.raised.get().is_some()
    }

    /// Warns of something; whoever makes errors of warnings stops.
    pub(crate) fn warn(&self, text: &str) {
        let text = CString::new(text.replace('\0', "\\0")).unwrap_or_default();
        Python::attach(|py| {
            // The line to blame is that which called the package's function that called this one.
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)
                .unwrap_or_else(|error| self.note(error));
        });
    }
}

/// The caller watches a run of an experiment as it would watch one of a scenario.
impl Observer for &Caller {
    fn finished(&mut self, _: usize, _: bool) {}
    fn progress(&mut self, _: usize, progress: &Progress) {
        Control::progress(*self, progress);
    }
    fn note(&mut self, text: &str) {
        self.warn(text);
    }
    fn interrupted(&mut self) -> bool {
        Host::interrupted(*self)
    }
    fn agents(&self) -> Option<StartAgents> {
        tailrace_cli::agents()
    }
}

/// The function is told how far the run is.
impl Control for Caller {
    fn progress(&self, progress: &Progress) {
        let Progress { now, started, finished, packet_hops } = *progress;
        self.look(|py| match &self.function {
            Some(report) => report.call1(py, (now.as_secs_f64(), started, finished, packet_hops)).map(drop),
            None => Ok(()),
        });
    }

    fn note(&self, text: String) {
        self.warn(&text);
    }

    fn interrupted(&self) -> bool {
        Host::interrupted(self)
    }

    fn agents(&self) -> Option<StartAgents> {
        tailrace_cli::agents()
    }
}

/// The function draws the plots of a result folder; it returns their paths, and what was wrong with others.
impl Host for Caller {
    fn interrupted(&self) -> bool {
        self.look(|_| Ok(()));
        self.has_raised()
    }

    fn draw(&self, dir: &Path) -> Option<Drawn> {
        let draw = self.function.as_ref()?;
        Some(Python::attach(|py| {
            let drawn = draw.call1(py, (dir,)).and_then(|drawn| drawn.extract(py));
            match drawn {
                Ok((files, failures)) => Drawn { files, failures },
                Err(error) => Drawn { files: Vec::new(), failures: vec![self.failure(py, error)] },
            }
        }))
    }

    fn report(&self, dirs: &[PathBuf], out: Option<&Path>) -> Option<Result<PathBuf, String>> {
        let report = self.report.as_ref()?;
        Some(Python::attach(|py| {
            let written = report.call1(py, (dirs, out)).and_then(|file| file.extract(py));
            written.map_err(|error| self.failure(py, error))
        }))
    }
}
