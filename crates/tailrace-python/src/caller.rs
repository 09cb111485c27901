//! Who called from Python: they want to know how a run goes on, and may want it to stop.

use std::ffi::CString;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use tailrace_core::{Progress, Running};
use tailrace_experiment::Observer;
use tailrace_run::{Control, Threads};

/// Time between two looks at Python. Shorter ones would make runs in several threads wait for one
/// another's interpreter lock.
const EVERY: Duration = Duration::from_millis(100);

/// A caller, and the function that they gave, to be told how far a run is.
pub(crate) struct Caller {
    function: Option<Py<PyAny>>,
    looked: Mutex<Instant>,
    raised: Arc<Raised>,
    threads: Threads,
}

/// What Python has raised while nobody could be told.
#[derive(Default)]
pub(crate) struct Raised(OnceLock<PyErr>);

impl Raised {
    pub(crate) fn note(&self, error: PyErr) {
        // Only the first counts: later ones come of it.
        let _ = self.0.set(error);
    }

    pub(crate) fn has(&self) -> bool {
        self.0.get().is_some()
    }
}

impl Caller {
    #[expect(clippy::disallowed_methods, reason = "signals come in wall time")]
    pub(crate) fn new(function: Option<Py<PyAny>>) -> Self {
        Caller {
            function,
            looked: Mutex::new(Instant::now()),
            raised: Arc::default(),
            threads: Threads::default(),
        }
    }

    /// Lets a run have as many threads as are asked for.
    pub(crate) fn with_threads(self, asked: Option<usize>) -> Self {
        Caller { threads: Threads::of(asked), ..self }
    }

    /// Fails with what Python raised meanwhile: `KeyboardInterrupt`, or an exception of the function.
    pub(crate) fn check(self) -> PyResult<()> {
        self.raised.0.get().map_or(Ok(()), |error| Err(Python::attach(|py| error.clone_ref(py))))
    }

    /// Where others of the run may note what Python raises.
    pub(crate) fn raised(&self) -> Arc<Raised> {
        Arc::clone(&self.raised)
    }

    /// Lets Python handle its signals and runs `call`, unless it did a moment ago.
    fn look(&self, call: impl FnOnce(Python<'_>) -> PyResult<()>) {
        if self.is_time() {
            Python::attach(|py| {
                py.check_signals().and_then(|()| call(py)).unwrap_or_else(|error| self.note(error))
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

    pub(crate) fn note(&self, error: PyErr) {
        self.raised.note(error);
    }

    fn has_raised(&self) -> bool {
        self.raised.has()
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
        Control::progress(*self, &mut progress.clone());
    }
    fn note(&mut self, text: &str) {
        self.warn(text);
    }
    fn interrupted(&mut self) -> bool {
        Control::interrupted(*self)
    }
}

/// The function is told how far the run is.
impl Control for Caller {
    fn progress(&self, run: &mut dyn Running) {
        let Progress { now, started, finished, packet_hops } = run.progress();
        self.look(|py| match &self.function {
            Some(report) => report.call1(py, (now.as_secs_f64(), started, finished, packet_hops)).map(drop),
            None => Ok(()),
        });
    }

    fn note(&self, text: String) {
        self.warn(&text);
    }

    fn interrupted(&self) -> bool {
        self.look(|_| Ok(()));
        self.has_raised()
    }

    fn threads(&self) -> Threads {
        self.threads
    }
}
