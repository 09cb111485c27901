//! A rule for rates that is written in Python.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use tailrace_core::{Bytes, HostId, Knowledge, Rank, RateRule, Time};
use tailrace_run::OwnRule;

use crate::caller::Raised;

/// A flow that is to be ranked, as far as its rule may know it.
#[pyclass(frozen, get_all, module = "tailrace")]
pub struct Prospect {
    /// The flow's number.
    id: u32,
    /// The host that sends.
    src: HostId,
    /// The host that receives.
    dst: HostId,
    /// Payload bytes, if known.
    size: Option<u64>,
    /// When it started, in seconds.
    start_s: f64,
    /// When it is due, in seconds; of flows with a known deadline.
    deadline_s: Option<f64>,
    /// Its slice; 0 is none.
    slice: u16,
    /// Its task; 0 is none.
    task: u32,
    /// Payload bytes that it has sent.
    sent: u64,
    /// Payload bytes that it has yet to send, if known.
    left: Option<u64>,
    /// Payload bytes of its task over all stages, if known; those of the flow if it is of no task.
    task_size: Option<u64>,
}

#[pymethods]
impl Prospect {
    fn __repr__(&self) -> String {
        let Prospect { id, src, dst, sent, left, .. } = self;
        let left = left.map_or("unknown".to_owned(), |left| left.to_string());
        format!("Prospect(flow {id}, {src} -> {dst}, {sent} bytes sent, {left} left)")
    }
}

impl Prospect {
    fn of(prospect: &tailrace_core::Prospect<'_>) -> Self {
        let flow = prospect.flow;
        Prospect {
            id: flow.id,
            src: flow.src,
            dst: flow.dst,
            size: flow.size.map(Bytes::get),
            start_s: flow.start.as_secs_f64(),
            deadline_s: flow.deadline.map(|deadline| deadline.as_secs_f64()),
            slice: flow.slice,
            task: flow.task,
            sent: prospect.sent.get(),
            left: prospect.left.map(Bytes::get),
            task_size: prospect.task_size.map(Bytes::get),
        }
    }
}

/// An object of Python's `tailrace.Rule`, of whose methods only those are called that are its own.
struct PythonRule {
    object: Py<PyAny>,
    follows_progress: bool,
    has_weight: bool,
    has_stays_until: bool,
    has_due: bool,
    raised: Arc<Raised>,
}

/// The rule of such an object, whose first exception ends the run.
pub fn own_rule(object: &Bound<'_, PyAny>, raised: Arc<Raised>) -> PyResult<OwnRule> {
    let flag = |name: &str| object.getattr(name)?.extract::<bool>();
    let base = object.py().import("tailrace.rules")?.getattr("Rule")?;
    let own = |name: &str| PyResult::Ok(!object.get_type().getattr(name)?.is(&base.getattr(name)?));
    let rule = PythonRule {
        follows_progress: flag("follows_progress")?,
        has_weight: own("weight")?,
        has_stays_until: own("stays_until")?,
        has_due: own("due")?,
        object: object.clone().unbind(),
        raised,
    };
    let knows = Knowledge { sizes: flag("knows_sizes")?, deadlines: flag("knows_deadlines")? };
    Ok(OwnRule { rule: Box::new(rule), knows })
}

impl PythonRule {
    /// What a method says of a flow; after an exception nothing is asked any more.
    fn ask<T>(
        &self,
        method: &str,
        prospect: &tailrace_core::Prospect<'_>,
        otherwise: T,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> T {
        if self.raised.has() {
            return otherwise;
        }
        let said = Python::attach(|py| {
            read(self.object.bind(py).call_method1(method, (Prospect::of(prospect),))?.as_any())
        });
        said.unwrap_or_else(|error| {
            self.raised.note(error);
            otherwise
        })
    }
}

fn rank(said: &Bound<'_, PyAny>) -> PyResult<Rank> {
    let both = said.extract::<(u64, u64)>().map(|(first, second)| Rank(first, second));
    both.or_else(|_| said.extract::<u64>().map(|first| Rank(first, 0))).map_err(|_| {
        PyTypeError::new_err(format!(
            "rank must be an integer from 0 to 2**64 - 1, or two of them, and not {said}"
        ))
    })
}

/// What a method says, or an error with its name and what it must say.
fn number<'py, T: FromPyObjectOwned<'py>>(
    said: &Bound<'py, PyAny>,
    method: &str,
    wanted: &str,
) -> PyResult<T> {
    let error = |_| PyTypeError::new_err(format!("{method} must be {wanted}, and not {said}"));
    said.extract().map_err(error)
}

impl RateRule for PythonRule {
    fn rank(&self, prospect: &tailrace_core::Prospect<'_>) -> Rank {
        self.ask("rank", prospect, Rank::SAME, rank)
    }

    fn follows_progress(&self) -> bool {
        self.follows_progress
    }

    fn stays_until(&self, prospect: &tailrace_core::Prospect<'_>) -> Bytes {
        if !self.has_stays_until {
            return Bytes::MAX;
        }
        let sent = prospect.sent.get();
        let wanted = "a number of bytes, or None";
        self.ask("stays_until", prospect, Bytes::MAX, |said| {
            match number::<Option<u64>>(said, "stays_until", wanted)? {
                Some(until) if until <= sent => Err(PyValueError::new_err(format!(
                    "stays_until must be more than the {sent} bytes that are sent, or None, and not {until}"
                ))),
                until => Ok(until.map_or(Bytes::MAX, Bytes::new)),
            }
        })
    }

    fn weight(&self, prospect: &tailrace_core::Prospect<'_>) -> f64 {
        if !self.has_weight {
            return 1.0;
        }
        self.ask("weight", prospect, 1.0, |said| match number::<f64>(said, "weight", "a number")? {
            weight if (1e-6..=1e6).contains(&weight) => Ok(weight),
            weight => {
                Err(PyValueError::new_err(format!("weight must be from 1e-6 to 1e6, and not {weight}")))
            }
        })
    }

    fn due(&self, prospect: &tailrace_core::Prospect<'_>) -> Option<Time> {
        if !self.has_due {
            return None;
        }
        let wanted = "a time in seconds, or None";
        self.ask("due", prospect, None, |said| match number::<Option<f64>>(said, "due", wanted)? {
            Some(due) if !(0.0..=1e6).contains(&due) => Err(PyValueError::new_err(format!(
                "due must be a time from 0 to 1e6 seconds, or None, and not {due}"
            ))),
            due => Ok(due.map(Time::from_secs_f64)),
        })
    }
}
